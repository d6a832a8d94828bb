// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "sampling/chain_step.h"

namespace hokku {
namespace {

/// Divides the logits.
class Temperature : public ChainStep {
  public:
    explicit Temperature(float temperature) : temperature_(temperature) {}

    // A temperature so small that the quotient overflows leaves only the best: then distances from
    // the best are divided instead, which gives the same probabilities.
    void apply(Candidates& candidates) override {
        const float maximum = candidates.max_logit();
        const float shift = std::isfinite(maximum / temperature_) ? 0.0f : maximum;
        if (candidates.is_dense()) {
            for (float& logit : candidates.dense()) logit = (logit - shift) / temperature_;
        } else {
            for (Candidate& candidate : candidates.list())
                candidate.logit = (candidate.logit - shift) / temperature_;
        }
    }

  private:
    float temperature_;
};

}  // namespace

std::unique_ptr<ChainStep> make_temperature(float temperature) {
    return std::make_unique<Temperature>(temperature);
}

}  // namespace hokku
