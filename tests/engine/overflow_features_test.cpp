// SPDX-License-Identifier: Apache-2.0
// What else a request may ask for, when its context is full within the answer: thoughts and their
// budget, constraints, tool calls, a fresh evaluation; and generations that push each other out.
#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <regex>
#include <string>

#include "engine/overflow_chats.h"
#include "engine/scheduler.h"
#include "engine/thinking_script.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

/// Shows thoughts and calls, so that replies are read for them; `thinks` opens a thought.
const std::string kMarkedTemplate =
    std::string(kTurnsTemplate) +
    "{% if add_generation_prompt and thinks %}<think>\n{% endif %}"
    "{% if false %}<think></think><tool_call></tool_call>{% endif %}";

constexpr const char* kSummary = "They spoke of letters.";

/// A way to go on, with a context that a chat of that many turns fills to three quarters at most.
struct Way {
    Overflow overflow;
    uint32_t context;
    size_t num_turns, bytes_each;
};
constexpr Way kWays[] = {{Overflow::drop_oldest, 256, 6, 10},
                         {Overflow::summarise, 1024, 7, 40},
                         {Overflow::grow, 256, 6, 10}};

/// One request on a model of its own. Half of the context does not do for the answer.
struct Run {
    explicit Run(const Way& given) : way(given), control(make_control(way.context)) {
        control->chat_template = kMarkedTemplate;
        control->trained_context = 8 * way.context;
        request = request_for(talk(way.num_turns, way.bytes_each), way.overflow);
        REQUIRE(prompt_of(request.messages).size() > way.context / 2);
        REQUIRE(prompt_of(request.messages).size() <= way.context * 3 / 4);
    }
    ~Run() { CHECK(control->num_faults == 0); }
    [[nodiscard]] size_t half() const { return way.context / 2; }
    void answer_with(Script script) { control->script = summarising(kSummary, std::move(script)); }
    GenerationResult run() {
        const auto engine = make_loaded_fake_engine(control);
        GenerationResult result = engine->generate(request, recorder.events()).wait();
        if (result.error) FAIL(result.error->message());
        return result;
    }
    /// It has made room within the answer, in its own way.
    void check_room_was_made(const GenerationResult& result) const {
        if (way.overflow == Overflow::grow) {
            CHECK_FALSE(recorder.grown.empty());
            return;
        }
        REQUIRE_FALSE(recorder.drops.empty());
        CHECK(recorder.drops.front().num_tokens > 0);
        REQUIRE(result.dropped);
        CHECK(result.dropped->summary == (way.overflow == Overflow::summarise ? kSummary : ""));
    }

    Way way;
    std::shared_ptr<FakeControl> control;
    GenerationRequest request;
    OverflowRecorder recorder;
};

ConstraintSpec words(std::vector<std::string> list) {
    return {.kind = ConstraintKind::required_words, .text = {}, .words = std::move(list)};
}

}  // namespace

TEST_CASE("Overflow: the budget of thoughts goes on when room is made", "[engine][quick]") {
    for (const Way& way : kWays) {
        CAPTURE(overflow_name(way.overflow));
        Run run(way);
        run.control->script = [](std::span<const int32_t> history, std::span<float> logits) {
            thinking_on(asks_for_summary(history) ? kSummary : "Hello.")(history, logits);
        };
        run.request.template_kwargs_json = R"({"thinks": true})";
        run.request.thought_budget_tokens = static_cast<uint32_t>(run.half());
        const GenerationResult result = run.run();
        run.check_room_was_made(result);
        CHECK(result.reason == StopReason::end_of_generation);
        CHECK(result.thought == std::string(run.half(), 'a'));
        CHECK(result.text == "Hello.");
    }
}

TEST_CASE("Overflow: an answer keeps its form when room is made", "[engine][quick]") {
    for (const Way& way : kWays) {
        CAPTURE(overflow_name(way.overflow));
        Run run(way);
        run.answer_with(fake_logits);
        const std::string pattern = "[a-f]{" + std::to_string(run.half()) + "}-[0-9]{2}";
        run.request.constraints = {{.kind = ConstraintKind::regex, .text = pattern, .words = {}}};
        run.request.thought_budget_tokens = 0;  // or such logits may open one
        const GenerationResult result = run.run();
        run.check_room_was_made(result);
        CHECK(result.reason == StopReason::end_of_generation);
        CHECK(result.meets_constraints);
        CHECK(std::regex_match(result.text, std::regex(pattern)));
    }
}

TEST_CASE("Overflow: a call is one call when room is made within it", "[engine][quick]") {
    for (const Way& way : kWays) {
        CAPTURE(overflow_name(way.overflow));
        Run run(way);
        const std::string arguments = R"({"a": ")" + std::string(run.half(), 'x') + R"("})";
        run.answer_with(answering("I add.\n<tool_call>\n{\"name\": \"add\", \"arguments\": " +
                                  arguments + "}\n</tool_call>"));
        run.request.tools_json = R"([{"type": "function", "function": {"name": "add"}}])";
        const GenerationResult result = run.run();
        run.check_room_was_made(result);
        CHECK(result.reason == StopReason::end_of_generation);
        CHECK(result.text == "I add.");
        REQUIRE(result.tool_calls.size() == 1);
        CHECK(result.tool_calls[0].is_valid());
        CHECK(result.tool_calls[0].arguments_json == arguments);
    }
}

