// SPDX-License-Identifier: Apache-2.0
// Chats that outgrow their context, on the fake model: whatever is dropped or made longer, each
// token must be the one that follows from what is in the context by then.
#include <chrono>
#include <string>

#include "engine/overflow_chats.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

/// Without an end of the model's own.
GenerationRequest endless(std::vector<ChatMessage> messages, Overflow overflow,
                          uint32_t max_tokens = 0) {
    GenerationRequest request = request_for(std::move(messages), overflow, max_tokens);
    request.ignore_end = true;
    return request;
}

}  // namespace

TEST_CASE("Overflow: stop refuses a prompt that is too long and ends a full context",
          "[engine][quick]") {
    const auto control = make_control(128);
    const auto engine = make_loaded_fake_engine(control);
    OverflowRecorder recorder;
    const auto refused =
        engine->generate(endless(talk(10, 10), Overflow::stop), recorder.events()).wait();
    REQUIRE(refused.reason == StopReason::failed);
    CHECK(refused.error->code == ErrorCode::limit_exceeded);
    CHECK(control->num_steps == 0);
    const auto full =
        engine->generate(endless(talk(2, 10), Overflow::stop), recorder.events()).wait();
    CHECK(full.reason == StopReason::context_full);
    CHECK(recorder.drops.empty());
    CHECK_FALSE(full.dropped);
    CHECK(full.tokens == expected_greedy(prompt_of(talk(2, 10)), full.tokens.size()));
}

TEST_CASE("Overflow: turns that do not fit are dropped before the answer and named",
          "[engine][quick]") {
    const auto control = make_control(256);
    const auto engine = make_loaded_fake_engine(control);
    const auto messages = talk(10, 20);
    OverflowRecorder recorder;
    const auto result =
        engine->generate(endless(messages, Overflow::drop_oldest, 20), recorder.events()).wait();
    REQUIRE(result.reason == StopReason::max_tokens);
    REQUIRE(recorder.drops.size() == 1);
    const DroppedTurns& dropped = recorder.drops[0].turns;
    CHECK(recorder.drops[0].num_tokens == 0);
    REQUIRE(dropped.indices.size() >= 2);
    CHECK(dropped.indices.front() == 1);  // the system prompt stays
    CHECK(dropped.indices.back() == dropped.indices.size());
    CHECK(dropped.summary.empty());
    CHECK(dropped.remaining.front().content == "Be brief. ");
    CHECK(dropped.remaining.back().content == "the last");
    CHECK(dropped.remaining[1].content == messages[dropped.indices.back() + 1].content);
    CHECK(result.stats.prompt_tokens == prompt_of(dropped.remaining).size());
    CHECK(result.tokens == expected_greedy(prompt_of(dropped.remaining), 20));
    REQUIRE(result.dropped);
    CHECK(result.dropped->indices == dropped.indices);
    // Going on from what remained drops nothing.
    OverflowRecorder again;
    auto next = dropped.remaining;
    next.push_back({"assistant", "x"});
    next.push_back({"user", "y"});
    CHECK(
        engine->generate(endless(next, Overflow::drop_oldest, 20), again.events()).wait().tokens ==
        expected_greedy(prompt_of(next), 20));
    CHECK(again.drops.empty());
    CHECK(control->num_faults == 0);
}

// CASES 43: a chat that shifts its context must come to an end, and say what it lost.
TEST_CASE("Overflow: an answer without end goes on after dropping turns, and ends",
          "[engine][quick]") {
    for (const uint32_t context : {64u, 128u, 512u}) {
        CAPTURE(context);
        const auto control = make_control(context);
        const auto engine = make_loaded_fake_engine(control);
        // Turns that fit, with room for an answer.
        const auto messages = talk(context == 64 ? 3 : 6, context / 32);
        REQUIRE(prompt_of(messages).size() <= context * 3 / 4);
        OverflowRecorder recorder;
        const auto result =
            engine->generate(endless(messages, Overflow::drop_oldest), recorder.events()).wait();
        CHECK(result.reason == StopReason::context_full);
        REQUIRE_FALSE(recorder.drops.empty());
        CHECK(recorder.drops.front().num_tokens > 0);
        // More was written than there was room for at first.
        CHECK(result.tokens.size() + prompt_of(messages).size() > context + 1);
        for (size_t i = 1; i < recorder.drops.size(); ++i)
            CHECK(recorder.drops[i].turns.indices.size() >
                  recorder.drops[i - 1].turns.indices.size());
        CHECK(result.tokens == expected_text(messages, recorder.drops, result.tokens.size()));
        CHECK(result.dropped->indices == recorder.drops.back().turns.indices);
        CHECK(control->num_faults == 0);
    }
}

// CASES 45: a first message longer than the context.
TEST_CASE("Overflow: a last message that does not fit is refused before anything runs",
          "[engine][quick]") {
    for (const Overflow overflow :
         {Overflow::stop, Overflow::drop_oldest, Overflow::summarise, Overflow::grow}) {
        CAPTURE(overflow_name(overflow));
        const auto control = make_control(256);
        const auto engine = make_loaded_fake_engine(control);
        auto messages = talk(3, 10);
        messages.back().content = std::string(size_t{1} << 20, 'x');
        OverflowRecorder recorder;
        const auto start = std::chrono::steady_clock::now();
        const auto result = engine->generate(endless(messages, overflow), recorder.events()).wait();
        CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
        REQUIRE(result.reason == StopReason::failed);
        CHECK(result.error->code == ErrorCode::limit_exceeded);
        const std::string why = overflow == Overflow::grow ? "the context cannot grow beyond the "
                                                           : "tokens and the context holds 256";
        CHECK(result.error->message().find(why) != std::string::npos);
        CHECK(control->num_steps == 0);
        CHECK(recorder.drops.empty());
        CHECK(engine->generate(endless(talk(1, 5), overflow, 3)).wait().tokens.size() == 3);
    }
}

