// SPDX-License-Identifier: Apache-2.0
// One generation at a time, on the fake model: what comes out, why it ends, what is counted.
#include <algorithm>
#include <future>
#include <limits>
#include <stdexcept>

#include "engine/fake_model.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

std::vector<TokenId> bytes_of(std::string_view text) {
    std::vector<TokenId> ids;
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
    return ids;
}

GenerationRequest greedy_request(std::vector<TokenId> tokens, uint32_t max_tokens) {
    GenerationRequest request;
    request.tokens = std::move(tokens);
    request.sampling.temperature = 0;
    request.max_tokens = max_tokens;
    return request;
}

/// The script gives these tokens one after another, whatever the prompt is.
Script giving(std::vector<TokenId> tokens, size_t prompt_length) {
    return [tokens = std::move(tokens), prompt_length](std::span<const int32_t> history,
                                                       std::span<float> logits) {
        std::fill(logits.begin(), logits.end(), 0.0f);
        const size_t index = history.size() - prompt_length;
        const TokenId next = index < tokens.size() ? tokens[index] : fake_token::eos;
        logits[static_cast<size_t>(next)] = 100.0f;
    };
}

struct Fixture {
    std::shared_ptr<FakeControl> control = std::make_shared<FakeControl>();
    std::unique_ptr<Engine> engine;

    Fixture() = default;
    ~Fixture() { CHECK(control->num_faults == 0); }
    Engine& start() {
        engine = make_loaded_fake_engine(control);
        REQUIRE(engine);
        return *engine;
    }
    GenerationResult run(GenerationRequest request, GenerationEvents events = {}) {
        if (!engine) start();
        return engine->generate(std::move(request), std::move(events)).wait();
    }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "Engine: greedy text is that of the model without a cache",
                 "[engine][quick][threads]") {
    // 70 tokens of prompt in steps of 16, over a block border, then 100 more.
    const std::vector<TokenId> prompt = bytes_of(std::string(35, 'x') + std::string(35, 'y'));
    const GenerationResult result = run(greedy_request(prompt, 100));
    CHECK(result.reason == StopReason::max_tokens);
    CHECK_FALSE(result.error.has_value());
    CHECK(result.tokens == expected_greedy(prompt, 100));
    CHECK(result.text == engine->tokenizer()->decode(result.tokens, false));
    CHECK(result.stats.prompt_tokens == 70);
    CHECK(result.stats.cached_tokens == 0);
    CHECK(result.stats.generated_tokens == 100);
    CHECK(result.stats.forward_tokens == 169);  // the last token need not be evaluated
    CHECK(control->num_rows == 169);
    CHECK(control->longest_step == 16);
    CHECK(result.stats.peak_memory_mb > 1);
    CHECK(result.stats.decode_tok_s > 0);
    CHECK(result.stats.prefill_tok_s > 0);
    CHECK(result.stats.ttft_ms > 0);
}

TEST_CASE_METHOD(Fixture, "Engine: decoding evaluates one token a step",
                 "[engine][quick][threads]") {
    start();
    run(greedy_request(bytes_of("Once"), 20));
    CHECK(control->num_steps == 1 + 19);
    CHECK(control->num_rows == 4 + 19);
}