TEST_CASE("Overflow: required words are written before a full context ends the answer",
          "[engine][quick]") {
    const auto check = [](const GenerationResult& result) {
        if (result.error) FAIL(result.error->message());
        CAPTURE(result.text);
        CHECK(result.meets_constraints);
        CHECK(result.text.find("zebra") != std::string::npos);
        CHECK(result.text.find("quokka") != std::string::npos);
    };
    SECTION("where turns are dropped until one is left") {
        for (const Overflow overflow : {Overflow::drop_oldest, Overflow::summarise}) {
            CAPTURE(overflow_name(overflow));
            Run run({overflow, overflow == Overflow::summarise ? 1024u : 256u,
                     overflow == Overflow::summarise ? 7u : 6u,
                     overflow == Overflow::summarise ? 40u : 10u});
            run.answer_with(fake_logits);
            run.request.constraints = {words({"zebra", "quokka"})};
            const GenerationResult result = run.run();
            run.check_room_was_made(result);
            check(result);
        }
    }
    SECTION("where the template fails for fewer turns") {
        const auto control = make_control(128);
        control->chat_template = std::string(
                                     "{% if messages|length < 8 %}{{ raise_exception('few') }}"
                                     "{% endif %}") +
                                 kTurnsTemplate;
        auto request = request_for(talk(4, 4), Overflow::drop_oldest);
        request.constraints = {words({"zebra", "quokka"})};
        const auto result = make_loaded_fake_engine(control)->generate(request).wait();
        CHECK_FALSE(result.dropped);
        check(result);
    }
    SECTION("where the context does not grow, or not for ever") {
        for (const auto& [trained, can_grow] : {std::pair{0u, true}, std::pair{64u, true},
                                                std::pair{1000u, false}, std::pair{200u, true}}) {
            CAPTURE(trained, can_grow);
            const auto control = growing_control(64, trained);
            control->can_grow = can_grow;
            auto request = request_for({}, Overflow::grow);
            request.tokens = Tokens(30, 'x');
            request.constraints = {words({"zebra", "quokka"})};
            OverflowRecorder recorder;
            const auto engine = make_loaded_fake_engine(control);
            const auto result = engine->generate(request, recorder.events()).wait();
            check(result);
            const bool has_grown = trained == 200;
            CHECK(engine->model()->context_tokens == (has_grown ? 200 : 64));
            CHECK(result.tokens.size() + 30 <= (has_grown ? 201 : 65));
            CHECK_FALSE(result.notice.empty());
        }
    }
}

TEST_CASE("Overflow: without the cache the prompt after a drop or summary is evaluated too",
          "[engine][quick]") {
    for (const size_t more_turns : {0u, 3u}) {  // within the answer, and before it
        for (const Way& way : kWays) {
            if (way.overflow == Overflow::grow) continue;
            CAPTURE(overflow_name(way.overflow), more_turns);
            Run run(way);
            run.answer_with(fake_logits);
            run.request.messages = talk(way.num_turns + more_turns, way.bytes_each);
            run.request.max_tokens = static_cast<uint32_t>(run.half());
            run.request.ignore_end = true;
            run.request.reuse_cached_prefix = false;
            const auto engine = make_loaded_fake_engine(run.control);
            const auto cold = engine->generate(run.request).wait();
            const auto warm = engine->generate(run.request).wait();
            REQUIRE(cold.dropped);
            CHECK(warm.tokens == cold.tokens);
            CHECK(cold.stats.cached_tokens == 0);
            CHECK(warm.stats.cached_tokens == 0);
            CHECK(warm.stats.forward_tokens == cold.stats.forward_tokens);
        }
    }
}

// ---- several of them ---------------------------------------------------------------------------

namespace {

/// Runs the requests side by side; every so many steps the newest of them must wait.
std::vector<GenerationResult> run_together(std::shared_ptr<FakeControl> control,
                                           const std::vector<GenerationRequest>& requests,
                                           std::vector<OverflowRecorder>& recorders,
                                           uint32_t steps_between) {
    ModelSession session(load_fake_model(control));
    Scheduler scheduler(session);
    std::vector<std::optional<GenerationResult>> results(requests.size());
    for (size_t i = 0; i < requests.size(); ++i)
        scheduler.submit(
            {.request = requests[i],
             .events = recorders[i].events(),
             .stop = {},
             .submitted = Generation::Clock::now(),
             .on_done = [&, i](GenerationResult result) { results[i] = std::move(result); }});
    for (uint32_t step = 1; !scheduler.is_idle(); ++step) {
        scheduler.step();
        const auto checked = scheduler.check_invariants();
        if (!checked.ok()) FAIL(checked.error().message());
        if (step % steps_between == 0) scheduler.preempt_newest();
    }
    CHECK(scheduler.num_preemptions() > requests.size());
    CHECK(control->num_faults == 0);
    std::vector<GenerationResult> all;
    for (auto& result : results) all.push_back(std::move(result).value());
    return all;
}

}  // namespace

