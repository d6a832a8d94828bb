// SPDX-License-Identifier: Apache-2.0
// Chats that are summarised or get a longer context, on the fake model.
#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "engine/context_growth.h"
#include "engine/fake_model.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

using Tokens = std::vector<TokenId>;

constexpr const char* kTemplate =
    "{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}{% else %}"
    "{% if m.role == 'user' %}<user>{% else %}<assistant>{% endif %}{{ m.content }}<end>{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

std::vector<ChatMessage> talk(size_t num_turns, size_t bytes_each) {
    std::vector<ChatMessage> messages = {{"system", "Be brief. "}};
    for (size_t i = 0; i < num_turns; ++i) {
        messages.push_back({"user", std::string(bytes_each, static_cast<char>('a' + i % 26))});
        messages.push_back({"assistant", std::string(bytes_each, static_cast<char>('A' + i % 26))});
    }
    messages.push_back({"user", "the last"});
    return messages;
}

bool contains(std::span<const int32_t> tokens, std::string_view text) {
    return std::search(tokens.begin(), tokens.end(), text.begin(), text.end(),
                       [](int32_t token, char c) {
                           return token == static_cast<int32_t>(static_cast<unsigned char>(c));
                       }) != tokens.end();
}

/// Summaries are `summary`; everything else goes on with letters, told apart by whether a summary
/// is in the context: 's' or 'n'.
Script summarising(std::string summary) {
    return [answer = answering(std::move(summary))](std::span<const int32_t> history,
                                                    std::span<float> logits) {
        if (contains(history, "Below is the beginning")) return answer(history, logits);
        std::fill(logits.begin(), logits.end(), 0.0f);
        logits[contains(history, "[Summary of the conversation so far:") ? 's' : 'n'] = 10.0f;
    };
}

std::shared_ptr<FakeControl> make_control(uint32_t context_tokens, Script script) {
    auto control = std::make_shared<FakeControl>();
    control->context_tokens = context_tokens;
    control->chat_template = kTemplate;
    control->script = std::move(script);
    return control;
}

GenerationRequest request_for(std::vector<ChatMessage> messages, Overflow overflow,
                              uint32_t max_tokens = 0) {
    GenerationRequest request;
    request.messages = std::move(messages);
    request.overflow = overflow;
    request.sampling.temperature = 0;
    request.max_tokens = max_tokens;
    return request;
}

struct Recorder {
    std::vector<DroppedTurns> drops;
    std::vector<uint32_t> grown, prefill_totals;
    GenerationEvents events() {
        GenerationEvents events;
        events.on_prefill = [this](uint32_t, uint32_t total) { prefill_totals.push_back(total); };
        events.on_dropped = [this](const DroppedTurns& turns) { drops.push_back(turns); };
        events.on_grown = [this](uint32_t context_tokens) { grown.push_back(context_tokens); };
        return events;
    }
};

}  // namespace

TEST_CASE("Overflow: what is dropped before the answer is summarised", "[engine][quick]") {
    const auto control = make_control(1024, summarising("They spoke of letters."));
    const auto engine = make_loaded_fake_engine(control);
    Recorder recorder;
    const auto result =
        engine->generate(request_for(talk(12, 45), Overflow::summarise, 30), recorder.events())
            .wait();
    REQUIRE(result.reason == StopReason::max_tokens);
    CHECK(result.text == std::string(30, 's'));
    REQUIRE(recorder.drops.size() == 1);
    const DroppedTurns& dropped = recorder.drops[0];
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
    Recorder recorder;
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
    Recorder recorder;
    const auto request = request_for(talk(12, 45), Overflow::summarise, 30);
    const auto cut = engine->generate(request, recorder.events()).wait();
    REQUIRE(recorder.drops.size() == 1);
    CHECK(recorder.drops[0].summary == std::string(128, 'x'));  // an eighth of the context
    CHECK(cut.text == std::string(30, 's'));

    for (const char* empty : {"", "  \n ", "<think>never mind</think>"}) {
        engine = make_loaded_fake_engine(make_control(1024, summarising(empty)));
        Recorder none;
        const auto result = engine->generate(request, none.events()).wait();
        REQUIRE(none.drops.size() == 1);
        CHECK(none.drops[0].summary.empty());
        CHECK_FALSE(none.drops[0].indices.empty());
        CHECK(result.text == std::string(30, 'n'));
    }
}

