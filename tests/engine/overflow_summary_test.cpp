// SPDX-License-Identifier: Apache-2.0
// Chats whose oldest turns are summarised, on the fake model.
#include <atomic>
#include <string>
#include <thread>

#include "engine/overflow_chats.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

TEST_CASE("Overflow: what is dropped before the answer is summarised", "[engine][quick]") {
    const auto control = make_control(1024, summarising("They spoke of letters."));
    const auto engine = make_loaded_fake_engine(control);
    OverflowRecorder recorder;
    const auto result =
        engine->generate(request_for(talk(12, 45), Overflow::summarise, 30), recorder.events())
            .wait();
    REQUIRE(result.reason == StopReason::max_tokens);
    CHECK(result.text == std::string(30, 's'));
    REQUIRE(recorder.drops.size() == 1);
    const DroppedTurns& dropped = recorder.drops[0].turns;
    CHECK(dropped.summary == "They spoke of letters.");
    REQUIRE_FALSE(dropped.indices.empty());
    CHECK(dropped.indices.front() == 1);
    CHECK(dropped.remaining[0].content == "Be brief. ");
    CHECK(dropped.remaining[1].content.starts_with(
        "[Summary of the conversation so far: They spoke of letters.]\n\n"));
    CHECK(result.dropped->summary == dropped.summary);
    // Progress is that of the prompt alone.
    for (const uint32_t total : recorder.prefill_totals) CHECK(total == result.stats.prompt_tokens);
    CHECK(result.stats.prompt_tokens < 1024 / 2 + 100);
    CHECK(result.tokens.size() == 30);
    CHECK(control->num_faults == 0);
}

TEST_CASE("Overflow: what is dropped within the answer is summarised, again and again",
          "[engine][quick]") {
    const auto control = make_control(1024, summarising("Letters."));
    const auto engine = make_loaded_fake_engine(control);
    OverflowRecorder recorder;
    const auto messages = talk(7, 40);
    const auto result =
        engine->generate(request_for(messages, Overflow::summarise), recorder.events()).wait();
    CHECK(result.reason == StopReason::context_full);
    REQUIRE_FALSE(recorder.drops.empty());
    CHECK(result.dropped->summary == "Letters.");
    const size_t change = result.text.find('s');
    REQUIRE(change != std::string::npos);
    CHECK(change > 0);
    CHECK(result.text == std::string(change, 'n') + std::string(result.text.size() - change, 's'));
    CHECK(control->num_faults == 0);
}

TEST_CASE("Overflow: a summary without end is cut, one without text is none", "[engine][quick]") {
    const auto endless = make_control(1024, summarising(std::string(5000, 'x')));
    auto engine = make_loaded_fake_engine(endless);
    OverflowRecorder recorder;
    const auto request = request_for(talk(12, 45), Overflow::summarise, 30);
    const auto cut = engine->generate(request, recorder.events()).wait();
    REQUIRE(recorder.drops.size() == 1);
    CHECK(recorder.drops[0].turns.summary == std::string(128, 'x'));  // an eighth of the context
    CHECK(cut.text == std::string(30, 's'));

    for (const char* empty : {"", "  \n "}) {
        engine = make_loaded_fake_engine(make_control(1024, summarising(empty)));
        OverflowRecorder none;
        const auto result = engine->generate(request, none.events()).wait();
        REQUIRE(none.drops.size() == 1);
        CHECK(none.drops[0].turns.summary.empty());
        CHECK_FALSE(none.drops[0].turns.indices.empty());
        CHECK(result.text == std::string(30, 'n'));
    }
}

TEST_CASE("Overflow: contexts too small for a summary drop only, and end", "[engine][quick]") {
    for (const uint32_t context : {64u, 128u, 256u}) {
        const auto control = make_control(context, summarising("Letters."));
        const auto engine = make_loaded_fake_engine(control);
        const auto result = engine->generate(request_for(talk(8, 5), Overflow::summarise)).wait();
        CHECK(result.reason == StopReason::context_full);
        REQUIRE(result.dropped);
        CHECK(result.dropped->summary.empty());
        CHECK(control->num_faults == 0);
    }
}

