// SPDX-License-Identifier: Apache-2.0
// Several generations on the fake model, step by step: who takes part, what is shared, who waits.
#include "engine/scheduler.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "engine/fake_model.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

using Tokens = std::vector<TokenId>;

Tokens letters(char letter, size_t count) {
    return Tokens(count, static_cast<TokenId>(letter));
}

GenerationRequest greedy_request(Tokens tokens, uint32_t max_tokens) {
    GenerationRequest request;
    request.tokens = std::move(tokens);
    request.sampling.temperature = 0;
    request.max_tokens = max_tokens;
    return request;
}

/// A scheduler that is driven by hand; its invariants are checked after each step.
class Driver {
  public:
    explicit Driver(std::shared_ptr<FakeControl> control)
        : control_(std::move(control)), session_(load_fake_model(control_)), scheduler_(session_) {
        control_->on_step = [this](const Step& step) {
            rows.clear();
            for (const StepSequence& sequence : step.sequences) rows.push_back(sequence.num_rows);
        };
    }
    ~Driver() { CHECK(control_->num_faults == 0); }

    /// The number by which its result is found.
    size_t submit(GenerationRequest request, GenerationEvents events = {}) {
        scheduler_.submit(make_job(std::move(request), std::move(events)));
        return results.size() - 1;
    }
    /// The first one's number; the others follow.
    size_t submit_group(const GenerationRequest& request, size_t count) {
        std::vector<GenerationJob> jobs;
        const size_t first = results.size();
        for (size_t i = 0; i < count; ++i) {
            jobs.push_back(make_job(request, {}));
            if (request.sampling.seed)
                jobs.back().request.sampling.seed = *request.sampling.seed + i;
        }
        scheduler_.submit_group(std::move(jobs));
        return first;
    }
    void cancel(size_t number) { stops_[number].request_stop(); }
    void step() {
        scheduler_.step();
        const auto checked = scheduler_.check_invariants();
        if (!checked.ok()) FAIL(checked.error().message());
    }
    void run() {
        while (!scheduler_.is_idle()) step();
    }
    /// Sequences of the last step by their rows: {1, 1, 16}.
    std::vector<uint32_t> rows;
    std::vector<std::optional<GenerationResult>> results;
    std::vector<size_t> order;  ///< In which they ended.
    Scheduler& scheduler() { return scheduler_; }
    ModelSession& session() { return session_; }

  private:
    GenerationJob make_job(GenerationRequest request, GenerationEvents events) {
        const size_t number = results.size();
        results.emplace_back();
        stops_.emplace_back();
        return {.request = std::move(request),
                .events = std::move(events),
                .stop = stops_.back().get_token(),
                .submitted = Generation::Clock::now(),
                .on_done = [this, number](GenerationResult result) {
                    REQUIRE_FALSE(results[number].has_value());
                    results[number] = std::move(result);
                    order.push_back(number);
                }};
    }

    std::shared_ptr<FakeControl> control_;
    std::vector<std::stop_source> stops_;
    ModelSession session_;
    Scheduler scheduler_;
};

}  // namespace

TEST_CASE("Scheduler: several generations share steps and get their own texts", "[engine][quick]") {
    auto control = std::make_shared<FakeControl>();
    Driver driver(control);
    std::vector<Tokens> prompts;
    for (const char letter : {'a', 'b', 'c'}) prompts.push_back(letters(letter, 5));
    for (const Tokens& prompt : prompts) driver.submit(greedy_request(prompt, 20));
    driver.step();
    CHECK(driver.rows == std::vector<uint32_t>{5, 5, 5});
    driver.step();
    CHECK(driver.rows == std::vector<uint32_t>{1, 1, 1});
    driver.run();
    for (size_t i = 0; i < prompts.size(); ++i)
        CHECK(driver.results[i]->tokens == expected_greedy(prompts[i], 20));
    CHECK(control->num_steps == 20);
    CHECK(driver.order == std::vector<size_t>{0, 1, 2});
}

TEST_CASE("Scheduler: a prompt is evaluated in pieces beside those that decode",
          "[engine][quick]") {
    auto control = std::make_shared<FakeControl>();
    control->max_step_tokens = 64;
    control->least_prefill_rows = 4;
    control->max_decode_rows = 2;
    Driver driver(control);
    driver.submit(greedy_request(letters('a', 5), 100));
    driver.step();
    const Tokens prompt = letters('b', 50);
    driver.submit(greedy_request(prompt, 10));
    // 8 rows: an eighth of a step, two of the smallest pieces. None is smaller than 4.
    for (const uint32_t piece : {8u, 8u, 8u, 8u, 8u, 6u, 4u}) {
        driver.step();
        CHECK(driver.rows == std::vector<uint32_t>{1, piece});
    }
    driver.step();
    CHECK(driver.rows == std::vector<uint32_t>{1, 1});
    driver.run();
    CHECK(driver.results[1]->tokens == expected_greedy(prompt, 10));
    CHECK(driver.results[0]->tokens == expected_greedy(letters('a', 5), 100));
}

