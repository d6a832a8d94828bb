// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "sampling/chain_step.h"

namespace hokku {
namespace {

/// Keeps the tokens whose surprise is nearest to its expectation, the entropy, up to a mass.
///
/// Source : Meister et al. 2022, arXiv:2202.00666.
class Typical : public ChainStep {
  public:
    Typical(float mass, uint32_t num_vocab) : mass_(static_cast<double>(mass)) {
        entries_.reserve(num_vocab);
    }

    // A heap gives the nearest ones first without sorting the vocabulary.
    void apply(Candidates& candidates) override {
        const Candidates::Weights weights = candidates.weigh();
        const double log_sum = std::log(weights.sum);
        const auto surprise_of = [&](size_t i) {
            return static_cast<double>(weights.max_logit) -
                   static_cast<double>(candidates.logit_at(i)) + log_sum;
        };
        double entropy = 0;
        for (size_t i = 0; i < weights.values.size(); ++i)
            if (weights.values[i] > 0.0f)
                entropy += static_cast<double>(weights.values[i]) / weights.sum * surprise_of(i);
        entries_.clear();
        for (size_t i = 0; i < weights.values.size(); ++i)
            if (weights.values[i] > 0.0f)
                entries_.push_back({std::abs(surprise_of(i) - entropy), i});
        std::make_heap(entries_.begin(), entries_.end(), is_farther);
        auto end = entries_.end();
        double sum = 0;
        Entry last;
        do {
            last = entries_.front();
            sum += static_cast<double>(weights.values[last.index]) / weights.sum;
            std::pop_heap(entries_.begin(), end--, is_farther);
        } while (sum < mass_ && end != entries_.begin());
        candidates.keep_if([&](size_t i) {
            const Entry entry{std::abs(surprise_of(i) - entropy), i};
            return weights.values[i] > 0.0f && !is_farther(entry, last);
        });
    }

  private:
    struct Entry {
        double distance = 0;
        size_t index = 0;
    };
    static bool is_farther(const Entry& a, const Entry& b) {
        return a.distance != b.distance ? a.distance > b.distance : a.index > b.index;
    }

    double mass_;
    std::vector<Entry> entries_;
};

}  // namespace

std::unique_ptr<ChainStep> make_typical(float mass, uint32_t num_vocab) {
    return std::make_unique<Typical>(mass, num_vocab);
}

}  // namespace hokku