TEST_CASE_METHOD(Fixture, "Engine: a cached prefix changes the work, not the text",
                 "[engine][quick][threads]") {
    const std::vector<TokenId> prompt = bytes_of(std::string(200, 'p'));
    const GenerationResult fresh = run(greedy_request(prompt, 30));
    SECTION("the same prompt evaluates one token again") {
        const GenerationResult again = run(greedy_request(prompt, 30));
        CHECK(again.tokens == fresh.tokens);
        CHECK(again.stats.cached_tokens == 199);
        CHECK(again.stats.forward_tokens == 1 + 29);
    }
    SECTION("a strict prefix of what is cached evaluates one token again") {
        const std::vector<TokenId> shorter(prompt.begin(), prompt.begin() + 150);
        const GenerationResult cut = run(greedy_request(shorter, 30));
        CHECK(cut.tokens == expected_greedy(shorter, 30));
        CHECK(cut.stats.cached_tokens == 149);
    }
    SECTION("a conversation goes on where it was") {
        std::vector<TokenId> longer = prompt;
        longer.insert(longer.end(), fresh.tokens.begin(), fresh.tokens.end());
        longer.push_back('?');
        const GenerationResult next = run(greedy_request(longer, 30));
        CHECK(next.tokens == expected_greedy(longer, 30));
        CHECK(next.stats.cached_tokens == 200 + 29);
    }
    SECTION("a branch shares what is common") {
        std::vector<TokenId> branch(prompt.begin(), prompt.begin() + 100);
        branch.push_back('!');
        const GenerationResult other = run(greedy_request(branch, 30));
        CHECK(other.tokens == expected_greedy(branch, 30));
        CHECK(other.stats.cached_tokens == 100);
        CHECK(control->num_copies == 1);
        CHECK(run(greedy_request(prompt, 30)).tokens == fresh.tokens);
    }
    SECTION("without reuse all is evaluated") {
        GenerationRequest request = greedy_request(prompt, 30);
        request.reuse_cached_prefix = false;
        const GenerationResult again = run(std::move(request));
        CHECK(again.tokens == fresh.tokens);
        CHECK(again.stats.cached_tokens == 0);
    }
}

TEST_CASE_METHOD(Fixture, "Engine: no prefill step is shorter than the backend wants",
                 "[engine][quick][threads]") {
    control->least_prefill_rows = 6;
    std::vector<size_t> steps;
    control->on_step = [&](const Step& step) { steps.push_back(step.tokens.size()); };
    for (size_t length = 1; length < 60; ++length) {
        const std::vector<TokenId> prompt = bytes_of(std::string(length, 'p'));
        for (const bool is_cached : {false, true}) {
            CAPTURE(length, is_cached);
            GenerationRequest request = greedy_request(prompt, 1);
            request.reuse_cached_prefix = is_cached;
            steps.clear();
            const GenerationResult result = run(request);
            REQUIRE(result.tokens == expected_greedy(prompt, 1));
            if (is_cached)
                REQUIRE(result.stats.cached_tokens == length - std::min<size_t>(length, 6));
            for (const size_t rows : steps) {
                REQUIRE(rows >= std::min<size_t>(length, 6));
                REQUIRE(rows <= control->max_step_tokens);
            }
        }
    }
}

TEST_CASE_METHOD(Fixture, "Engine: many prompts through a small cache stay right",
                 "[engine][quick][threads]") {
    control->context_tokens = 200;
    for (int i = 0; i < 60; ++i) {
        // Prompts that share prefixes of many lengths.
        const auto shared = static_cast<size_t>((i * 37) % 150);
        std::vector<TokenId> prompt = bytes_of(std::string(shared, 'a' + static_cast<char>(i % 3)));
        const std::vector<TokenId> tail = bytes_of(std::to_string(i % 7) + "tail");
        prompt.insert(prompt.end(), tail.begin(), tail.end());
        const GenerationResult result = run(greedy_request(prompt, 20));
        REQUIRE(result.tokens == expected_greedy(prompt, 20));
        REQUIRE(result.stats.cached_tokens < prompt.size());
    }
}

TEST_CASE_METHOD(Fixture, "Engine: the context's end is a stop reason and keeps the text",
                 "[engine][quick][threads]") {
    control->context_tokens = GENERATE(64u, 100u, 128u);
    const std::vector<TokenId> prompt = bytes_of("Begin");
    const GenerationResult result = run(greedy_request(prompt, 0));
    CHECK(result.reason == StopReason::context_full);
    CHECK_FALSE(result.error.has_value());
    CHECK(result.tokens.size() == control->context_tokens - prompt.size() + 1);
    CHECK(result.tokens == expected_greedy(prompt, result.tokens.size()));
    CHECK(result.text == engine->tokenizer()->decode(result.tokens, false));
    // And again, now with a full cache.
    CHECK(run(greedy_request(bytes_of("Other"), 0)).reason == StopReason::context_full);
}