// CASES 47: a cached text that is longer than the new one must not answer for it.
TEST_CASE("Overflow: a prompt that is a beginning of what is cached is evaluated at its end",
          "[engine][quick]") {
    const auto control = make_control(512);
    const auto engine = make_loaded_fake_engine(control);
    GenerationRequest request = endless({}, Overflow::stop, 4);
    Tokens longer(200, 'Z');
    request.tokens = longer;
    engine->generate(request).wait();
    for (const size_t length : {1u, 63u, 64u, 65u, 128u, 199u, 200u}) {
        Tokens shorter(longer.begin(), longer.begin() + static_cast<std::ptrdiff_t>(length));
        request.tokens = shorter;
        const auto result = engine->generate(request).wait();
        CHECK(result.tokens == expected_greedy(shorter, 4));
        CHECK(result.stats.cached_tokens < length);
    }
    CHECK(control->num_faults == 0);
}

TEST_CASE("Overflow: raw text and tokens are no turns, so they stop", "[engine][quick]") {
    const auto control = make_control(64);
    const auto engine = make_loaded_fake_engine(control);
    for (const Overflow overflow : {Overflow::drop_oldest, Overflow::summarise}) {
        GenerationRequest request = endless({}, overflow);
        request.raw_text = "text";
        CHECK(engine->generate(request).wait().reason == StopReason::context_full);
        request.raw_text = std::string(100, 'x');
        CHECK(engine->generate(request).wait().error->code == ErrorCode::limit_exceeded);
    }
}

TEST_CASE("Overflow: a template that fails for fewer turns costs no text", "[engine][quick]") {
    auto control = make_control(128);
    control->chat_template = std::string(
                                 "{% if messages|length < 8 %}{{ raise_exception('few') }}"
                                 "{% endif %}") +
                             kTurnsTemplate;
    const auto engine = make_loaded_fake_engine(control);
    const auto result = engine->generate(endless(talk(4, 4), Overflow::drop_oldest)).wait();
    CHECK(result.reason == StopReason::context_full);
    CHECK(result.notice.find("few") != std::string::npos);
    CHECK_FALSE(result.dropped);
    CHECK(result.tokens.size() + prompt_of(talk(4, 4)).size() == 129);
}

TEST_CASE("Overflow: several chats at once drop their own turns", "[engine][quick]") {
    for (const uint32_t num_blocks : {0u, 7u, 5u}) {
        CAPTURE(num_blocks);
        const auto control = make_control(256);
        control->num_kv_blocks = num_blocks;  // too few for all: they push each other out
        const auto engine = make_loaded_fake_engine(control);
        std::vector<OverflowRecorder> recorders(4);
        std::vector<GenerationHandle> handles;
        std::vector<std::vector<ChatMessage>> chats;
        for (size_t i = 0; i < recorders.size(); ++i) {
            chats.push_back(talk(4 + 2 * i, 12 + i));
            handles.push_back(engine->generate(endless(chats[i], Overflow::drop_oldest, 300),
                                               recorders[i].events()));
        }
        for (size_t i = 0; i < handles.size(); ++i) {
            const GenerationResult result = handles[i].wait();
            CAPTURE(i);
            REQUIRE(result.reason != StopReason::failed);
            CHECK_FALSE(recorders[i].drops.empty());
            CHECK(result.tokens ==
                  expected_text(chats[i], recorders[i].drops, result.tokens.size()));
        }
        CHECK(control->num_faults == 0);
    }
}

TEST_CASE("Overflow: continuations of one prompt share what was dropped", "[engine][quick]") {
    const auto control = make_control(256);
    const auto engine = make_loaded_fake_engine(control);
    std::vector<OverflowRecorder> recorders(3);
    std::vector<GenerationEvents> events;
    for (OverflowRecorder& recorder : recorders) events.push_back(recorder.events());
    const auto messages = talk(10, 20);
    std::vector<GenerationResult> results;
    for (GenerationHandle& handle :
         engine->generate_many(endless(messages, Overflow::drop_oldest, 250), events))
        results.push_back(handle.wait());
    for (size_t i = 0; i < recorders.size(); ++i) {
        CAPTURE(i);
        const OverflowRecorder& recorder = recorders[i];
        CHECK(results[i].reason != StopReason::failed);
        CHECK(results[i].tokens.size() > 200);
        CHECK(results[i].tokens ==
              expected_text(messages, recorder.drops, results[i].tokens.size()));
        REQUIRE(recorder.drops.size() >= 2);  // before the answer, and within it
        CHECK(recorder.drops[0].turns.indices == recorders[0].drops[0].turns.indices);
        CHECK(recorder.drops[0].num_tokens == 0);
    }
    CHECK(control->num_faults == 0);
}
