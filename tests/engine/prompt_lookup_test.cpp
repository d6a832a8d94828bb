// SPDX-License-Identifier: Apache-2.0
// Guesses of tokens: where they come from, how many are made, and that the text never depends on
// them.
#include "engine/prompt_lookup.h"

#include <algorithm>

#include "engine/fake_model.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

using Tokens = std::vector<TokenId>;

Guess guess_after(const Tokens& tokens, Tokens& out, size_t count) {
    PromptLookup lookup;
    lookup.reset(tokens, tokens.size());
    out.assign(count, -1);
    const Guess guess = lookup.guess(out);
    out.resize(guess.num_tokens);
    return guess;
}

struct Run {
    GenerationResult result;
    uint32_t num_steps = 0;
    std::vector<TokenLogprob> events;
};

Run run_once(const GenerationRequest& request, uint32_t max_guesses, const Script& script,
             uint32_t context = 512) {
    auto control = std::make_shared<FakeControl>();
    control->script = script;
    control->context_tokens = context;
    control->max_step_logits = 8;
    control->max_decode_rows = 8;
    control->least_prefill_rows = 8;
    control->max_guesses = max_guesses;
    auto engine = make_loaded_fake_engine(control);
    REQUIRE(engine);
    Run run;
    GenerationEvents events;
    events.on_token = [&](const TokenLogprob& token) { run.events.push_back(token); };
    run.result = engine->generate(request, std::move(events)).wait();
    run.num_steps = control->num_steps;
    engine.reset();
    CHECK(control->num_faults == 0);
    return run;
}

void check_same(const Run& plain, const Run& guessed) {
    CHECK(guessed.result.tokens == plain.result.tokens);
    CHECK(guessed.result.text == plain.result.text);
    CHECK(guessed.result.reason == plain.result.reason);
    CHECK(guessed.result.stats.forward_tokens == plain.result.stats.forward_tokens);
    REQUIRE(guessed.events.size() == plain.events.size());
    for (size_t i = 0; i < plain.events.size(); ++i) {
        CHECK(guessed.events[i].id == plain.events[i].id);
        CHECK(guessed.events[i].logprob == plain.events[i].logprob);
    }
    CHECK(guessed.result.stats.right_guesses <= guessed.result.stats.guessed_tokens);
    CHECK(plain.result.stats.guessed_tokens == 0);
}

GenerationRequest request_of(std::string_view prompt, uint32_t max_tokens) {
    GenerationRequest request;
    request.tokens.emplace();
    for (const char c : prompt) request.tokens->push_back(static_cast<unsigned char>(c));
    request.max_tokens = max_tokens;
    request.sampling.temperature = 0;
    return request;
}

}  // namespace

TEST_CASE("PromptLookup: what followed the longest end last", "[engine][quick]") {
    Tokens out;
    SECTION("the longer match wins over the later one") {
        const Guess guess = guess_after({1, 2, 3, 40, 9, 2, 3, 50, 8, 1, 2, 3}, out, 2);
        CHECK(guess.match_length == 3);
        CHECK(out == Tokens{40, 9});
    }
    SECTION("of equal ones the later") {
        const Guess guess = guess_after({2, 3, 40, 2, 3, 50, 7, 2, 3}, out, 1);
        CHECK(guess.match_length == 2);
        CHECK(out == Tokens{50});
    }
    SECTION("one token alone is no match") {
        CHECK(guess_after({1, 2, 3, 9, 3}, out, 4).num_tokens == 0);
        CHECK(guess_after({}, out, 4).num_tokens == 0);
        CHECK(guess_after({5}, out, 4).num_tokens == 0);
        CHECK(guess_after({5, 5}, out, 4).num_tokens == 0);
        CHECK(guess_after({5, 5, 5}, out, 0).num_tokens == 0);
    }
    SECTION("a text that repeats itself goes on so") {
        const Guess guess = guess_after({9, 1, 2, 3, 1, 2, 3, 1, 2}, out, 7);
        CHECK(guess.match_length == 5);
        CHECK(out == Tokens{3, 1, 2, 3, 1, 2, 3});
        CHECK(guess_after({5, 5, 5}, out, 3).match_length == 2);
        CHECK(out == Tokens{5, 5, 5});
    }
    SECTION("matches end at the longest that is looked for") {
        Tokens tokens(40);
        for (size_t i = 0; i < 20; ++i) tokens[i] = tokens[i + 20] = static_cast<TokenId>(i);
        CHECK(guess_after(tokens, out, 3).match_length == PromptLookup::kLongestMatch);
        CHECK(out == Tokens{0, 1, 2});
    }
}

