// SPDX-License-Identifier: Apache-2.0
// LogprobReader: log-probabilities of a token and of its best alternatives, from the logits as
// the model gave them, before any sampler step.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sampling/candidates.h"

namespace hokku {

/// Threads: one thread at a time. No allocation after construction.
class LogprobReader {
  public:
    explicit LogprobReader(uint32_t num_vocab) : selector_(num_vocab) {}

    /// The natural logarithm of the token's probability; `top` gets the `num_top` most likely
    /// tokens, best first. Needs logits without NaN or +inf and one above -inf.
    float read(std::span<const float> logits, TokenId token, uint32_t num_top,
               std::vector<std::pair<TokenId, float>>& top);

  private:
    TopSelector selector_;
};

}  // namespace hokku
