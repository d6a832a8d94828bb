// SPDX-License-Identifier: Apache-2.0
// Edge values of every option: a defined token, or an error that names the option.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "sampling/sampler.h"
#include "support/catch.h"

using hokku::Error;
using hokku::ErrorCode;
using hokku::Sampler;
using hokku::SamplerMode;
using hokku::SamplerStep;
using hokku::SamplingOptions;
using hokku::TokenId;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kSmallest = std::numeric_limits<float>::denorm_min();

SamplingOptions seeded() {
    SamplingOptions options;
    options.seed = 3;
    return options;
}

Error refusal_of(const SamplingOptions& options, uint32_t num_vocab = 4) {
    const auto created = Sampler::create(options, num_vocab, 100);
    REQUIRE_FALSE(created.ok());
    CHECK(created.error().code == ErrorCode::bad_argument);
    return created.error();
}

/// Many draws, all of which must succeed and be within the vocabulary.
void check_draws(const SamplingOptions& options, const std::vector<float>& logits) {
    auto sampler = Sampler::create(options, static_cast<uint32_t>(logits.size()), 100);
    REQUIRE(sampler.ok());
    for (int i = 0; i < 30; ++i) {
        const auto token = sampler->sample(logits);
        REQUIRE(token.ok());
        REQUIRE((*token >= 0 && static_cast<size_t>(*token) < logits.size()));
        REQUIRE(logits[static_cast<size_t>(*token)] > -kInfinity);
        sampler->accept(*token);
    }
}

}  // namespace

TEST_CASE("Sampler: options out of range are refused by name", "[sampling][quick]") {
    const auto names = [](auto change) {
        SamplingOptions options = seeded();
        change(options);
        return refusal_of(options).where;
    };
    for (const float bad : {-0.1f, kInfinity, -kInfinity, kNan}) {
        CAPTURE(bad);
        CHECK(names([&](auto& o) { o.temperature = bad; }) == "temperature");
        CHECK(names([&](auto& o) { o.top_p = bad; }) == "top_p");
        CHECK(names([&](auto& o) { o.min_p = bad; }) == "min_p");
        CHECK(names([&](auto& o) { o.repeat_penalty = bad; }) == "repeat_penalty");
        CHECK(names([&](auto& o) { o.typical_p = bad; }) == "typical_p");
        CHECK(names([&](auto& o) { o.top_n_sigma = bad; }) == "top_n_sigma");
        CHECK(names([&](auto& o) { o.xtc_probability = bad; }) == "xtc_probability");
        CHECK(names([&](auto& o) { o.xtc_threshold = bad; }) == "xtc_threshold");
        CHECK(names([&](auto& o) { o.dynatemp_range = bad; }) == "dynatemp_range");
        CHECK(names([&](auto& o) { o.dynatemp_exponent = bad; }) == "dynatemp_exponent");
        CHECK(names([&](auto& o) { o.dry_multiplier = bad; }) == "dry_multiplier");
        CHECK(names([&](auto& o) { o.dry_base = bad; }) == "dry_base");
        CHECK(names([&](auto& o) { o.mirostat_tau = bad; }) == "mirostat_tau");
        CHECK(names([&](auto& o) { o.mirostat_eta = bad; }) == "mirostat_eta");
    }
    for (const float bad : {1.5f, kLargest}) {
        CHECK(names([&](auto& o) { o.typical_p = bad; }) == "typical_p");
        CHECK(names([&](auto& o) { o.xtc_probability = bad; }) == "xtc_probability");
        CHECK(names([&](auto& o) { o.xtc_threshold = bad; }) == "xtc_threshold");
        CHECK(names([&](auto& o) { o.top_p = bad; }) == "top_p");
        CHECK(names([&](auto& o) { o.min_p = bad; }) == "min_p");
    }
    for (const float bad : {kInfinity, -kInfinity, kNan}) {
        CHECK(names([&](auto& o) { o.frequency_penalty = bad; }) == "frequency_penalty");
        CHECK(names([&](auto& o) { o.presence_penalty = bad; }) == "presence_penalty");
    }
    CHECK(names([](auto& o) { o.repeat_penalty = 0; }) == "repeat_penalty");
    CHECK(names([](auto& o) { o.top_k = -1; }) == "top_k");
    CHECK(names([](auto& o) { o.penalty_last_n = -2; }) == "penalty_last_n");
    CHECK(names([](auto& o) { o.dry_last_n = -2; }) == "dry_last_n");
    CHECK(names([](auto& o) { o.dry_allowed_length = -1; }) == "dry_allowed_length");
    CHECK(names([](auto& o) { o.dry_base = 0.5f; }) == "dry_base");
    CHECK(names([](auto& o) { o.dry_breakers = {""}; }) == "dry_breakers");
    CHECK(names([](auto& o) { o.dry_breakers = {std::string(41, 'x')}; }) == "dry_breakers");
    CHECK(names([](auto& o) { o.mirostat = 3; }) == "mirostat");
    CHECK(names([](auto& o) { o.temperature = o.dynatemp_range = kLargest; }) == "dynatemp_range");
    CHECK(names([](auto& o) {
              o.mode = SamplerMode::llama_cpp;
              o.seed = 0xffffffff;
          }) == "seed");
    CHECK(names([](auto& o) {
              o.order = {SamplerStep::top_k, SamplerStep::top_p, SamplerStep::top_k};
          }) == "order");
    CHECK(names([](auto& o) { o.logit_bias = {{4, 1.0f}}; }) == "logit_bias token");
    CHECK(names([](auto& o) { o.logit_bias = {{-1, 1.0f}}; }) == "logit_bias token");
    SamplingOptions large;
    large.logit_bias = {{99999999, 1.0f}};
    CHECK(refusal_of(large).what.find("99999999") != std::string::npos);
    CHECK(names([](auto& o) { o.logit_bias = {{0, kNan}}; }) == "logit_bias");
    CHECK(names([](auto& o) { o.logit_bias = {{0, kInfinity}}; }) == "logit_bias");
}

