// SPDX-License-Identifier: Apache-2.0
#include "sampling/chain_step.h"

namespace hokku {
namespace {

/// Keeps the smallest set of most likely tokens whose probabilities reach a mass.
///
/// Source : Holtzman et al. 2019, arXiv:1904.09751.
class TopP : public ChainStep {
  public:
    explicit TopP(float mass) : mass_(mass) {}
    void apply(Candidates& candidates) override {
        candidates.keep_mass(static_cast<double>(mass_));
    }

  private:
    float mass_;
};

}  // namespace

std::unique_ptr<ChainStep> make_top_p(float mass) {
    return std::make_unique<TopP>(mass);
}

}  // namespace hokku
