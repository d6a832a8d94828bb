// SPDX-License-Identifier: Apache-2.0
#include "sampling/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <vector>

#include "support/catch.h"

using hokku::Sampler;
using hokku::SamplerStep;
using hokku::SamplingOptions;
using hokku::TokenId;

namespace {

/// Every step off; the draw is from the plain softmax.
SamplingOptions plain_options(uint64_t seed = 1) {
    SamplingOptions options;
    options.temperature = 1.0f;
    options.top_k = 0;
    options.top_p = 1.0f;
    options.min_p = 0.0f;
    options.repeat_penalty = 1.0f;
    options.seed = seed;
    return options;
}

Sampler make_sampler(const SamplingOptions& options, size_t num_vocab) {
    return Sampler::create(options, static_cast<uint32_t>(num_vocab), 1000).value();
}

std::vector<TokenId> draw_many(const SamplingOptions& options, const std::vector<float>& logits,
                               int count = 300) {
    Sampler sampler = make_sampler(options, logits.size());
    std::vector<TokenId> drawn;
    for (int i = 0; i < count; ++i) drawn.push_back(sampler.sample(logits).value());
    return drawn;
}

std::set<TokenId> support_of(const SamplingOptions& options, const std::vector<float>& logits) {
    const std::vector<TokenId> drawn = draw_many(options, logits);
    return {drawn.begin(), drawn.end()};
}

const std::vector<float> kLogits{std::log(0.1f), std::log(0.4f), std::log(0.2f), std::log(0.3f)};

}  // namespace

TEST_CASE("Sampler: temperature 0 takes the best, the lower id among equals", "[sampling][quick]") {
    SamplingOptions options = plain_options();
    options.temperature = 0.0f;
    CHECK(support_of(options, kLogits) == std::set<TokenId>{1});
    CHECK(support_of(options, {0.0f, 2.0f, 2.0f}) == std::set<TokenId>{1});
    options.top_k = 1;
    options.top_p = 0.1f;
    CHECK(support_of(options, kLogits) == std::set<TokenId>{1});
}

TEST_CASE("Sampler: plain draws follow the softmax", "[sampling][quick]") {
    std::array<int, 4> counts{};
    for (const TokenId token : draw_many(plain_options(), kLogits, 20000))
        ++counts[static_cast<size_t>(token)];
    const std::array<double, 4> expected{2000, 8000, 4000, 6000};
    double chi_squared = 0;
    for (size_t i = 0; i < 4; ++i) {
        const double difference = counts[i] - expected[i];
        chi_squared += difference * difference / expected[i];
    }
    CHECK(chi_squared < 16.27);  // 3 degrees of freedom, p = 0.001
}

TEST_CASE("Sampler: the seed decides, and is drawn and told when absent", "[sampling][quick]") {
    const std::vector<float> logits(1000, 0.0f);
    CHECK(draw_many(plain_options(5), logits) == draw_many(plain_options(5), logits));
    CHECK(draw_many(plain_options(5), logits) != draw_many(plain_options(6), logits));

    SamplingOptions options = plain_options();
    options.seed.reset();
    Sampler first = make_sampler(options, logits.size());
    const Sampler second = make_sampler(options, logits.size());
    CHECK(first.seed() != second.seed());
    options.seed = first.seed();
    Sampler repeated = make_sampler(options, logits.size());
    for (int i = 0; i < 50; ++i)
        REQUIRE(first.sample(logits).value() == repeated.sample(logits).value());
}

TEST_CASE("Sampler: so many best logits decide as it says", "[sampling][quick]") {
    constexpr uint32_t kNumVocab = 600;
    SamplingOptions options = plain_options();
    CHECK(make_sampler(options, kNumVocab).num_best() == 0);
    options.top_k = 7;
    CHECK(make_sampler(options, kNumVocab).num_best() == 7);
    options.repeat_penalty = 1.3f;  // Of 64 tokens.
    CHECK(make_sampler(options, kNumVocab).num_best() == 71);
    options.presence_penalty = -0.1f;  // Raises logits.
    CHECK(make_sampler(options, kNumVocab).num_best() == 0);
    options.presence_penalty = 0.0f;
    options.logit_bias = {{3, 1.0f}};
    CHECK(make_sampler(options, kNumVocab).num_best() == 0);
    options.logit_bias.clear();
    options.mirostat = 2;
    CHECK(make_sampler(options, kNumVocab).num_best() == 0);
    options.mirostat = 0;
    options.temperature = 0;
    CHECK(make_sampler(options, kNumVocab).num_best() == 65);
    options.dry_multiplier = 1.0f;
    options.dry_breakers.clear();
    CHECK(make_sampler(options, kNumVocab).num_best() == 0);

    // Text by text the same, whether the rest is there or not.
    for (const float temperature : {0.0f, 0.9f}) {
        SamplingOptions usual;
        usual.temperature = temperature;
        usual.repeat_penalty = 1.5f;
        usual.top_k = 5;
        usual.seed = 3;
        Sampler whole = make_sampler(usual, kNumVocab), few = make_sampler(usual, kNumVocab);
        for (size_t i = 0; i < 200; ++i) {
            std::vector<float> logits(kNumVocab);
            for (size_t id = 0; id < kNumVocab; ++id)
                logits[id] = 0.01f * static_cast<float>((id * 37 + 11 * (i % 3)) % 601) - 3.0f;
            const TokenId expected = whole.sample(logits).value();
            std::vector<float> sorted = logits;
            std::sort(sorted.begin(), sorted.end(), std::greater<>());
            for (float& logit : logits)
                if (logit < sorted[few.num_best() - 1])
                    logit = -std::numeric_limits<float>::infinity();
            REQUIRE(few.sample(logits).value() == expected);
            whole.accept(expected);
            few.accept(expected);
        }
    }
}

