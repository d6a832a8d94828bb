// SPDX-License-Identifier: Apache-2.0
// ChainStep: one step of the sampler chain: it changes logits or drops candidates. One small file
// for each; this header lists them all.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sampling/candidates.h"
#include "sampling/dry_repeats.h"

namespace hokku {

/// Threads: one thread at a time. No allocation after construction.
class ChainStep {
  public:
    virtual ~ChainStep() = default;
    virtual void apply(Candidates& candidates) = 0;
    /// Tells the step of a token of the text, in order: prompt first, then what was drawn.
    virtual void accept(TokenId /*token*/) {}
    /// Tells the step how likely the drawn token was among the candidates left at the end.
    virtual void note_drawn(double /*probability*/) {}
};

struct PenaltyOptions {
    float repeat = 1.0f, frequency = 0.0f, presence = 0.0f;
    uint32_t num_vocab = 0;
    uint32_t window = 0;  ///< Tokens looked back on.
};

struct XtcOptions {
    float probability = 0.0f, threshold = 0.1f;
    uint64_t seed = 0;
};

std::unique_ptr<ChainStep> make_penalties(const PenaltyOptions& options);
std::unique_ptr<ChainStep> make_dry(const DryOptions& options,
                                    std::span<const std::vector<TokenId>> breakers);
std::unique_ptr<ChainStep> make_top_n_sigma(float num_sigmas);
std::unique_ptr<ChainStep> make_top_k(uint32_t count);
std::unique_ptr<ChainStep> make_typical(float mass, uint32_t num_vocab);
std::unique_ptr<ChainStep> make_top_p(float mass);
std::unique_ptr<ChainStep> make_min_p(float share);
std::unique_ptr<ChainStep> make_xtc(const XtcOptions& options);
std::unique_ptr<ChainStep> make_temperature(float temperature);
std::unique_ptr<ChainStep> make_dynamic_temperature(float lowest, float highest, float exponent);
std::unique_ptr<ChainStep> make_mirostat(float tau, float eta, uint32_t num_vocab);
std::unique_ptr<ChainStep> make_mirostat_v2(float tau, float eta);

}  // namespace hokku