TEST_CASE_METHOD(Fixture, "Engine: a prompt longer than the context is refused with its length",
                 "[engine][quick][threads]") {
    control->context_tokens = 64;
    start();
    const GenerationResult refused = run(greedy_request(bytes_of(std::string(65, 'x')), 5));
    CHECK(refused.reason == StopReason::failed);
    REQUIRE(refused.error.has_value());
    CHECK(refused.error->code == ErrorCode::limit_exceeded);
    CHECK(refused.error->what == "the prompt has 65 tokens and the context holds 64");
    CHECK(refused.stats.prompt_tokens == 65);
    CHECK(control->num_steps == 0);

    const GenerationResult full = run(greedy_request(bytes_of(std::string(64, 'x')), 5));
    CHECK(full.reason == StopReason::context_full);
    CHECK(full.tokens.size() == 1);
}

TEST_CASE_METHOD(Fixture, "Engine: every token that ends a generation ends it",
                 "[engine][quick][threads]") {
    control->script = giving(bytes_of("Hi"), 3);
    const GenerationResult result = run(greedy_request(bytes_of("abc"), 0));
    CHECK(result.reason == StopReason::end_of_generation);
    CHECK(result.text == "Hi");
    CHECK(result.tokens == std::vector<TokenId>{'H', 'i', fake_token::eos});
    GenerationRequest request = greedy_request(bytes_of("abc"), 5);
    request.ignore_end = true;
    const GenerationResult on = run(std::move(request));
    CHECK(on.reason == StopReason::max_tokens);
    CHECK(on.tokens.size() == 5);
}

TEST_CASE_METHOD(Fixture, "Engine: stop strings cut the text, streamed or not",
                 "[engine][quick][threads]") {
    const TokenId user = fake_token::first_long + 3, colon = fake_token::first_long + 4;
    std::vector<TokenId> answer = bytes_of("Fine.");
    answer.push_back(user);  // "\nUser"
    answer.push_back(colon);
    control->script = giving(answer, 1);
    GenerationRequest request = greedy_request({'x'}, 0);
    std::string streamed;
    GenerationEvents events;
    events.on_text = [&](std::string_view text) { streamed += text; };
    SECTION("a stop string over two tokens") {
        request.stop_strings = {"\nUser:"};
        const GenerationResult result = run(request, events);
        CHECK(result.reason == StopReason::stop_string);
        CHECK(result.text == "Fine.");
        CHECK(streamed == "Fine.");
    }
    SECTION("one that is never completed is text") {
        request.stop_strings = {"\nUser: X"};
        const GenerationResult result = run(request, events);
        CHECK(result.reason == StopReason::end_of_generation);
        CHECK(result.text == "Fine.\nUser: ");
        CHECK(streamed == result.text);
    }
    SECTION("an empty one is refused") {
        request.stop_strings = {""};
        CHECK(run(request, events).error->code == ErrorCode::bad_argument);
    }
}

TEST_CASE_METHOD(Fixture, "Engine: the stream is whole characters and adds up to the text",
                 "[engine][quick][threads]") {
    const TokenId first = fake_token::first_long;
    control->script = giving({first, first + 5, first + 6, first + 7, first + 1, first + 5}, 1);
    std::vector<std::string> pieces;
    GenerationEvents events;
    events.on_text = [&](std::string_view text) { pieces.emplace_back(text); };
    const GenerationResult result = run(greedy_request({'x'}, 0), events);
    CHECK(pieces == std::vector<std::string>{"Hello", "\xE5\x8F\xA5 and ", "\xF0\x9F\x8D\x81",
                                             " world", "\xEF\xBF\xBD"});
    std::string all;
    for (const std::string& piece : pieces) all += piece;
    CHECK(result.text == all);
}

