// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/try.h"
#include "base/utf8.h"
#include "sampling/sampler.h"

namespace hokku {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kSmallest = std::numeric_limits<float>::min();
constexpr const char* kFinite = "a finite number";
constexpr const char* kFiniteFrom0 = "a finite number from 0";

Error bad_option(const char* name, double value, const std::string& expected) {
    return Error{ErrorCode::bad_argument, fmt::format("{} is {:g}", name, value), name, expected};
}

struct FloatLimit {
    const char* name;
    float value, least, most;
    const char* expected;
};

Result<void> validate_floats(const SamplingOptions& o) {
    const float repeat = o.repeat_penalty.value_or(1.0f);
    const FloatLimit limits[] = {
        {"temperature", o.temperature, 0, kLargest, kFiniteFrom0},
        {"dynatemp_range", o.dynatemp_range, 0, kLargest, kFiniteFrom0},
        {"dynatemp_exponent", o.dynatemp_exponent, 0, kLargest, kFiniteFrom0},
        {"top_p", o.top_p, 0, 1, "0 to 1 (off)"},
        {"min_p", o.min_p, 0, 1, "0 (off) to 1"},
        {"typical_p", o.typical_p, 0, 1, "0 to 1 (off)"},
        {"top_n_sigma", o.top_n_sigma, 0, kLargest, "a finite number from 0 (off)"},
        {"xtc_probability", o.xtc_probability, 0, 1, "0 (off) to 1"},
        {"xtc_threshold", o.xtc_threshold, 0, 1, "0 to 1"},
        {"repeat_penalty", repeat, kSmallest, kLargest, "a finite number above 0"},
        {"frequency_penalty", o.frequency_penalty, -kLargest, kLargest, kFinite},
        {"presence_penalty", o.presence_penalty, -kLargest, kLargest, kFinite},
        {"dry_multiplier", o.dry_multiplier, 0, kLargest, "a finite number from 0 (off)"},
        {"dry_base", o.dry_base, 1, kLargest, "a finite number from 1"},
        {"mirostat_tau", o.mirostat_tau, 0, kLargest, kFiniteFrom0},
        {"mirostat_eta", o.mirostat_eta, 0, kLargest, kFiniteFrom0},
    };
    for (const FloatLimit& limit : limits) {
        const bool is_within = limit.value >= limit.least && limit.value <= limit.most;
        if (!is_within)  // NaN is not, either
            return bad_option(limit.name, static_cast<double>(limit.value), limit.expected);
    }
    if (std::isinf(o.temperature + o.dynatemp_range))
        return bad_option("dynatemp_range", static_cast<double>(o.dynatemp_range), kFinite);
    return {};
}

Result<void> validate_integers(const SamplingOptions& o) {
    if (o.top_k < 0) return bad_option("top_k", o.top_k, "a number from 0 (off)");
    if (o.penalty_last_n < -1)
        return bad_option("penalty_last_n", o.penalty_last_n, "-1 (all) or a number from 0");
    if (o.dry_last_n < -1)
        return bad_option("dry_last_n", o.dry_last_n, "-1 (all) or a number from 0");
    if (o.dry_allowed_length < 0)
        return bad_option("dry_allowed_length", o.dry_allowed_length, "a number from 0");
    if (o.mirostat < 0 || o.mirostat > 2)
        return bad_option("mirostat", o.mirostat, "0 (off), 1 or 2");
    constexpr uint64_t kRandomSeed = 0xffffffff;
    if (o.mode == SamplerMode::llama_cpp && o.seed && *o.seed >= kRandomSeed)
        return Error{ErrorCode::bad_argument, fmt::format("seed is {}", *o.seed), "seed",
                     "a number below 4294967295, for which llama.cpp draws one"};
    return {};
}

Result<void> validate_breakers(const SamplingOptions& options) {
    constexpr size_t kMostBreakers = 100;
    if (options.dry_breakers.size() > kMostBreakers)
        return bad_option("the number of dry_breakers",
                          static_cast<double>(options.dry_breakers.size()),
                          fmt::format("at most {}", kMostBreakers));
    for (const std::string& text : options.dry_breakers)
        if (text.empty() || text.size() > kMostDryBreakerBytes)
            return Error{
                ErrorCode::bad_argument,
                fmt::format("a breaker of {} bytes: \"{}\"", text.size(), to_printable(text)),
                "dry_breakers", fmt::format("1 to {} bytes", kMostDryBreakerBytes)};
    return {};
}

Result<void> validate_bias(const SamplingOptions& options, uint32_t num_vocab) {
    std::vector<int32_t> forbidden;
    for (const auto& [id, bias] : options.logit_bias) {
        if (id < 0 || static_cast<uint32_t>(id) >= num_vocab)
            return Error{ErrorCode::bad_argument, fmt::format("there is no token {}", id),
                         "logit_bias token", fmt::format("an id below {}", num_vocab)};
        if (std::isnan(bias) || bias == std::numeric_limits<float>::infinity())
            return bad_option("logit_bias", static_cast<double>(bias), "a finite number or -inf");
        if (std::isinf(bias)) forbidden.push_back(id);
    }
    std::sort(forbidden.begin(), forbidden.end());
    const auto end = std::unique(forbidden.begin(), forbidden.end());
    if (num_vocab > 0 && end - forbidden.begin() == static_cast<ptrdiff_t>(num_vocab))
        return Error{ErrorCode::bad_argument, "logit_bias forbids every token", "logit_bias",
                     "at least one token that may be drawn"};
    return {};
}

}  // namespace

Result<void> validate_sampling(const SamplingOptions& options, uint32_t num_vocab) {
    HOKKU_CHECK(validate_floats(options));
    HOKKU_CHECK(validate_integers(options));
    HOKKU_CHECK(validate_breakers(options));
    for (auto step = options.order.begin(); step != options.order.end(); ++step) {
        if (std::find(options.order.begin(), step, *step) != step)
            return Error{ErrorCode::bad_argument, "a sampler step is listed twice", "order",
                         "each step at most once"};
    }
    return validate_bias(options, num_vocab);
}

}  // namespace hokku