TEST_CASE("Engine: guesses change the time of a text, not the text", "[engine][quick]") {
    GenerationRequest request = request_of("abcabcabdefabcab", 120);
    SECTION("greedy") {}
    SECTION("drawn") {
        request.sampling.temperature = 0.9f;
        request.sampling.seed = GENERATE(1u, 2u, 3u, 4u, 5u);
        request.num_top_logprobs = 3;
    }
    SECTION("with penalties, which look back") {
        request.sampling.temperature = 0.7f;
        request.sampling.repeat_penalty = 1.3f;
        request.sampling.seed = 9;
    }
    const Run plain = run_once(request, 0, repetitive_logits);
    const Run guessed = run_once(request, 7, repetitive_logits);
    check_same(plain, guessed);
    CHECK(plain.result.tokens.size() == 120);
    CHECK(guessed.result.stats.guessed_tokens > 0);
    request.prompt_lookup = false;
    CHECK(run_once(request, 7, repetitive_logits).result.stats.guessed_tokens == 0);
}

TEST_CASE("Engine: a text that repeats takes fewer steps", "[engine][quick]") {
    // Greedy, the letters run in a circle.
    const Script circle = [](std::span<const int32_t> history, std::span<float> logits) {
        std::fill(logits.begin(), logits.end(), 0.0f);
        logits[static_cast<size_t>('a' + (history.back() - 'a' + 1) % 5)] = 50.0f;
    };
    const GenerationRequest request = request_of("abcdeabcde", 200);
    const Run plain = run_once(request, 0, circle);
    const Run guessed = run_once(request, 7, circle);
    check_same(plain, guessed);
    CHECK(plain.num_steps == 200);
    CHECK(guessed.num_steps < 60);
    CHECK(guessed.result.stats.right_guesses > 140);
}

TEST_CASE("Engine: texts end within guesses as without", "[engine][quick]") {
    const Script circle = [](std::span<const int32_t> history, std::span<float> logits) {
        std::fill(logits.begin(), logits.end(), 0.0f);
        const bool is_end = history.size() == 101;
        const auto next = static_cast<size_t>('a' + (history.back() - 'a' + 1) % 5);
        logits[is_end ? static_cast<size_t>(fake_token::eos) : next] = 50.0f;
    };
    GenerationRequest request = request_of("abcdeabcde", 0);
    uint32_t context = 512;
    SECTION("by an end token") {}
    SECTION("by the number of tokens") {
        request.max_tokens = 33;
    }
    SECTION("by a stop text") {
        request.stop_strings = {"deabcdeabcdeabcdeabcdeabcdeabcdeab"};
    }
    SECTION("by the context") {
        context = 77;
    }
    SECTION("by a form") {
        ConstraintSpec choice;
        choice.kind = ConstraintKind::choice;
        choice.words = {"abcdeabcdeabcdeabcde", "abcdx"};
        request.constraints.push_back(std::move(choice));
    }
    check_same(run_once(request, 0, circle, context), run_once(request, 7, circle, context));
}

TEST_CASE("Engine: a guess that breaks the model's numbers ends nothing", "[engine][quick]") {
    auto control = std::make_shared<FakeControl>();
    control->max_step_logits = control->max_decode_rows = control->least_prefill_rows = 8;
    control->max_guesses = 7;
    control->script = [](std::span<const int32_t> history, std::span<float> logits) {
        std::fill(logits.begin(), logits.end(), 0.0f);
        const bool parts = history.size() > 40;
        logits[static_cast<size_t>('a' + (history.back() - 'a' + (parts ? 2 : 1)) % 5)] = 50.0f;
    };
    uint32_t num_failed = 0;
    control->before_step = [&](const Step& step) -> Result<void> {
        const bool is_wrong = step.sequences[0].num_cached > 36 && step.tokens.size() > 1;
        if (!is_wrong) return {};
        ++num_failed;
        return Error{ErrorCode::numeric, "not a number", "layer 0", ""};
    };
    auto engine = make_loaded_fake_engine(control);
    REQUIRE(engine);
    const GenerationResult result = engine->generate(request_of("abcdeabcde", 60), {}).wait();
    CHECK(result.reason == StopReason::max_tokens);
    CHECK(result.tokens.size() == 60);
    CHECK(num_failed > 0);
}