TEST_CASE_METHOD(Fixture, "Engine: who stops a text within a character does not get half of it",
                 "[engine][quick][threads]") {
    // "a", then the first two of the three bytes of U+53E4.
    control->script = giving({'a', 0xE5, 0x8F}, 1);
    std::promise<void> is_within;
    control->on_step = [&](const Step&) {
        if (control->num_steps != 3) return;
        control->step_time = std::chrono::seconds(20);
        is_within.set_value();
    };
    start();
    GenerationHandle handle = engine->generate(greedy_request(bytes_of("x"), 0));
    is_within.get_future().wait();
    handle.cancel();
    const GenerationResult result = handle.wait();
    CHECK(result.reason == StopReason::cancelled);
    CHECK(result.tokens.size() == 3);
    CHECK(result.text == "a");
}

TEST_CASE_METHOD(Fixture, "Engine: unusable logits end that generation and no other",
                 "[engine][quick][threads]") {
    const float infinity = std::numeric_limits<float>::infinity();
    const float bad = GENERATE_REF(std::numeric_limits<float>::quiet_NaN(), -infinity);
    control->script = [bad](std::span<const int32_t> history, std::span<float> logits) {
        if (history.size() < 12) return fake_logits(history, logits);
        std::fill(logits.begin(), logits.end(), bad);
    };
    const std::vector<TokenId> prompt = bytes_of("prompt..");
    const GenerationResult result = run(greedy_request(prompt, 50));
    CHECK(result.reason == StopReason::failed);
    REQUIRE(result.error.has_value());
    CHECK(result.error->code == ErrorCode::numeric);
    CHECK(result.tokens == expected_greedy(prompt, 4));  // what came before is kept
    const GenerationResult next = run(greedy_request(prompt, 4));
    CHECK(next.reason == StopReason::max_tokens);
    CHECK(next.stats.cached_tokens == 0);  // nothing of the failed run is trusted
}

TEST_CASE_METHOD(Fixture, "Engine: an error of the backend is reported as it is",
                 "[engine][quick][threads]") {
    control->before_step = [this](const Step&) -> Result<void> {
        if (control->num_steps < 5) return {};
        return Error{ErrorCode::device, "the device was lost", "layer 3", ""};
    };
    const GenerationResult result = run(greedy_request(bytes_of("x"), 50));
    REQUIRE(result.error.has_value());
    CHECK(result.error->what == "the device was lost");
    CHECK(result.tokens.size() == 5);
}

TEST_CASE_METHOD(Fixture, "Engine: a file that shrinks ends the generation with an I/O error",
                 "[engine][quick][threads]") {
    control->on_step = [this](const Step&) {
        if (control->num_steps == 3) control->read_fault = true;
    };
    const GenerationResult result = run(greedy_request(bytes_of("x"), 50));
    REQUIRE(result.error.has_value());
    CHECK(result.error->code == ErrorCode::io);
    CHECK(result.tokens.size() == 3);
    // The lost pages stay zero: no later generation may use them.
    const GenerationResult later = run(greedy_request(bytes_of("y"), 5));
    REQUIRE(later.error.has_value());
    CHECK(later.error->code == ErrorCode::io);
    CHECK(later.tokens.empty());
}