TEST_CASE("Overflow: a summary can be cancelled, and others run beside it", "[engine][quick]") {
    auto control = make_control(1024, summarising(std::string(5000, 'x')));
    control->step_time = std::chrono::milliseconds(1);
    const auto engine = make_loaded_fake_engine(control);
    std::atomic<int> num_summary_steps{0};
    control->on_sequence = [&](std::span<const int32_t> history) {
        if (asks_for_summary(history) && history.back() == 'x') ++num_summary_steps;
    };
    OverflowRecorder recorder;
    auto summarised =
        engine->generate(request_for(talk(12, 45), Overflow::summarise, 30), recorder.events());
    const auto other = engine->generate(request_for(talk(1, 5), Overflow::stop, 20)).wait();
    CHECK(other.text == std::string(20, 'n'));
    while (num_summary_steps < 3) std::this_thread::yield();
    summarised.cancel();
    const auto result = summarised.wait();
    CHECK(result.reason == StopReason::cancelled);
    CHECK(result.text.empty());
    CHECK(recorder.drops.empty());
    CHECK(control->num_faults == 0);
}

TEST_CASE("Overflow: continuations wait for the summary that comes before their prompt",
          "[engine][quick]") {
    const auto control = make_control(1024, summarising("Letters."));
    const auto engine = make_loaded_fake_engine(control);
    std::vector<OverflowRecorder> recorders(3);
    std::vector<GenerationEvents> events;
    for (OverflowRecorder& recorder : recorders) events.push_back(recorder.events());
    for (GenerationHandle& handle :
         engine->generate_many(request_for(talk(12, 45), Overflow::summarise, 30), events))
        CHECK(handle.wait().text == std::string(30, 's'));
    for (const OverflowRecorder& recorder : recorders) {
        REQUIRE(recorder.drops.size() == 1);
        CHECK(recorder.drops[0].turns.summary == "Letters.");
    }
    CHECK(control->num_faults == 0);
}

TEST_CASE("Overflow: models that think first are made to write the summary", "[engine][quick]") {
    struct Family {
        const char *markers, *prompt_end, *open, *close;
    };
    for (const Family& family : {Family{"<think></think>", "", "<think>", "</think>\n\n"},
                                 Family{"<think></think>", "<think>\n", "", "</think>\n\n"},
                                 Family{"[THINK][/THINK]", "", "[THINK]", "[/THINK]"},
                                 Family{"<|channel|><|message|><|start|>", "<|start|>assistant",
                                        "<|channel|>analysis<|message|>",
                                        "<|end|><|start|>assistant<|channel|>final<|message|>"}}) {
        CAPTURE(family.markers, family.prompt_end);
        // The last turn is the answer's prompt; a thought never ends by itself.
        const auto thinking = [=](std::span<const int32_t> history, std::span<float> logits) {
            const std::string answer = "They met.";
            const auto turn =
                std::find(history.rbegin(), history.rend(), fake_token::assistant).base();
            const std::string text =
                std::string(turn, history.end()).substr(std::string(family.prompt_end).size());
            const std::string close = family.close;
            const size_t closed = text.find(close), open = std::string_view(family.open).size();
            TokenId next = text.size() < open ? family.open[text.size()] : 'a';
            if (closed != std::string::npos) {
                const size_t said = text.size() - closed - close.size();
                next = said < answer.size() ? answer[said] : fake_token::end;
            }
            std::fill(logits.begin(), logits.end(), 0.0f);
            logits[static_cast<size_t>(next)] = 10.0f;
        };
        const auto control =
            make_control(1024, [=](std::span<const int32_t> history, std::span<float> logits) {
                if (asks_for_summary(history)) return thinking(history, logits);
                std::fill(logits.begin(), logits.end(), 0.0f);
                logits['n'] = 10.0f;
            });
        control->chat_template = std::string(kTurnsTemplate) + "{% if false %}" + family.markers +
                                 "{% endif %}{% if add_generation_prompt %}" + family.prompt_end +
                                 "{% endif %}";
        const auto engine = make_loaded_fake_engine(control);
        REQUIRE(engine->model()->reply_format.has_thoughts);
        const auto result =
            engine->generate(request_for(talk(12, 45), Overflow::summarise, 30)).wait();
        REQUIRE(result.dropped);
        CHECK(result.dropped->summary == "They met.");
        CHECK(result.text + result.thought == std::string(30, 'n'));
        CHECK(control->num_faults == 0);
    }
}
