// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "sampling/chain_step.h"

namespace hokku {
namespace {

/// Keeps the logits that lie within some standard deviations of the best one.
///
/// Source : Tang et al. 2024, arXiv:2411.07641.
class TopNSigma : public ChainStep {
  public:
    explicit TopNSigma(float num_sigmas) : num_sigmas_(static_cast<double>(num_sigmas)) {}

    // Deviations are taken from the best logit, so that none overflows.
    void apply(Candidates& candidates) override {
        const auto best = static_cast<double>(candidates.max_logit());
        double sum = 0, squares = 0, count = 0;
        for (size_t i = 0; i < candidates.size(); ++i) {
            if (std::isinf(candidates.logit_at(i))) continue;
            const double distance = best - static_cast<double>(candidates.logit_at(i));
            sum += distance;
            squares += distance * distance;
            count += 1;
        }
        const double mean = sum / count;
        const double sigma = std::sqrt(std::max(0.0, squares / count - mean * mean));
        const double farthest = num_sigmas_ * sigma;
        candidates.keep_if([&](size_t i) {
            return best - static_cast<double>(candidates.logit_at(i)) <= farthest;
        });
    }

  private:
    double num_sigmas_;
};

}  // namespace

std::unique_ptr<ChainStep> make_top_n_sigma(float num_sigmas) {
    return std::make_unique<TopNSigma>(num_sigmas);
}

}  // namespace hokku