TEST_CASE("Scheduler: no more run together than allowed, first come, first served",
          "[engine][quick]") {
    auto control = std::make_shared<FakeControl>();
    control->max_sequences = 2;
    Driver driver(control);
    for (const uint32_t count : {8u, 3u, 2u, 2u})
        driver.submit(greedy_request(letters('x', 3), count));
    driver.step();
    CHECK(driver.scheduler().num_active() == 2);
    CHECK(driver.scheduler().num_waiting() == 2);
    driver.run();
    CHECK(driver.order == std::vector<size_t>{1, 2, 3, 0});
}

TEST_CASE("Scheduler: continuations of one prompt evaluate it once", "[engine][quick]") {
    auto control = std::make_shared<FakeControl>();
    control->least_prefill_rows = 4;
    const Tokens prompt = letters('p', 150);
    GenerationRequest request = greedy_request(prompt, 30);
    request.sampling.temperature = 1;
    request.sampling.seed = 7;
    Driver driver(control);
    const size_t count = GENERATE(1u, 3u, 4u, 9u);  // more than run together, too
    driver.submit_group(request, count);
    driver.run();
    uint32_t num_forward = 0;
    for (size_t i = 0; i < count; ++i) {
        CAPTURE(i);
        const GenerationResult& result = *driver.results[i];
        CHECK(result.tokens.size() == 30);
        CHECK(result.seed == 7 + i);
        CHECK(result.stats.cached_tokens == (i == 0 ? 0 : prompt.size()));
        num_forward += result.stats.forward_tokens;
    }
    CHECK(num_forward == prompt.size() + count * 29);
    CHECK(control->num_rows == num_forward);
    // Each is what it would be alone.
    for (size_t i = 0; i < count; ++i) {
        Driver alone(std::make_shared<FakeControl>());
        request.sampling.seed = 7 + i;
        alone.submit(request);
        alone.run();
        CHECK(driver.results[i]->tokens == alone.results[0]->tokens);
    }
}

TEST_CASE("Scheduler: when blocks run out the newest waits and goes on as if nothing had been",
          "[engine][quick]") {
    auto control = std::make_shared<FakeControl>();
    control->context_tokens = 256;
    control->num_kv_blocks = 5;
    control->least_prefill_rows = 4;
    control->max_decode_rows = 2;
    Driver driver(control);
    std::string streamed;
    std::vector<Tokens> prompts{letters('a', 100), letters('b', 60)};
    driver.submit(greedy_request(prompts[0], 120));
    GenerationEvents events;
    uint32_t num_prefills = 0;
    events.on_text = [&](std::string_view text) { streamed += text; };
    events.on_prefill = [&](uint32_t done, uint32_t) { num_prefills += done == 60; };
    driver.submit(greedy_request(prompts[1], 120), events);
    driver.run();
    CHECK(driver.scheduler().num_preemptions() > 0);
    for (size_t i = 0; i < 2; ++i) {
        CHECK(driver.results[i]->reason == StopReason::max_tokens);
        CHECK(driver.results[i]->tokens == expected_greedy(prompts[i], 120));
    }
    CHECK(streamed == driver.results[1]->text);
    CHECK(num_prefills == 1);
    CHECK(driver.results[0]->stats.forward_tokens == 100 + 119);  // the first one never waited
}

TEST_CASE("Scheduler: who comes later is not let in where a prompt will need the blocks",
          "[engine][quick]") {
    auto control = std::make_shared<FakeControl>();
    control->context_tokens = 256;
    control->num_kv_blocks = 5;
    Driver driver(control);
    // The first prompt and the second take more blocks than there are, its first step few.
    const uint32_t block = driver.session().kv.block_tokens();
    std::vector<Tokens> prompts{letters('a', 4 * block - 8), letters('b', 2 * block - 8)};
    for (const Tokens& prompt : prompts) driver.submit(greedy_request(prompt, 4));
    driver.step();
    CHECK(driver.scheduler().num_active() == 1);
    driver.run();
    CHECK(driver.scheduler().num_preemptions() == 0);
    for (size_t i = 0; i < 2; ++i) {
        CHECK(driver.results[i]->tokens == expected_greedy(prompts[i], 4));
        CHECK(driver.results[i]->stats.forward_tokens == prompts[i].size() + 3);
    }
}

TEST_CASE("Scheduler: one that does not fit beside others still ends with a full context",
          "[engine][quick]") {
    auto control = std::make_shared<FakeControl>();
    control->context_tokens = 128;
    Driver driver(control);
    for (const char letter : {'a', 'b', 'c'})
        driver.submit(greedy_request(letters(letter, 100), 0));
    driver.run();
    for (const auto& result : driver.results) {
        CHECK(result->reason == StopReason::context_full);
        CHECK(result->tokens.size() == 29);
    }
}

