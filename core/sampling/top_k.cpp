// SPDX-License-Identifier: Apache-2.0
#include "sampling/chain_step.h"

namespace hokku {
namespace {

/// Keeps the k most likely tokens.
///
/// Source : Fan et al. 2018, arXiv:1805.04833.
class TopK : public ChainStep {
  public:
    explicit TopK(uint32_t count) : count_(count) {}
    void apply(Candidates& candidates) override {
        if (count_ < candidates.size()) candidates.keep_best(count_);
    }

  private:
    uint32_t count_;
};

}  // namespace

std::unique_ptr<ChainStep> make_top_k(uint32_t count) {
    return std::make_unique<TopK>(count);
}

}  // namespace hokku
