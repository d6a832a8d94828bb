// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "sampling/chain_step.h"
#include "sampling/dry_repeats.h"

namespace hokku {
namespace {

/// Makes tokens less likely that would go on with a repetition, the more the longer it is.
///
/// Source : see DryRepeats.
class Dry : public ChainStep {
  public:
    Dry(const DryOptions& options, std::span<const std::vector<TokenId>> breakers)
        : repeats_(options, breakers) {}

    void accept(TokenId token) override { repeats_.accept(token); }

    // Only few tokens go on with one; the rest of a vocabulary is not touched.
    void apply(Candidates& candidates) override {
        if (!repeats_.find()) return;
        if (candidates.is_dense()) {
            for (const TokenId id : repeats_.found()) {
                float& logit = candidates.dense()[static_cast<size_t>(id)];
                logit = penalised(logit, id);
            }
            return;
        }
        for (Candidate& candidate : candidates.list())
            candidate.logit = penalised(candidate.logit, candidate.id);
        candidates.mark_unsorted();
    }

  private:
    // A forbidden token stays forbidden, and no penalty is so large as to forbid one.
    [[nodiscard]] float penalised(float logit, TokenId id) const {
        if (std::isinf(logit)) return logit;
        return std::max(logit - repeats_.penalty(id), -std::numeric_limits<float>::max());
    }

    DryRepeats repeats_;
};

}  // namespace

std::unique_ptr<ChainStep> make_dry(const DryOptions& options,
                                    std::span<const std::vector<TokenId>> breakers) {
    return std::make_unique<Dry>(options, breakers);
}

}  // namespace hokku