TEST_CASE("Scheduler: cancelling one leaves the others alone", "[engine][quick]") {
    auto control = std::make_shared<FakeControl>();
    control->max_sequences = 3;
    Driver driver(control);
    for (const char letter : {'a', 'b', 'c', 'd', 'e'})
        driver.submit(greedy_request(letters(letter, 70), 20));
    for (int i = 0; i < 6; ++i) driver.step();
    driver.cancel(1);
    driver.cancel(4);  // still waits
    driver.step();
    CHECK(driver.results[1]->reason == StopReason::cancelled);
    CHECK(driver.results[4]->reason == StopReason::cancelled);
    CHECK(driver.results[4]->stats.forward_tokens == 0);
    driver.run();
    CHECK(driver.results[0]->tokens == expected_greedy(letters('a', 70), 20));
    CHECK(driver.results[2]->tokens == expected_greedy(letters('c', 70), 20));
    CHECK(driver.results[3]->tokens == expected_greedy(letters('d', 70), 20));
}

TEST_CASE("Scheduler: one that is cancelled while a fault is looked for ends alone",
          "[engine][quick]") {
    auto control = std::make_shared<FakeControl>();
    Driver driver(control);
    uint32_t num_single = 0;
    control->before_step = [&](const Step& step) -> Result<void> {
        if (step.sequences.size() > 1 && num_single == 0)
            return Error{ErrorCode::numeric, "not finite", "first in layer 0", ""};
        if (step.sequences.size() == 1 && ++num_single == 2) driver.cancel(1);
        return {};
    };
    for (const char letter : {'a', 'b', 'c', 'd'})
        driver.submit(greedy_request(letters(letter, 3), 20));
    driver.run();
    CHECK(num_single >= 2);
    CHECK(driver.results[1]->reason == StopReason::cancelled);
    for (const size_t i : {0u, 2u, 3u}) {
        CAPTURE(i);
        CHECK(driver.results[i]->reason == StopReason::max_tokens);
    }
    CHECK(driver.results[3]->tokens == expected_greedy(letters('d', 3), 20));
}

TEST_CASE("Scheduler: whoever waits is told, even when the scheduler goes", "[engine][quick]") {
    std::vector<StopReason> reasons;
    {
        auto control = std::make_shared<FakeControl>();
        ModelSession session(load_fake_model(control));
        Scheduler scheduler(session);
        for (int i = 0; i < 2; ++i)
            scheduler.submit({.request = greedy_request(letters('a', 3), 20),
                              .events = {},
                              .stop = {},
                              .submitted = {},
                              .on_done = [&](const GenerationResult& result) {
                                  reasons.push_back(result.reason);
                              }});
        scheduler.step();
        CHECK(reasons.empty());
    }
    CHECK(reasons == std::vector<StopReason>{StopReason::failed, StopReason::failed});
}

TEST_CASE("Scheduler: continuations outlive the one that evaluates their prompt",
          "[engine][quick]") {
    auto control = std::make_shared<FakeControl>();
    Driver driver(control);
    const Tokens prompt = letters('p', 100);
    driver.submit_group(greedy_request(prompt, 5), 4);
    for (int i = 0; i < 3; ++i) driver.step();
    driver.cancel(0);
    driver.cancel(2);
    driver.run();
    for (const size_t i : {0u, 2u}) CHECK(driver.results[i]->reason == StopReason::cancelled);
    for (const size_t i : {1u, 3u}) CHECK(driver.results[i]->tokens == expected_greedy(prompt, 5));
    CHECK(driver.results[1]->stats.cached_tokens == 48);  // three steps of 16
}

TEST_CASE("Scheduler: a numeric error hits the sequence that has it", "[engine][quick]") {
    auto control = std::make_shared<FakeControl>();
    const bool is_from_backend = GENERATE(true, false);
    const auto is_bad = [](std::span<const int32_t> history) {
        return history.size() == 10 && history[0] == 'b';
    };
    control->script = [=](std::span<const int32_t> history, std::span<float> logits) {
        fake_logits(history, logits);
        if (!is_from_backend && is_bad(history))
            logits[0] = std::numeric_limits<float>::quiet_NaN();
    };
    uint32_t num_failed = 0;
    control->before_step = [&](const Step& step) -> Result<void> {
        for (const StepSequence& sequence : step.sequences) {
            // 'b' has a longer prompt than the others.
            if (!is_from_backend || sequence.num_cached != 9 || sequence.num_rows != 1) continue;
            ++num_failed;
            return Error{ErrorCode::numeric, "not finite", "first in layer 0", ""};
        }
        return {};
    };
    Driver driver(control);
    driver.submit(greedy_request(letters('a', 10), 12));
    driver.submit(greedy_request(letters('b', 7), 12));
    driver.submit(greedy_request(letters('c', 10), 12));
    driver.run();
    CHECK(driver.results[0]->tokens == expected_greedy(letters('a', 10), 12));
    CHECK(driver.results[2]->tokens == expected_greedy(letters('c', 10), 12));
    REQUIRE(driver.results[1]->error.has_value());
    CHECK(driver.results[1]->error->code == ErrorCode::numeric);
    CHECK(driver.results[1]->tokens == expected_greedy(letters('b', 7), 3));
    if (is_from_backend) CHECK(num_failed == 2);  // with the others, and alone
}