TEST_CASE("Overflow: contexts too small for a summary drop only, and end", "[engine][quick]") {
    for (const uint32_t context : {64u, 128u, 256u}) {
        const auto control = make_control(context, summarising("Letters."));
        const auto engine = make_loaded_fake_engine(control);
        const auto result = engine->generate(request_for(talk(8, 5), Overflow::summarise)).wait();
        CHECK(result.reason == StopReason::context_full);
        CHECK(result.dropped);
        CHECK(control->num_faults == 0);
    }
}

TEST_CASE("Overflow: a summary can be cancelled, and others run beside it", "[engine][quick]") {
    auto control = make_control(1024, summarising(std::string(5000, 'x')));
    control->step_time = std::chrono::milliseconds(1);
    const auto engine = make_loaded_fake_engine(control);
    std::atomic<int> num_summary_steps{0};
    control->on_sequence = [&](std::span<const int32_t> history) {
        if (contains(history, "Below is the beginning") && history.back() == 'x')
            ++num_summary_steps;
    };
    Recorder recorder;
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
    std::vector<Recorder> recorders(3);
    std::vector<GenerationEvents> events;
    for (Recorder& recorder : recorders) events.push_back(recorder.events());
    for (GenerationHandle& handle :
         engine->generate_many(request_for(talk(12, 45), Overflow::summarise, 30), events))
        CHECK(handle.wait().text == std::string(30, 's'));
    for (const Recorder& recorder : recorders) {
        REQUIRE(recorder.drops.size() == 1);
        CHECK(recorder.drops[0].summary == "Letters.");
    }
    CHECK(control->num_faults == 0);
}

// ---- growing -----------------------------------------------------------------------------------

namespace {

std::shared_ptr<FakeControl> growing_control(uint32_t context, uint32_t trained) {
    auto control = make_control(context, fake_logits);
    control->trained_context = trained;
    return control;
}

GenerationRequest tokens_request(size_t count) {
    GenerationRequest request = request_for({}, Overflow::grow);
    request.tokens = Tokens(count, 'x');
    request.ignore_end = true;
    return request;
}

}  // namespace

TEST_CASE("Overflow: the context grows within an answer, and nothing is evaluated again",
          "[engine][quick]") {
    const auto control = growing_control(64, 1000);
    const auto engine = make_loaded_fake_engine(control);
    Recorder recorder;
    const auto result = engine->generate(tokens_request(40), recorder.events()).wait();
    CHECK(result.reason == StopReason::context_full);
    CHECK(recorder.grown == std::vector<uint32_t>{128, 256, 512, 1000});
    CHECK(engine->model()->context_tokens == 1000);
    CHECK(result.notice.find("up to 1000 tokens") != std::string::npos);
    CHECK(result.tokens.size() == 1001 - 40);
    CHECK(result.tokens == expected_greedy(Tokens(40, 'x'), result.tokens.size()));
    CHECK(control->num_rows == 1000);  // each position once
    CHECK(control->num_faults == 0);
    // The longer context stays.
    auto longer = tokens_request(900);
    longer.max_tokens = 5;
    CHECK(engine->generate(longer).wait().tokens == expected_greedy(Tokens(900, 'x'), 5));
}

