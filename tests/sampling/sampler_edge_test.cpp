// SPDX-License-Identifier: Apache-2.0
// Edge values of every option: a defined token, or an error that names the option.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "sampling/sampler.h"
#include "support/catch.h"

using hokku::Error;
using hokku::ErrorCode;
using hokku::Sampler;
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
    }
    for (const float bad : {1.5f, kLargest}) {
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

TEST_CASE("Sampler: unusable logits are a numeric error, not a token", "[sampling][quick]") {
    for (const float temperature : {0.0f, 1.0f}) {
        SamplingOptions options = seeded();
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
