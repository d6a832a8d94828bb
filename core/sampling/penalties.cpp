// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sampling/chain_step.h"

namespace hokku {
namespace {

/// Makes tokens of the recent text less likely.
///
/// Source : repeat: Keskar et al. 2019, arXiv:1909.05858, with the sign rule of Hugging Face
///          (negative logits are multiplied); frequency and presence: OpenAI API reference.
class Penalties : public ChainStep {
  public:
    explicit Penalties(const PenaltyOptions& options)
        : options_(options), counts_(options.num_vocab, 0), window_(options.window) {}

    void accept(TokenId token) override {
        uint32_t& count = counts_[static_cast<size_t>(token)];
        if (num_accepted_ >= window_.size())
            --counts_[static_cast<size_t>(window_[num_accepted_ % window_.size()])];
        window_[num_accepted_ % window_.size()] = token;
        ++num_accepted_;
        ++count;
    }

    void apply(Candidates& candidates) override {
        if (!candidates.is_dense()) {
            for (Candidate& candidate : candidates.list()) {
                if (const uint32_t count = counts_[static_cast<size_t>(candidate.id)]; count > 0)
                    candidate.logit = penalised(candidate.logit, count);
            }
            candidates.mark_unsorted();
            return;
        }
        const std::span<float> logits = candidates.dense();
        for (size_t id = 0; id < counts_.size(); ++id)
            if (counts_[id] > 0) logits[id] = penalised(logits[id], counts_[id]);
    }

  private:
    // A forbidden token stays forbidden, and no penalty is so large as to forbid one.
    [[nodiscard]] float penalised(float logit, uint32_t count) const {
        if (std::isinf(logit)) return logit;
        logit = logit > 0 ? logit / options_.repeat : logit * options_.repeat;
        logit = logit - static_cast<float>(count) * options_.frequency - options_.presence;
        constexpr float kLargest = std::numeric_limits<float>::max();
        return std::clamp(logit, -kLargest, kLargest);
    }

    PenaltyOptions options_;
    std::vector<uint32_t> counts_;  ///< [num_vocab], occurrences within the window.
    std::vector<TokenId> window_;   ///< A ring.
    size_t num_accepted_ = 0;
};

}  // namespace

std::unique_ptr<ChainStep> make_penalties(const PenaltyOptions& options) {
    return std::make_unique<Penalties>(options);
}

}  // namespace hokku