TEST_CASE("Sampler: a bias that forbids every token is refused", "[sampling][quick]") {
    SamplingOptions options = seeded();
    for (int32_t id = 0; id < 3; ++id) options.logit_bias.emplace_back(id, -kInfinity);
    CHECK(Sampler::create(options, 4, 100).ok());
    options.logit_bias.emplace_back(1, -kInfinity);
    CHECK(Sampler::create(options, 4, 100).ok());  // id 3 is left
    options.logit_bias.emplace_back(3, -kInfinity);
    CHECK(refusal_of(options).what == "logit_bias forbids every token");
}

TEST_CASE("Sampler: every combination of extreme options and logits gives a token",
          "[sampling][quick]") {
    const std::vector<std::vector<float>> all_logits{
        {0.5f},                              // a vocabulary of one
        {1.0f, 1.0f, 1.0f, 1.0f},            // all equal
        {-kInfinity, -kInfinity, -7.0f},     // one possible
        {-kLargest, -kLargest, -kInfinity},  // far down
        {kLargest, kLargest, 0.0f},          // far up
        {kLargest, -kLargest, -kInfinity},   // as far apart as can be
        {1e-40f, -1e-40f, 0.0f, -0.0f},      // subnormal
    };
    for (const std::vector<float>& logits : all_logits)
        for (const int32_t top_k : {0, 1, 2, 1'000'000, std::numeric_limits<int32_t>::max()})
            for (const float top_p : {0.0f, kSmallest, 0.5f, 1.0f})
                for (const float min_p : {0.0f, kSmallest, 0.5f, 1.0f})
                    for (const float temperature : {0.0f, kSmallest, 1e-30f, 1.0f, kLargest}) {
                        CAPTURE(logits, top_k, top_p, min_p, temperature);
                        SamplingOptions options = seeded();
                        options.top_k = top_k;
                        options.top_p = top_p;
                        options.min_p = min_p;
                        options.temperature = temperature;
                        check_draws(options, logits);
                        options.order = {SamplerStep::temperature, SamplerStep::min_p,
                                         SamplerStep::top_p, SamplerStep::top_k,
                                         SamplerStep::penalties};
                        options.repeat_penalty = 1.3f;
                        check_draws(options, logits);
                    }
}

