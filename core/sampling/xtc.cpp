// SPDX-License-Identifier: Apache-2.0
#include "sampling/chain_step.h"
#include "sampling/random.h"

namespace hokku {
namespace {

/// "Exclude top choices": now and then all of the likely tokens but the last one are dropped.
///
/// Source : p-e-w, oobabooga/text-generation-webui pull request 6335.
class Xtc : public ChainStep {
  public:
    // Numbers of its own, so that the draw of the token has the same whether or not this runs.
    explicit Xtc(const XtcOptions& options) : options_(options), random_(~options.seed) {}

    void apply(Candidates& candidates) override {
        if (random_.next_unit() >= static_cast<double>(options_.probability)) return;
        const Candidates::Weights weights = candidates.weigh();
        const double least = static_cast<double>(options_.threshold) * weights.sum;
        const auto is_likely = [&](size_t i) {
            return weights.values[i] > 0.0f && static_cast<double>(weights.values[i]) >= least;
        };
        size_t num_likely = 0, last = 0;
        for (size_t i = 0; i < weights.values.size(); ++i) {
            if (!is_likely(i)) continue;
            const auto at = [&](size_t index) {
                return Candidate{candidates.id_at(index), candidates.logit_at(index)};
            };
            if (num_likely == 0 || is_better(at(last), at(i))) last = i;
            ++num_likely;
        }
        if (num_likely < 2) return;
        candidates.keep_if([&](size_t i) { return i == last || !is_likely(i); });
    }

  private:
    XtcOptions options_;
    RandomSource random_;
};

}  // namespace

std::unique_ptr<ChainStep> make_xtc(const XtcOptions& options) {
    return std::make_unique<Xtc>(options);
}

}  // namespace hokku