TEST_CASE_METHOD(Fixture, "Engine: unusable requests are refused by name",
                 "[engine][quick][threads]") {
    start();
    const auto refusal = [&](const GenerationRequest& request) {
        const GenerationResult result = run(request);
        CHECK(result.reason == StopReason::failed);
        REQUIRE(result.error.has_value());
        return *result.error;
    };
    GenerationRequest request;
    CHECK(refusal(request).code == ErrorCode::bad_argument);  // no prompt
    request.raw_text = "x";
    request.tokens = std::vector<TokenId>{1};
    CHECK(refusal(request).code == ErrorCode::bad_argument);  // two
    request = greedy_request({}, 1);
    CHECK(refusal(request).what == "the prompt is empty");
    request = greedy_request({1, 300}, 1);
    CHECK(refusal(request).what == "token 300 at index 1 is not in the vocabulary");
    request = greedy_request({-1}, 1);
    CHECK(refusal(request).code == ErrorCode::bad_argument);
    request = greedy_request({1}, 1);
    request.sampling.top_p = 2;
    CHECK(refusal(request).where == "top_p");
    request = GenerationRequest();
    request.messages = {{"user", "Hi"}};
    CHECK(refusal(request).code == ErrorCode::bad_template);  // the fake has none
    CHECK(control->num_steps == 0);
}

TEST_CASE_METHOD(Fixture, "Engine: what a callback throws ends its generation",
                 "[engine][quick][threads]") {
    GenerationEvents events;
    SECTION("from on_text") {
        events.on_text = [](std::string_view) { throw std::runtime_error("no room"); };
    }
    SECTION("from on_token") {
        events.on_token = [](const TokenLogprob&) { throw 5; };
    }
    SECTION("from on_prefill") {
        events.on_prefill = [](uint32_t, uint32_t) { throw std::runtime_error("no room"); };
    }
    const GenerationResult result = run(greedy_request(bytes_of("x"), 5), events);
    CHECK(result.reason == StopReason::failed);
    REQUIRE(result.error.has_value());
    CHECK(result.error->what.find("a callback threw an exception") == 0);
    events = {};
    events.on_finished = [](const GenerationResult&) { throw std::runtime_error("late"); };
    CHECK(run(greedy_request(bytes_of("x"), 5), events).reason == StopReason::max_tokens);
}

TEST_CASE_METHOD(Fixture, "Engine: the seed repeats a text and is told",
                 "[engine][quick][threads]") {
    GenerationRequest request = greedy_request(bytes_of("seeded"), 40);
    request.sampling = SamplingOptions();
    const GenerationResult first = run(request);
    const GenerationResult second = run(request);
    CHECK(first.seed != second.seed);
    CHECK(first.tokens != second.tokens);
    request.sampling.seed = first.seed;
    const GenerationResult repeated = run(request);
    CHECK(repeated.seed == first.seed);
    CHECK(repeated.tokens == first.tokens);
}

TEST_CASE_METHOD(Fixture, "Engine: log-probabilities come with each token, best first",
                 "[engine][quick][threads]") {
    std::vector<TokenLogprob> tokens;
    GenerationEvents events;
    events.on_token = [&](const TokenLogprob& token) { tokens.push_back(token); };
    GenerationRequest request = greedy_request(bytes_of("x"), 10);
    request.num_top_logprobs = 3;
    const GenerationResult result = run(request, events);
    REQUIRE(tokens.size() == 10);
    for (size_t i = 0; i < tokens.size(); ++i) {
        CHECK(tokens[i].id == result.tokens[i]);
        REQUIRE(tokens[i].top.size() == 3);
        CHECK(tokens[i].top[0].first == tokens[i].id);
        CHECK(tokens[i].top[0].second == tokens[i].logprob);
        CHECK(tokens[i].top[1].second <= tokens[i].top[0].second);
        CHECK(tokens[i].logprob < 0);
    }
}

TEST_CASE_METHOD(Fixture, "Engine: prefill tells its progress to the token",
                 "[engine][quick][threads]") {
    std::vector<uint32_t> done;
    GenerationEvents events;
    events.on_prefill = [&](uint32_t so_far, uint32_t total) {
        CHECK(total == 40);
        done.push_back(so_far);
    };
    run(greedy_request(bytes_of(std::string(40, 'x')), 5), events);
    CHECK(done == std::vector<uint32_t>{0, 16, 32, 40});
}