TEST_CASE("Overflow: the context grows for a prompt", "[engine][quick]") {
    const auto control = growing_control(64, 1000);
    const auto engine = make_loaded_fake_engine(control);
    Recorder recorder;
    auto request = tokens_request(300);
    request.max_tokens = 10;
    const auto result = engine->generate(request, recorder.events()).wait();
    CHECK(result.reason == StopReason::max_tokens);
    CHECK(result.notice.empty());
    REQUIRE(recorder.grown.size() == 1);
    CHECK(recorder.grown[0] >= 310);
    CHECK(result.tokens == expected_greedy(Tokens(300, 'x'), 10));
    // To the last token of what the model allows, and no further.
    request = tokens_request(1000);
    const auto last = engine->generate(request).wait();
    CHECK(last.reason == StopReason::context_full);
    CHECK(last.tokens == expected_greedy(Tokens(1000, 'x'), 1));
    const auto refused = engine->generate(tokens_request(1001)).wait();
    REQUIRE(refused.reason == StopReason::failed);
    CHECK(refused.error->code == ErrorCode::limit_exceeded);
    CHECK(engine->generate(tokens_request(10)).wait().reason == StopReason::context_full);
    CHECK(control->num_faults == 0);
}

TEST_CASE("Overflow: a context that cannot grow ends with the reason", "[engine][quick]") {
    for (const auto& [trained, can_grow] :
         {std::pair{0u, true}, std::pair{64u, true}, std::pair{1000u, false}}) {
        const auto control = growing_control(64, trained);
        control->can_grow = can_grow;
        const auto engine = make_loaded_fake_engine(control);
        Recorder recorder;
        const auto result = engine->generate(tokens_request(40), recorder.events()).wait();
        CHECK(result.reason == StopReason::context_full);
        CHECK_FALSE(result.notice.empty());
        CHECK(recorder.grown.empty());
        CHECK(result.tokens.size() == 25);
        CHECK(engine->model()->context_tokens == 64);
    }
}

TEST_CASE("grow_context: memory sets the limit, and the old pool counts", "[engine][quick]") {
    const auto control = growing_control(64, 100'000);
    ModelSession session(load_fake_model(control));
    const uint64_t block = session.loaded.backend->kv_block_bytes();
    const auto grow = [&](uint32_t least, uint64_t available_blocks) {
        return grow_context(session, least,
                            {.total_bytes = block * 10'000,
                             .available_bytes = block * available_blocks * 20 / 19 + 1});
    };
    REQUIRE(grow(0, 1000).ok());
    CHECK(session.loaded.info.context_tokens == 128);
    CHECK(session.loaded.num_kv_blocks == 3);
    CHECK(session.kv.num_blocks() == 3);
    REQUIRE(grow(0, 4).ok());
    CHECK(session.loaded.info.context_tokens == 192);
    const auto too_little = grow(0, 3);
    REQUIRE_FALSE(too_little.ok());
    CHECK(too_little.error().code == ErrorCode::limit_exceeded);
    CHECK(too_little.error().what.find("MiB of memory") != std::string::npos);
    CHECK_FALSE(grow(5000, 10).ok());
    CHECK(session.loaded.info.context_tokens == 192);
    REQUIRE(grow(5000, 1000).ok());
    CHECK(session.loaded.info.context_tokens == 5000);
    REQUIRE(grow_context(session, 0, {}).ok());  // memory unknown: the allocation tells
    CHECK(session.loaded.info.context_tokens == 10000);
    CHECK(session.kv.check_invariants().ok());
}

TEST_CASE("Overflow: several generations go on while the context grows", "[engine][quick]") {
    const auto control = growing_control(128, 2000);
    const auto engine = make_loaded_fake_engine(control);
    std::vector<GenerationHandle> handles;
    for (size_t i = 0; i < 4; ++i) {
        auto request = tokens_request(30 + i);
        request.max_tokens = 500;
        handles.push_back(engine->generate(request));
    }
    for (size_t i = 0; i < 4; ++i)
        CHECK(handles[i].wait().tokens == expected_greedy(Tokens(30 + i, 'x'), 500));
    CHECK(control->num_faults == 0);
}
