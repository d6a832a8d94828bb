// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "sampling/chain_step.h"

namespace hokku {
namespace {

// A temperature so small that the quotient overflows leaves only the best: then distances from the
// best are divided instead, which gives the same probabilities.
void divide_logits(Candidates& candidates, float temperature) {
    const float maximum = candidates.max_logit();
    const float shift = std::isfinite(maximum / temperature) ? 0.0f : maximum;
    if (candidates.is_dense()) {
        for (float& logit : candidates.dense()) logit = (logit - shift) / temperature;
    } else {
        for (Candidate& candidate : candidates.list())
            candidate.logit = (candidate.logit - shift) / temperature;
    }
}

/// Divides the logits.
class Temperature : public ChainStep {
  public:
    explicit Temperature(float temperature) : temperature_(temperature) {}
    void apply(Candidates& candidates) override { divide_logits(candidates, temperature_); }

  private:
    float temperature_;
};

/// Divides the logits by a temperature that is the higher the less certain the model is.
///
/// Source : Zhu et al. 2023, arXiv:2309.02772, in the form of koboldcpp and llama.cpp.
class DynamicTemperature : public ChainStep {
  public:
    DynamicTemperature(float lowest, float highest, float exponent)
        : lowest_(static_cast<double>(lowest)),
          highest_(static_cast<double>(highest)),
          exponent_(static_cast<double>(exponent)) {}

    void apply(Candidates& candidates) override {
        const Candidates::Weights weights = candidates.weigh();
        double entropy = 0, count = 0;
        for (size_t i = 0; i < weights.values.size(); ++i) {
            if (std::isinf(candidates.logit_at(i))) continue;
            count += 1;
            const double p = static_cast<double>(weights.values[i]) / weights.sum;
            if (p > 0) entropy -= p * std::log(p);
        }
        if (count <= 1) return;
        const double share = std::clamp(entropy / std::log(count), 0.0, 1.0);
        const double temperature = lowest_ + (highest_ - lowest_) * std::pow(share, exponent_);
        const auto rounded = static_cast<float>(temperature);
        if (rounded > 0.0f) {
            divide_logits(candidates, rounded);
        } else {
            candidates.keep_best(1);
        }
    }

  private:
    double lowest_, highest_, exponent_;
};

}  // namespace

std::unique_ptr<ChainStep> make_temperature(float temperature) {
    return std::make_unique<Temperature>(temperature);
}

std::unique_ptr<ChainStep> make_dynamic_temperature(float lowest, float highest, float exponent) {
    return std::make_unique<DynamicTemperature>(lowest, highest, exponent);
}

}  // namespace hokku