TEST_CASE("Scheduler: an error of the device ends all of the step", "[engine][quick]") {
    auto control = std::make_shared<FakeControl>();
    control->max_sequences = 2;
    Driver driver(control);
    for (int i = 0; i < 3; ++i) driver.submit(greedy_request(letters('x', 4), 5));
    control->before_step = [&](const Step&) -> Result<void> {
        if (control->num_steps != 2) return {};
        ++control->num_steps;
        return Error{ErrorCode::device, "the device was lost", "", ""};
    };
    driver.run();
    for (const size_t i : {0u, 1u}) CHECK(driver.results[i]->error->what == "the device was lost");
    CHECK(driver.results[2]->tokens == expected_greedy(letters('x', 4), 5));
}

TEST_CASE("Scheduler: branches and regenerations evaluate only what is new", "[engine][quick]") {
    auto control = std::make_shared<FakeControl>();
    Driver driver(control);
    const Tokens prompt = letters('p', 200);
    driver.submit(greedy_request(prompt, 10));
    for (int i = 0; i < 15; ++i) driver.step();  // it decodes
    // Again, while the first is still at work: the prompt is there but for its last token.
    const size_t again = driver.submit(greedy_request(prompt, 10));
    Tokens branch = prompt;
    branch.back() = 'q';
    const size_t other = driver.submit(greedy_request(branch, 10));
    driver.run();
    CHECK(driver.results[again]->stats.forward_tokens == 1 + 9);
    CHECK(driver.results[again]->tokens == expected_greedy(prompt, 10));
    CHECK(driver.results[other]->stats.forward_tokens == 1 + 9);
    CHECK(driver.results[other]->tokens == expected_greedy(branch, 10));
}

TEST_CASE("Scheduler: whoever waits for blocks is let in when a context has grown",
          "[engine][quick]") {
    auto control = std::make_shared<FakeControl>();
    control->context_tokens = 128;
    control->trained_context = 1000;
    control->max_step_tokens = 128;
    Driver driver(control);
    GenerationRequest growing = greedy_request(letters('a', 90), 150);
    growing.overflow = Overflow::grow;
    driver.submit(growing);
    while (driver.session().kv.num_available() > 1) driver.step();
    driver.submit(greedy_request(letters('b', 100), 20));
    while (driver.session().loaded.info.context_tokens == 128) {
        CHECK(driver.scheduler().num_active() == 1);
        driver.step();
    }
    driver.step();
    CHECK(driver.scheduler().num_active() == 2);
    driver.run();
    CHECK(driver.order == std::vector<size_t>{1, 0});
    CHECK(driver.results[0]->tokens == expected_greedy(letters('a', 90), 150));
    CHECK(driver.results[1]->tokens == expected_greedy(letters('b', 100), 20));
}

TEST_CASE("Scheduler: whoever waits for blocks is let in when turns were dropped",
          "[engine][quick]") {
    auto control = std::make_shared<FakeControl>();
    control->context_tokens = 256;
    control->chat_template = "{% for m in messages %}<user>{{ m.content }}{% endfor %}";
    Driver driver(control);
    GenerationRequest dropping;
    dropping.messages = std::vector<ChatMessage>(6, {"user", std::string(29, 'a')});
    dropping.overflow = Overflow::drop_oldest;
    dropping.sampling.temperature = 0;
    dropping.max_tokens = 150;
    dropping.ignore_end = true;
    bool has_dropped = false;
    GenerationEvents events;
    events.on_dropped = [&](const DroppedTurns&) { has_dropped = true; };
    driver.submit(dropping, events);
    while (driver.session().kv.num_available() > 1) driver.step();
    driver.submit(greedy_request(letters('b', 40), 20));
    while (!has_dropped) {
        CHECK(driver.scheduler().num_active() == 1);
        driver.step();
    }
    driver.step();
    CHECK(driver.scheduler().num_active() == 2);
    driver.run();
    CHECK(driver.results[0]->reason == StopReason::max_tokens);
    CHECK(driver.results[1]->tokens == expected_greedy(letters('b', 40), 20));
}
