// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "sampling/chain_step.h"

namespace hokku {
namespace {

/// Drops tokens whose probability is below a share of the best one's.
///
/// Source : Nguyen et al. 2024, arXiv:2407.01082.
class MinP : public ChainStep {
  public:
    explicit MinP(float share) : log_share_(std::log(share)) {}
    void apply(Candidates& candidates) override {
        candidates.keep_from(candidates.max_logit() + log_share_);
    }

  private:
    float log_share_;
};

}  // namespace

std::unique_ptr<ChainStep> make_min_p(float share) {
    return std::make_unique<MinP>(share);
}

}  // namespace hokku
