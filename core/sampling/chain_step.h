// SPDX-License-Identifier: Apache-2.0
// ChainStep: one step of the sampler chain: it changes logits or drops candidates. One small file
// for each; this header lists them all.
#pragma once

#include <cstdint>
#include <memory>

#include "sampling/candidates.h"

namespace hokku {

/// Threads: one thread at a time. No allocation after construction.
class ChainStep {
  public:
    virtual ~ChainStep() = default;
    virtual void apply(Candidates& candidates) = 0;
    /// Tells the step of a token of the text, in order: prompt first, then what was drawn.
    virtual void accept(TokenId /*token*/) {}
};

struct PenaltyOptions {
    float repeat = 1.0f, frequency = 0.0f, presence = 0.0f;
    uint32_t num_vocab = 0;
    uint32_t window = 0;  ///< Tokens looked back on.
};

std::unique_ptr<ChainStep> make_penalties(const PenaltyOptions& options);
std::unique_ptr<ChainStep> make_top_k(uint32_t count);
std::unique_ptr<ChainStep> make_top_p(float mass);
std::unique_ptr<ChainStep> make_min_p(float share);
std::unique_ptr<ChainStep> make_temperature(float temperature);

}  // namespace hokku