TEST_CASE("Sampler: each step keeps the tokens it should", "[sampling][quick]") {
    SamplingOptions options = plain_options();
    SECTION("top-k") {
        options.top_k = 2;
        CHECK(support_of(options, kLogits) == std::set<TokenId>{1, 3});
    }
    SECTION("top-p") {
        options.top_p = 0.69f;
        CHECK(support_of(options, kLogits) == std::set<TokenId>{1, 3});
        options.top_p = 0.71f;
        CHECK(support_of(options, kLogits) == std::set<TokenId>{1, 2, 3});
    }
    SECTION("min-p") {
        options.min_p = 0.49f;
        CHECK(support_of(options, kLogits) == std::set<TokenId>{1, 2, 3});
        options.min_p = 0.51f;
        CHECK(support_of(options, kLogits) == std::set<TokenId>{1, 3});
    }
    SECTION("temperature sharpens and flattens") {
        options.temperature = 0.01f;
        CHECK(support_of(options, kLogits) == std::set<TokenId>{1});
        options.temperature = 1000.0f;
        CHECK(support_of(options, {0.0f, 20.0f}) == std::set<TokenId>{0, 1});
    }
    SECTION("logit bias") {
        options.logit_bias = {{1, -INFINITY}, {0, 100.0f}};
        CHECK(support_of(options, kLogits) == std::set<TokenId>{0});
    }
}

TEST_CASE("Sampler: the order of the steps is the caller's", "[sampling][quick]") {
    // A high temperature before top-p flattens the probabilities, so that more tokens are kept.
    SamplingOptions options = plain_options();
    options.temperature = 100.0f;
    options.top_p = 0.69f;
    options.order = {SamplerStep::top_p, SamplerStep::temperature};
    CHECK(support_of(options, kLogits) == std::set<TokenId>{1, 3});
    options.order = {SamplerStep::temperature, SamplerStep::top_p};
    CHECK(support_of(options, kLogits) == std::set<TokenId>{1, 2, 3});
    SECTION("a step that is not listed does not run") {
        options.order = {};
        CHECK(support_of(options, kLogits) == std::set<TokenId>{0, 1, 2, 3});
    }
    SECTION("penalties work on a list as on all logits") {
        options = plain_options();
        options.top_k = 3;
        options.presence_penalty = 50.0f;
        options.order = {SamplerStep::top_k, SamplerStep::penalties};
        Sampler sampler = make_sampler(options, kLogits.size());
        sampler.accept(1);
        sampler.accept(3);
        for (int i = 0; i < 20; ++i) REQUIRE(sampler.sample(kLogits).value() == 2);
    }
}

TEST_CASE("Sampler: penalties count the occurrences within the window", "[sampling][quick]") {
    SamplingOptions options = plain_options();
    options.temperature = 0.0f;
    const auto best_after = [&](const std::vector<TokenId>& history,
                                const std::vector<float>& logits) {
        Sampler sampler = make_sampler(options, logits.size());
        for (const TokenId token : history) sampler.accept(token);
        return sampler.sample(logits).value();
    };
    SECTION("repeat divides positive and multiplies negative logits, once") {
        options.repeat_penalty = 2.0f;
        CHECK(best_after({0}, {3.0f, 1.6f, -9.0f}) == 1);
        CHECK(best_after({0}, {3.0f, 1.4f, -9.0f}) == 0);
        CHECK(best_after({0, 0, 0}, {3.0f, 1.4f, -9.0f}) == 0);
        CHECK(best_after({0}, {-1.0f, -1.9f, -9.0f}) == 1);
        CHECK(best_after({0}, {-1.0f, -2.1f, -9.0f}) == 0);
    }
    SECTION("repeat is 1.1 by default, but off where the best token is taken") {
        options.repeat_penalty.reset();
        CHECK(best_after({0}, {3.0f, 2.9f}) == 0);
        options.temperature = 1e-6f;
        CHECK(best_after({0}, {3.0f, 2.9f}) == 1);
        CHECK(best_after({0}, {3.0f, 2.7f}) == 0);
    }
    SECTION("frequency subtracts once per occurrence") {
        options.frequency_penalty = 0.5f;
        CHECK(best_after({0, 0}, {3.0f, 2.1f}) == 1);
        CHECK(best_after({0}, {3.0f, 2.1f}) == 0);
    }
    SECTION("presence subtracts once") {
        options.presence_penalty = 0.5f;
        CHECK(best_after({0, 0, 0}, {3.0f, 2.4f}) == 0);
        CHECK(best_after({0}, {3.0f, 2.6f}) == 1);
    }
    SECTION("what left the window no longer counts") {
        options.presence_penalty = 5.0f;
        options.penalty_last_n = 2;
        CHECK(best_after({0, 1, 1}, {3.0f, 2.0f}) == 0);
        CHECK(best_after({0, 1}, {3.0f, 2.0f, 1.0f}) == 2);
        CHECK(best_after({0, 2}, {3.0f, 2.0f, 1.0f}) == 1);
    }
    SECTION("a window of 0 is off, -1 is the whole text") {
        options.presence_penalty = 5.0f;
        options.penalty_last_n = 0;
        CHECK(best_after({0}, {3.0f, 2.0f}) == 0);
        options.penalty_last_n = -1;
        std::vector<TokenId> history(500, 1);
        history.front() = 0;
        CHECK(best_after(history, {3.0f, 2.0f, 1.0f}) == 2);
    }
}
