// SPDX-License-Identifier: Apache-2.0
// The engine's thread: loading, cancelling, queueing and closing, from several threads at once.
#include <atomic>
#include <chrono>
#include <thread>

#include "engine/fake_model.h"
#include "support/catch.h"
#include "support/time_limits.h"

using namespace hokku;
using namespace hokku::testing;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr auto kLimit = milliseconds(200 * kTimeFactor);

GenerationRequest endless_request() {
    GenerationRequest request;
    request.tokens = std::vector<TokenId>(100, 'x');
    request.ignore_end = true;
    request.sampling.temperature = 0;
    return request;
}

GenerationRequest short_request() {
    GenerationRequest request = endless_request();
    request.tokens = std::vector<TokenId>{'x'};
    request.max_tokens = 3;
    return request;
}

/// Waits until something else has happened, for at most five seconds on a plain build.
template <class Condition>
bool wait_for(Condition condition) {
    for (const auto end = Clock::now() + std::chrono::seconds(5 * kTimeFactor);
         Clock::now() < end;) {
        if (condition()) return true;
        std::this_thread::sleep_for(milliseconds(1));
    }
    return false;
}

}  // namespace

TEST_CASE("Engine: when a device is lost the texts go on, and fail where nothing is left",
          "[engine][quick]") {
    auto control = std::make_shared<FakeControl>();
    control->num_restarts = 1;
    int num_steps = 0;
    control->before_step = [&](const Step&) -> Result<void> {
        if (++num_steps != 8 && num_steps < 30) return {};
        return Error{ErrorCode::device, "the device is lost", "fake", ""};
    };
    const auto engine = make_loaded_fake_engine(control);
    const std::vector<TokenId> prompt(70, 'a');
    const auto generate = [&](uint32_t max_tokens) {
        GenerationRequest request;
        request.tokens = prompt;
        request.sampling.temperature = 0;
        request.max_tokens = max_tokens;
        request.ignore_end = true;
        return engine->generate(std::move(request));
    };
    // Five steps for the prompt and one for each token; after the loss all of it again.
    const GenerationResult result = generate(5).wait();
    CHECK(result.reason == StopReason::max_tokens);
    CHECK(result.tokens == expected_greedy(prompt, 5));
    CHECK(num_steps > 8);
    CHECK(control->num_models == 1);
    std::vector<GenerationHandle> handles;
    for (int i = 0; i < 2; ++i) handles.push_back(generate(20));
    for (GenerationHandle& handle : handles) {
        const GenerationResult failed = handle.wait();
        REQUIRE(failed.reason == StopReason::failed);
        CHECK(failed.error->what == "the device is lost");
    }
    CHECK(control->num_models == 0);
    CHECK(generate(1).wait().reason == StopReason::failed);
    CHECK(control->num_faults == 0);
}

TEST_CASE("Engine: cancel ends a generation within 200 ms", "[engine][quick][threads][serial]") {
    auto control = std::make_shared<FakeControl>();
    control->context_tokens = 100'000;
    SECTION("in prefill") {
        control->step_time = milliseconds(2000);
    }
    SECTION("in decode") {
        control->step_time = milliseconds(1);
    }
    const bool is_prefill = control->step_time > milliseconds(100);
    const auto engine = make_loaded_fake_engine(control);
    std::atomic<bool> has_text{false}, has_begun{false};
    std::atomic<int> num_finished{0};
    GenerationEvents events;
    events.on_text = [&](std::string_view) { has_text = true; };
    events.on_prefill = [&](uint32_t, uint32_t) { has_begun = true; };
    events.on_finished = [&](const GenerationResult& result) {
        CHECK(result.reason == StopReason::cancelled);
        ++num_finished;
    };
    GenerationHandle handle = engine->generate(endless_request(), events);
    REQUIRE(wait_for([&] { return is_prefill ? has_begun.load() : has_text.load(); }));
    const auto start = Clock::now();
    handle.cancel();
    const GenerationResult result = handle.wait();
    CHECK(Clock::now() - start < kLimit);
    CHECK(result.reason == StopReason::cancelled);
    CHECK_FALSE(result.error.has_value());
    CHECK(num_finished == 1);
    CHECK(result.text.empty() == is_prefill);
    control->step_time = milliseconds(0);
    CHECK(engine->generate(short_request()).wait().reason == StopReason::max_tokens);
}

