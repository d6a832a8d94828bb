// SPDX-License-Identifier: Apache-2.0
// SamplingOptions: how the next token is chosen from the logits. Plain data; the sampler itself is
// inside the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hokku {

enum class SamplerStep {
    penalties,
    dry,
    top_n_sigma,
    top_k,
    typical,
    top_p,
    min_p,
    xtc,
    temperature,
};

enum class SamplerMode {
    hokku,
    /// To the letter of llama.cpp, random numbers included: the same seed gives the same text where
    /// the logits are the same. See hokku/llama_sampling.h for the samplers by themselves.
    llama_cpp,
};

/// Most bytes of a text that DRY does not reach across.
inline constexpr size_t kMostDryBreakerBytes = 40;

/// Probabilities and temperature have no unit; 0 or 1 (as stated) switches a step off.
struct SamplingOptions {
    SamplerMode mode = SamplerMode::hokku;
    /// 0 picks the most likely token after penalties and DRY (greedy). >= 0, finite.
    float temperature = 0.8f;
    /// The temperature follows the entropy of the candidates, from temperature - range for one
    /// candidate to temperature + range for equal ones; 0 is off.
    float dynatemp_range = 0.0f;
    float dynatemp_exponent = 1.0f;  ///< Of entropy by largest entropy.
    int32_t top_k = 40;              ///< Keep the k most likely; 0 is off.
    float top_p = 0.95f;             ///< Keep the smallest set with this mass; 1 is off.
    float min_p = 0.05f;             ///< Drop tokens below this share of the best; 0 is off.
    /// Keep the tokens whose surprise is nearest to the mean, up to this mass; 1 is off.
    float typical_p = 1.0f;
    /// Keep logits within so many standard deviations of the best; 0 is off.
    float top_n_sigma = 0.0f;
    /// With this probability (0 is off) all tokens that have at least the threshold's probability
    /// are dropped but for the least likely of them. A threshold above 0.5 never has two.
    float xtc_probability = 0.0f, xtc_threshold = 0.1f;
    /// Divides positive and multiplies negative logits of recent tokens; 1 is off. Absent: 1.1, as
    /// makers of small models advise against loops, but off at temperature 0, where the text is
    /// the model's own most likely one, and in llama.cpp's mode.
    std::optional<float> repeat_penalty;
    float frequency_penalty = 0.0f;  ///< Subtracted once per occurrence; 0 is off.
    float presence_penalty = 0.0f;   ///< Subtracted once if present; 0 is off.
    int32_t penalty_last_n = 64;     ///< Window of the penalties; 0 is off, -1 the whole context.
    /// DRY: multiplier * base^(length - allowed length) is subtracted from tokens that would
    /// lengthen a repetition of at least the allowed length; a multiplier of 0 is off.
    float dry_multiplier = 0.0f, dry_base = 1.75f;
    int32_t dry_allowed_length = 2;
    int32_t dry_last_n = -1;  ///< Window of DRY; 0 is off, -1 the whole context.
    /// Texts across which no repetition reaches, of 1 to kMostDryBreakerBytes.
    std::vector<std::string> dry_breakers{"\n", ":", "\"", "*"};
    /// 1 or 2: Mirostat instead of top-n-sigma, top-k, typical, top-p, min-p and XTC, which keeps
    /// the surprise of the text near tau (bits), learning at the rate eta. 0 is off. In llama.cpp's
    /// mode instead of the penalties and DRY as well.
    int32_t mirostat = 0;
    float mirostat_tau = 5.0f, mirostat_eta = 0.1f;
    std::vector<std::pair<int32_t, float>> logit_bias;  ///< Added first; -inf forbids a token.
    /// Absent: drawn at random and reported with the result. In llama.cpp's mode below 2^32 - 1.
    std::optional<uint64_t> seed;
    /// The order in which the steps run; the draw always comes last. A step not named does not run.
    std::vector<SamplerStep> order{
        SamplerStep::penalties, SamplerStep::dry,     SamplerStep::top_n_sigma,
        SamplerStep::top_k,     SamplerStep::typical, SamplerStep::top_p,
        SamplerStep::min_p,     SamplerStep::xtc,     SamplerStep::temperature};
};

/// What the makers of a model recommend; absent: nothing.
struct SamplingDefaults {
    std::optional<float> temperature = {}, top_p = {}, min_p = {}, repeat_penalty = {};
    std::optional<int32_t> top_k = {};

    void apply_to(SamplingOptions& sampling) const {
        sampling.temperature = temperature.value_or(sampling.temperature);
        sampling.top_p = top_p.value_or(sampling.top_p);
        sampling.min_p = min_p.value_or(sampling.min_p);
        sampling.top_k = top_k.value_or(sampling.top_k);
        if (repeat_penalty) sampling.repeat_penalty = repeat_penalty;
    }
    bool operator==(const SamplingDefaults&) const = default;
};

}  // namespace hokku
