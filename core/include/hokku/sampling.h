// SPDX-License-Identifier: Apache-2.0
// SamplingOptions: how the next token is chosen from the logits. Plain data; the sampler itself is
// inside the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace hokku {

enum class SamplerStep { penalties, top_k, top_p, min_p, temperature };

/// Probabilities and temperature have no unit; 0 or 1 (as stated) switches a step off.
struct SamplingOptions {
    float temperature = 0.8f;  ///< 0 picks the most likely token (greedy). >= 0, finite.
    int32_t top_k = 40;        ///< Keep the k most likely; 0 is off.
    float top_p = 0.95f;       ///< Keep the smallest set with this mass; 1 is off.
    float min_p = 0.05f;       ///< Drop tokens below this share of the best; 0 is off.
    /// Divides positive and multiplies negative logits of recent tokens; 1 is off. Absent: 1.1, as
    /// makers of small models advise against loops, but off at temperature 0, where the text is
    /// the model's own most likely one.
    std::optional<float> repeat_penalty;
    float frequency_penalty = 0.0f;  ///< Subtracted once per occurrence; 0 is off.
    float presence_penalty = 0.0f;   ///< Subtracted once if present; 0 is off.
    int32_t penalty_last_n = 64;     ///< Window of the penalties; 0 is off, -1 the whole context.
    std::vector<std::pair<int32_t, float>> logit_bias;  ///< Added first; -inf forbids a token.
    std::optional<uint64_t> seed;  ///< Absent: drawn at random and reported with the result.
    /// The order in which the steps run; the draw always comes last.
    std::vector<SamplerStep> order{SamplerStep::penalties, SamplerStep::top_k, SamplerStep::top_p,
                                   SamplerStep::min_p, SamplerStep::temperature};
};

}  // namespace hokku