TEST_CASE("Engine: cancel ends the making of a prompt within 200 ms",
          "[engine][quick][threads][serial]") {
    auto control = std::make_shared<FakeControl>();
    // So many messages allow a template seconds of work.
    GenerationRequest request;
    request.messages.assign(10'001, {"user", "x"});
    SECTION("rendering") {
        control->chat_template =
            "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}";
    }
    SECTION("comparing") {
        control->chat_template =
            "{% set ns = namespace(a=[1], b=[1]) %}{% for i in range(60) %}"
            "{% set ns.a = [ns.a, ns.a] %}{% set ns.b = [ns.b, ns.b] %}{% endfor %}"
            "{{ ns.a == ns.b }}";
    }
    const auto engine = make_loaded_fake_engine(control);
    GenerationHandle handle = engine->generate(request);
    std::this_thread::sleep_for(milliseconds(50));
    const auto start = Clock::now();
    handle.cancel();
    const GenerationResult result = handle.wait();
    CHECK(Clock::now() - start < kLimit);
    CHECK(result.reason == StopReason::cancelled);
    CHECK_FALSE(result.error.has_value());
}

TEST_CASE("Engine: what was queued can be cancelled before it runs", "[engine][quick][threads]") {
    auto control = std::make_shared<FakeControl>();
    control->context_tokens = 100'000;
    control->step_time = milliseconds(1);
    const auto engine = make_loaded_fake_engine(control);
    GenerationHandle first = engine->generate(endless_request());
    GenerationHandle second = engine->generate(endless_request());
    second.cancel();
    first.cancel();
    CHECK(first.wait().reason == StopReason::cancelled);
    CHECK(second.wait().reason == StopReason::cancelled);
    CHECK(second.wait().stats.forward_tokens == 0);
}

TEST_CASE("Engine: requests begin and end in their order", "[engine][quick][threads]") {
    auto control = std::make_shared<FakeControl>();
    const auto engine = make_loaded_fake_engine(control);
    std::vector<int> order;  // only touched on the inference thread until all are finished
    std::vector<GenerationHandle> handles;
    for (int i = 0; i < 20; ++i) {
        GenerationEvents events;
        events.on_finished = [&order, i](const GenerationResult&) { order.push_back(i); };
        handles.push_back(engine->generate(short_request(), events));
    }
    for (GenerationHandle& handle : handles) CHECK(handle.wait().tokens.size() == 3);
    std::vector<int> expected(20);
    for (int i = 0; i < 20; ++i) expected[static_cast<size_t>(i)] = i;
    CHECK(order == expected);
}

TEST_CASE("Engine: a request joins those that run, and cancelling it leaves them alone",
          "[engine][quick][threads]") {
    auto control = std::make_shared<FakeControl>();
    control->context_tokens = 100'000;
    control->step_time = milliseconds(1);
    const auto engine = make_loaded_fake_engine(control);
    GenerationHandle first = engine->generate(endless_request());
    CHECK(engine->generate(short_request()).wait().reason == StopReason::max_tokens);
    std::atomic<bool> has_text{false};
    GenerationEvents events;
    events.on_text = [&](std::string_view) { has_text = true; };
    GenerationHandle second = engine->generate(endless_request(), events);
    REQUIRE(wait_for([&] { return has_text.load(); }));
    const auto start = Clock::now();
    second.cancel();
    CHECK(second.wait().reason == StopReason::cancelled);
    CHECK(Clock::now() - start < kLimit);
    CHECK(engine->generate(short_request()).wait().reason == StopReason::max_tokens);
    first.cancel();
    const GenerationResult result = first.wait();
    CHECK(result.reason == StopReason::cancelled);
    CHECK(result.tokens == expected_greedy(*endless_request().tokens, result.tokens.size()));
    CHECK(control->num_faults == 0);
}

TEST_CASE("Engine: cancelling one in a long step does not wait for the step's end",
          "[engine][quick][threads][serial]") {
    auto control = std::make_shared<FakeControl>();
    control->context_tokens = 100'000;
    const auto engine = make_loaded_fake_engine(control);
    std::atomic<int> num_begun{0};
    std::vector<GenerationHandle> handles;
    for (int i = 0; i < 3; ++i) {
        GenerationEvents events;
        events.on_text = [&, has_begun = false](std::string_view) mutable {
            num_begun += has_begun ? 0 : 1;
            has_begun = true;
            if (num_begun == 3) control->step_time = milliseconds(1500);
        };
        handles.push_back(engine->generate(endless_request(), events));
    }
    REQUIRE(wait_for([&] { return num_begun == 3; }));
    const auto start = Clock::now();
    handles[1].cancel();
    CHECK(handles[1].wait().reason == StopReason::cancelled);
    CHECK(Clock::now() - start < kLimit);
    for (GenerationHandle& handle : handles) handle.cancel();
}

TEST_CASE("Engine: what needs the model for itself waits for the generations before it",
          "[engine][quick][threads]") {
    auto control = std::make_shared<FakeControl>();
    const auto engine = make_loaded_fake_engine(control);
    std::atomic<int> num_finished{0};
    GenerationEvents events;
    events.on_finished = [&](const GenerationResult&) { ++num_finished; };
    GenerationRequest request = short_request();
    request.max_tokens = 200;
    std::vector<GenerationHandle> handles;
    for (int i = 0; i < 6; ++i) handles.push_back(engine->generate(request, events));
    EvaluateRequest evaluation;
    evaluation.tokens = {'a', 'b'};
    evaluation.on_logits = [&](uint32_t, std::span<const float>) { CHECK(num_finished == 6); };
    CHECK(engine->evaluate(evaluation).ok());
    for (int i = 0; i < 3; ++i) handles.push_back(engine->generate(request, events));
    CHECK(engine->load({.path = "other"}).ok());
    CHECK(num_finished == 9);
    for (GenerationHandle& handle : handles) CHECK(handle.wait().tokens.size() == 200);
}

TEST_CASE("Engine: continuations of one prompt have seeds of their own and one evaluation",
          "[engine][quick][threads]") {
    auto control = std::make_shared<FakeControl>();
    const auto engine = make_loaded_fake_engine(control);
    GenerationRequest request;
    request.tokens = std::vector<TokenId>(90, 'h');
    request.max_tokens = 20;
    std::vector<std::string> streamed(3);
    std::vector<GenerationEvents> events(3);
    for (size_t i = 0; i < 3; ++i)
        events[i].on_text = [&streamed, i](std::string_view text) { streamed[i] += text; };
    std::vector<GenerationHandle> handles = engine->generate_many(request, events);
    REQUIRE(handles.size() == 3);
    std::vector<GenerationResult> results;
    for (GenerationHandle& handle : handles) results.push_back(handle.wait());
    CHECK(control->num_rows == 90 + 3 * 19);
    for (size_t i = 0; i < 3; ++i) {
        CHECK(results[i].seed == results[0].seed + i);
        CHECK(results[i].text == streamed[i]);
        request.sampling.seed = results[i].seed;
        CHECK(engine->generate(request).wait().tokens == results[i].tokens);
    }
    CHECK(results[0].tokens != results[1].tokens);
    CHECK(engine->generate_many(request, {}).empty());

    const auto empty = make_fake_engine(std::make_shared<FakeControl>());
    for (GenerationHandle& handle : empty->generate_many(request, events))
        CHECK(handle.wait().error->what == "no model is loaded");
}

TEST_CASE("Engine: closing it cancels what runs and finishes what waits",
          "[engine][quick][threads]") {
    auto control = std::make_shared<FakeControl>();
    control->context_tokens = 100'000;
    control->step_time = milliseconds(1);
    std::atomic<int> num_finished{0};
    std::vector<GenerationHandle> handles;
    {
        const auto engine = make_loaded_fake_engine(control);
        for (int i = 0; i < 5; ++i) {
            GenerationEvents events;
            events.on_finished = [&](const GenerationResult&) { ++num_finished; };
            handles.push_back(engine->generate(endless_request(), events));
        }
        std::this_thread::sleep_for(milliseconds(20));
    }
    CHECK(num_finished == 5);
    CHECK(control->num_models == 0);
    for (GenerationHandle& handle : handles) CHECK(handle.wait().reason == StopReason::cancelled);
}

TEST_CASE("Engine: a load can be cancelled within 200 ms", "[engine][quick][threads][serial]") {
    auto control = std::make_shared<FakeControl>();
    control->load_time = std::chrono::seconds(20);
    const auto engine = make_fake_engine(control);
    SECTION("by the call") {
        std::atomic<bool> has_begun{false};
        std::thread canceller([&] {
            wait_for([&] { return has_begun.load(); });
            engine->cancel_load();
        });
        const auto start = Clock::now();
        const auto loaded = engine->load({.path = "x"}, [&](double) {
            has_begun = true;
            return true;
        });
        CHECK(Clock::now() - start < kLimit);
        canceller.join();
        REQUIRE_FALSE(loaded.ok());
        CHECK(loaded.error().code == ErrorCode::cancelled);
    }
    SECTION("by the progress callback") {
        const auto loaded =
            engine->load({.path = "x"}, [&](double share) { return share < 0.001; });
        REQUIRE_FALSE(loaded.ok());
        CHECK(loaded.error().code == ErrorCode::cancelled);
    }
    CHECK_FALSE(engine->model().has_value());
    control->load_time = milliseconds(0);
    engine->cancel_load();  // nothing runs: nothing is cancelled later
    CHECK(engine->load({.path = "x"}).ok());
}

TEST_CASE("Engine: a load that fails leaves the model that was there", "[engine][quick][threads]") {
    auto control = std::make_shared<FakeControl>();
    const auto engine = make_fake_engine(control);
    CHECK(engine->generate(short_request()).wait().error->what == "no model is loaded");
    CHECK_FALSE(engine->evaluate({}).ok());
    CHECK_FALSE(engine->tokenize_request(short_request()).ok());

    REQUIRE(engine->load({.path = "first"}).ok());
    control->fail_open = 1;
    const auto failed = engine->load({.path = "second"});
    REQUIRE_FALSE(failed.ok());
    CHECK(failed.error().where == "second");
    CHECK(engine->model()->path == "first");
    CHECK(engine->generate(short_request()).wait().reason == StopReason::max_tokens);

    control->fail_open = 0;
    control->fail_start = 1;  // by now the first had to make room
    CHECK_FALSE(engine->load({.path = "third"}).ok());
    CHECK_FALSE(engine->model().has_value());
    CHECK(engine->tokenizer() == nullptr);
    CHECK(control->num_models == 0);

    control->fail_start = 0;
    double last_share = 0;
    CHECK(engine
              ->load({.path = "fourth"},
                     [&](double share) {
                         CHECK(share >= last_share);
                         last_share = share;
                         return true;
                     })
              .ok());
    CHECK(last_share == 1.0);
    engine->unload();
    CHECK_FALSE(engine->model().has_value());
    CHECK(control->num_models == 0);
}

TEST_CASE("Engine: blocking calls from a callback are refused, not stuck",
          "[engine][quick][threads]") {
    auto control = std::make_shared<FakeControl>();
    const auto engine = make_loaded_fake_engine(control);
    GenerationHandle first;
    std::atomic<int> num_refused{0};
    GenerationEvents events;
    events.on_prefill = [&](uint32_t done, uint32_t) {
        if (done > 0) return;
        num_refused += !engine->load({.path = "x"}).ok();
        num_refused += !engine->evaluate({}).ok();
        engine->unload();
        num_refused += engine->generate(short_request()).wait().reason == StopReason::failed;
    };
    CHECK(engine->generate(short_request(), events).wait().reason == StopReason::max_tokens);
    CHECK(num_refused == 3);
    CHECK(engine->model().has_value());
}

TEST_CASE("Engine: a load whose callback throws fails and no more", "[engine][quick][threads]") {
    auto control = std::make_shared<FakeControl>();
    const auto engine = make_fake_engine(control);
    const auto loaded =
        engine->load({.path = "x"}, [](double) -> bool { throw std::runtime_error("full"); });
    REQUIRE_FALSE(loaded.ok());
    CHECK(loaded.error().code == ErrorCode::bad_argument);
    CHECK_THAT(loaded.error().message(), Catch::Contains("full"));
    // What is thrown need not be a std::exception.
    const auto thrown = engine->load({.path = "x"}, [](double) -> bool { throw 1; });
    REQUIRE_FALSE(thrown.ok());
    CHECK(thrown.error().code == ErrorCode::bad_argument);
    CHECK(engine->load({.path = "x"}).ok());
}

TEST_CASE("Engine: several threads may use it at once", "[engine][quick][threads]") {
    auto control = std::make_shared<FakeControl>();
    const auto engine = make_loaded_fake_engine(control);
    std::atomic<int> num_done{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 12; ++i) {
                GenerationHandle handle = engine->generate(short_request());
                if ((i + t) % 3 == 0) handle.cancel();
                const GenerationResult result = handle.wait();
                num_done += result.reason == StopReason::max_tokens ||
                            result.reason == StopReason::cancelled;
                static_cast<void>(engine->model());
                static_cast<void>(engine->tokenize_request(short_request()).ok());
                if (i == 6 && t == 0) static_cast<void>(engine->load({.path = "again"}).ok());
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(num_done == 48);
    CHECK(control->num_faults == 0);
}

TEST_CASE("Engine: an empty handle waits for nothing", "[engine][quick][threads]") {
    GenerationHandle handle;
    handle.cancel();
    CHECK(handle.wait().reason == StopReason::failed);
}
