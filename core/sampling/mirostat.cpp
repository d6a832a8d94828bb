// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>

#include "sampling/chain_step.h"

namespace hokku {
namespace {

/// Keeps the surprise of the text near tau (bits): mu, the limit of what a token may surprise, is
/// corrected by what the drawn token did.
///
/// Source : Basu et al. 2020, arXiv:2007.14966.
class Mirostat : public ChainStep {
  public:
    Mirostat(float tau, float eta)
        : tau_(static_cast<double>(tau)), eta_(static_cast<double>(eta)), mu_(2 * tau_) {}

    void note_drawn(double probability) override {
        mu_ -= eta_ * (-std::log2(probability) - tau_);
        // Whatever the rate, the next limit is a number.
        mu_ = std::clamp(mu_, -kFarthest, kFarthest);
    }

  protected:
    static constexpr double kFarthest = 1e6;
    [[nodiscard]] double mu() const { return mu_; }

  private:
    double tau_, eta_, mu_;
};

/// The first form: how many tokens are kept follows from Zipf's law, fitted to the best ones.
class MirostatV1 : public Mirostat {
  public:
    MirostatV1(float tau, float eta, uint32_t num_vocab)
        : Mirostat(tau, eta), num_vocab_(static_cast<double>(num_vocab)) {}

    void apply(Candidates& candidates) override {
        candidates.keep_best(num_kept(fitted_exponent(candidates.best_few(kNumFitted))));
    }

  private:
    static constexpr uint32_t kNumFitted = 100;

    static double fitted_exponent(std::span<const Candidate> best) {
        double products = 0, squares = 0;
        for (size_t i = 0; i + 1 < best.size(); ++i) {
            const auto rank = static_cast<double>(i + 1);
            const double t = std::log((rank + 1) / rank);
            const double b =
                static_cast<double>(best[i].logit) - static_cast<double>(best[i + 1].logit);
            products += t * b;
            squares += t * t;
        }
        return squares > 0 ? products / squares : 1.0;
    }

    // At an exponent of 1 the quotient becomes its limit, the logarithm. Where all are equal, or
    // nothing finite comes out, all are kept or the best one is.
    [[nodiscard]] uint32_t num_kept(double exponent) const {
        if (!(exponent > 0)) return static_cast<uint32_t>(num_vocab_);
        const double excess = exponent - 1;
        const double divisor = std::abs(excess) < 1e-9
                                   ? std::log(num_vocab_)
                                   : (1 - std::pow(num_vocab_, -excess)) / excess;
        const double count = std::pow(std::exp2(mu()) / divisor, 1 / exponent);
        if (std::isnan(count)) return 1;
        return static_cast<uint32_t>(std::clamp(count, 1.0, num_vocab_));
    }

    double num_vocab_;
};

/// The second form: tokens of a surprise above mu are dropped.
class MirostatV2 : public Mirostat {
  public:
    using Mirostat::Mirostat;

    void apply(Candidates& candidates) override {
        const Candidates::Weights weights = candidates.weigh();
        // -log2(exp(logit - max) / sum) <= mu
        const double farthest = mu() * std::numbers::ln2 - std::log(weights.sum);
        if (farthest < 0) {
            candidates.keep_best(1);
            return;
        }
        const auto best = static_cast<double>(weights.max_logit);
        candidates.keep_if([&](size_t i) {
            return best - static_cast<double>(candidates.logit_at(i)) <= farthest;
        });
    }
};

}  // namespace

std::unique_ptr<ChainStep> make_mirostat(float tau, float eta, uint32_t num_vocab) {
    return std::make_unique<MirostatV1>(tau, eta, num_vocab);
}

std::unique_ptr<ChainStep> make_mirostat_v2(float tau, float eta) {
    return std::make_unique<MirostatV2>(tau, eta);
}

}  // namespace hokku