TEST_CASE("Overflow: summaries survive that their generation must wait", "[engine][quick]") {
    for (const uint32_t steps_between : {3u, 7u, 40u}) {
        CAPTURE(steps_between);
        const auto control = make_control(1024, summarising(kSummary, fake_logits));
        control->max_step_tokens = 64;
        control->num_kv_blocks = 19;  // hardly more than one of them takes
        std::vector<GenerationRequest> requests;
        for (size_t i = 0; i < 3; ++i) {
            requests.push_back(
                request_for(talk(i == 0 ? 12 : 7, 40 + i), Overflow::summarise, 450));
            requests.back().ignore_end = true;
        }
        std::vector<OverflowRecorder> recorders(requests.size());
        const auto results = run_together(control, requests, recorders, steps_between);
        for (size_t i = 0; i < results.size(); ++i) {
            CAPTURE(i);
            CHECK(results[i].reason == StopReason::max_tokens);
            REQUIRE_FALSE(recorders[i].drops.empty());
            CHECK(recorders[i].drops.back().turns.summary == kSummary);
            CHECK(results[i].tokens ==
                  expected_text(requests[i].messages, recorders[i].drops, 450));
        }
    }
}

TEST_CASE("Overflow: contexts grow for generations that must wait in between", "[engine][quick]") {
    for (const uint32_t steps_between : {3u, 7u, 40u}) {
        CAPTURE(steps_between);
        const auto control = growing_control(64, 1000);
        std::vector<GenerationRequest> requests;
        for (size_t i = 0; i < 3; ++i) {
            requests.push_back(request_for({}, Overflow::grow, 200));
            requests.back().tokens = Tokens(40 + i, 'x');
            requests.back().ignore_end = true;
        }
        std::vector<OverflowRecorder> recorders(requests.size());
        const auto results = run_together(control, requests, recorders, steps_between);
        for (size_t i = 0; i < results.size(); ++i)
            CHECK(results[i].tokens == expected_greedy(Tokens(40 + i, 'x'), 200));
    }
}

TEST_CASE("Overflow: continuations go on from their prompt where the first one leaves it at once",
          "[engine][quick]") {
    // The word needs more room than there is behind the prompt, so that the first token already
    // makes a turn go.
    const std::string word(90, 'w');
    Run run({Overflow::drop_oldest, 256, 6, 10});
    run.answer_with(fake_logits);
    run.request.constraints = {words({word})};
    const auto engine = make_loaded_fake_engine(run.control);
    std::vector<OverflowRecorder> recorders(3);
    std::vector<GenerationEvents> events;
    for (OverflowRecorder& recorder : recorders) events.push_back(recorder.events());
    std::vector<GenerationResult> results;
    for (GenerationHandle& handle : engine->generate_many(run.request, events))
        results.push_back(handle.wait());
    REQUIRE_FALSE(recorders[0].drops.empty());
    CHECK(recorders[0].drops[0].num_tokens == 1);
    for (const GenerationResult& result : results) {
        if (result.error) FAIL(result.error->message());
        CHECK(result.tokens == results[0].tokens);  // greedy
        CHECK(result.text.find(word) != std::string::npos);
        CHECK(result.meets_constraints);
    }
}

TEST_CASE("Overflow: cancelling the first continuation leaves the others' turns alone",
          "[engine][quick]") {
    const auto control = make_control(256);
    const auto engine = make_loaded_fake_engine(control);
    GenerationRequest request = request_for(talk(10, 20), Overflow::drop_oldest, 250);
    request.ignore_end = true;
    std::vector<OverflowRecorder> recorders(2);
    std::vector<GenerationEvents> events;
    for (OverflowRecorder& recorder : recorders) events.push_back(recorder.events());
    // Once both write.
    size_t num_second = 0;
    const auto record = events[1].on_token;
    std::promise<void> both_write;
    events[1].on_token = [&](const TokenLogprob& token) {
        if (record) record(token);
        if (++num_second == 3) both_write.set_value();
    };
    control->step_time = std::chrono::milliseconds(2);
    std::vector<GenerationHandle> handles = engine->generate_many(request, events);
    both_write.get_future().wait();
    handles[0].cancel();
    CHECK(handles[0].wait().reason == StopReason::cancelled);
    const GenerationResult second = handles[1].wait();
    CHECK_FALSE(second.error.has_value());
    CHECK(second.reason != StopReason::cancelled);
    CHECK(second.tokens ==
          expected_text(request.messages, recorders[1].drops, second.tokens.size()));
    REQUIRE(recorders[1].drops.size() >= 2);
    CHECK(recorders[1].drops.back().num_tokens > 0);
}