TEST_CASE("Sampler: extreme values of the other steps give a token, alone and after each other",
          "[sampling][quick]") {
    const std::vector<std::vector<float>> all_logits{
        {0.5f},
        {1.0f, 1.0f, 1.0f, 1.0f},
        {-kInfinity, -kInfinity, -7.0f},
        {-kLargest, -kLargest, -kInfinity},
        {kLargest, kLargest, 0.0f},
        {kLargest, -kLargest, -kInfinity},
        {3.0f, 2.0f, 1.0f, -50.0f, -200.0f},
    };
    using Change = void (*)(SamplingOptions&, float);
    const Change changes[] = {
        [](SamplingOptions& o, float x) { o.typical_p = std::min(x, 1.0f); },
        [](SamplingOptions& o, float x) { o.top_n_sigma = x; },
        [](SamplingOptions& o, float x) {
            o.xtc_probability = 1.0f;
            o.xtc_threshold = std::min(x, 1.0f);
        },
        [](SamplingOptions& o, float x) { o.dynatemp_range = x; },
        [](SamplingOptions& o, float x) {
            o.dynatemp_range = 0.8f;
            o.dynatemp_exponent = x;
        },
        [](SamplingOptions& o, float x) { o.dry_multiplier = x; },
        [](SamplingOptions& o, float x) {
            o.dry_multiplier = 1.0f;
            o.dry_allowed_length = 0;
            o.dry_base = std::max(x, 1.0f);
        },
        [](SamplingOptions& o, float x) {
            o.mirostat = 1;
            o.mirostat_tau = x;
        },
        [](SamplingOptions& o, float x) {
            o.mirostat = 1;
            o.mirostat_eta = x;
        },
        [](SamplingOptions& o, float x) {
            o.mirostat = 2;
            o.mirostat_tau = x;
        },
        [](SamplingOptions& o, float x) {
            o.mirostat = 2;
            o.mirostat_eta = x;
        },
    };
    for (const std::vector<float>& logits : all_logits)
        for (const float value : {0.0f, kSmallest, 1e-6f, 0.3f, 1.0f, 2.0f, 1e30f, kLargest}) {
            SamplingOptions together = seeded();
            together.dry_breakers.clear();
            for (const Change change : changes) {
                CAPTURE(logits, value);
                SamplingOptions alone = seeded();
                alone.dry_breakers.clear();
                alone.top_k = 0;
                change(alone, value);
                if (std::isinf(alone.temperature + alone.dynatemp_range)) continue;
                check_draws(alone, logits);
                change(together, value);
            }
            together.dynatemp_range = std::min(together.dynatemp_range, 1e30f);
            check_draws(together, logits);
            together.mirostat = 0;
            check_draws(together, logits);
            std::reverse(together.order.begin(), together.order.end());
            check_draws(together, logits);
        }
}

TEST_CASE("Sampler: windows of 0, 1 and the whole text", "[sampling][quick]") {
    for (const int32_t window : {0, 1, -1, std::numeric_limits<int32_t>::max()}) {
        SamplingOptions options = seeded();
        options.penalty_last_n = options.dry_last_n = window;
        options.repeat_penalty = 1.5f;
        options.dry_multiplier = 1.0f;
        options.dry_breakers.clear();
        check_draws(options, {1.0f, 2.0f, 3.0f});
        options.mode = SamplerMode::llama_cpp;
        check_draws(options, {1.0f, 2.0f, 3.0f});
    }
}

TEST_CASE("Sampler: unusable logits are a numeric error, not a token", "[sampling][quick]") {
    for (const auto& [mode, temperature] :
         {std::pair(SamplerMode::hokku, 0.0f), std::pair(SamplerMode::hokku, 1.0f),
          std::pair(SamplerMode::llama_cpp, 1.0f)}) {
        SamplingOptions options = seeded();
        options.mode = mode;
        options.temperature = temperature;
        Sampler sampler = Sampler::create(options, 3, 100).value();
        for (const std::vector<float>& logits :
             {std::vector<float>{1.0f, kNan, 0.0f}, std::vector<float>{kNan, kNan, kNan},
              std::vector<float>{-kInfinity, -kInfinity, -kInfinity},
              std::vector<float>{0.0f, kInfinity, 0.0f}}) {
            const auto token = sampler.sample(logits);
            REQUIRE_FALSE(token.ok());
            CHECK(token.error().code == ErrorCode::numeric);
        }
        CHECK(sampler.sample(std::vector<float>{0.0f, 9.0f, 0.0f}).ok());
    }
}

TEST_CASE("Sampler: a bias that leaves nothing of what the model allows is a named error",
          "[sampling][quick]") {
    SamplingOptions options = seeded();
    options.logit_bias = {{1, -kInfinity}};
    Sampler sampler = Sampler::create(options, 2, 100).value();
    const auto token = sampler.sample(std::vector<float>{-kInfinity, 1.0f});
    REQUIRE_FALSE(token.ok());
    CHECK(token.error().code == ErrorCode::bad_argument);
    CHECK(token.error().where == "logit_bias");
}

TEST_CASE("Sampler: penalties that overflow neither forbid nor break", "[sampling][quick]") {
    for (const float extreme : {kLargest, -kLargest}) {
        SamplingOptions options = seeded();
        options.frequency_penalty = extreme;
        options.presence_penalty = extreme;
        options.repeat_penalty = extreme > 0 ? kLargest : std::numeric_limits<float>::min();
        check_draws(options, {1.0f});
        check_draws(options, {-1.0f, 1.0f});
        check_draws(options, {kLargest, -kLargest, -kInfinity});
        options.temperature = 0.0f;
        check_draws(options, {kLargest, -kLargest, -kInfinity});
    }
}
