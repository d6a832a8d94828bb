// SPDX-License-Identifier: Apache-2.0
// The elements that pick a token: greedy, dist, mirostat and mirostat_v2.
#include <algorithm>
#include <cmath>

#include "sampling/llama_cpp/random_numbers.h"
#include "sampling/llama_cpp/step.h"

namespace hokku::llama_cpp {
namespace {

class GreedyStep final : public Step {
  public:
    void apply(TokenArray& array) override {
        const auto tokens = array.tokens();
        size_t best = 0;
        for (size_t i = 1; i < tokens.size(); ++i)
            if (tokens[i].logit > tokens[best].logit) best = i;
        array.selected = static_cast<ptrdiff_t>(best);
    }
};

class DistStep final : public Step {
  public:
    explicit DistStep(const StepContext& context) : random_(context.seed, 0) {}

    // The first token at which the sum reaches the drawn share of the total. A single token is
    // taken without drawing.
    void apply(TokenArray& array) override {
        const auto tokens = array.tokens();
        const float maximum = array.max_logit();
        double total = 0;
        for (TokenData& token : tokens) {
            token.p = std::exp(token.logit - maximum);
            total += static_cast<double>(token.p);
        }
        const double target = total * random_.next_double();
        array.selected = static_cast<ptrdiff_t>(tokens.size()) - 1;
        double sum = 0;
        for (size_t i = 0; i < tokens.size(); ++i) {
            sum += static_cast<double>(tokens[i].p);
            if (sum >= target) {
                array.selected = static_cast<ptrdiff_t>(i);
                break;
            }
        }
    }

  private:
    RandomNumbers random_;
};

/// Keeps the surprise of the text near tau; mu is the limit that follows from it.
///
/// Source : Basu et al. 2020, arXiv:2007.14966.
class MirostatBase : public Step {
  public:
    MirostatBase(float tau, float eta, const StepContext& context)
        : tau_(tau), eta_(eta), mu_(2.0f * tau), random_(context.seed, context.num_vocab) {}

  protected:
    [[nodiscard]] float mu() const { return mu_; }
    void draw(TokenArray& array) {
        array.softmax(true);
        const size_t chosen = random_.next_index(array.tokens());
        array.selected = static_cast<ptrdiff_t>(chosen);
        const float surprise = -std::log2(array.tokens()[chosen].p);
        mu_ = mu_ - eta_ * (surprise - tau_);
    }

  private:
    float tau_, eta_, mu_;
    RandomNumbers random_;
};

class MirostatStep final : public MirostatBase {
  public:
    MirostatStep(const Mirostat& element, const StepContext& context)
        : MirostatBase(element.tau, element.eta, context),
          num_fitted_(static_cast<size_t>(static_cast<ptrdiff_t>(element.m) - 1)),
          num_vocab_(static_cast<float>(context.num_vocab)) {}

    void apply(TokenArray& array) override {
        array.softmax(true);
        const float exponent = fit_exponent(array.tokens());
        const float excess = exponent - 1;
        const float count = std::pow(
            (excess * std::pow(2.0f, mu())) / (1 - std::pow(num_vocab_, -excess)), 1 / exponent);
        array.keep_best(std::min(static_cast<size_t>(std::max(to_int(count), 1)), array.size()));
        draw(array);
    }

  private:
    /// The exponent of Zipf's law, from the most likely tokens.
    [[nodiscard]] float fit_exponent(std::span<const TokenData> tokens) const {
        float sum_products = 0, sum_squares = 0;
        for (size_t i = 0; i < num_fitted_ && i + 1 < tokens.size(); ++i) {
            const float t = std::log(static_cast<float>(i + 2) / static_cast<float>(i + 1));
            const float b = std::log(tokens[i].p / tokens[i + 1].p);
            sum_products += t * b;
            sum_squares += t * t;
        }
        return sum_products / sum_squares;
    }

    size_t num_fitted_;  ///< m - 1; the largest number for m = 0, as there.
    float num_vocab_;
};

class MirostatV2Step final : public MirostatBase {
  public:
    MirostatV2Step(const MirostatV2& element, const StepContext& context)
        : MirostatBase(element.tau, element.eta, context) {}

    void apply(TokenArray& array) override {
        array.softmax(true);
        const auto tokens = array.tokens();
        const auto end = std::find_if(tokens.begin(), tokens.end(), [&](const TokenData& token) {
            return -std::log2(token.p) > mu();
        });
        array.keep_first(std::max<size_t>(static_cast<size_t>(end - tokens.begin()), 1));
        draw(array);
    }
};

}  // namespace

std::unique_ptr<Step> make_step(const Greedy&, const StepContext&) {
    return std::make_unique<GreedyStep>();
}

std::unique_ptr<Step> make_step(const Dist&, const StepContext& context) {
    return std::make_unique<DistStep>(context);
}

std::unique_ptr<Step> make_step(const Mirostat& element, const StepContext& context) {
    return std::make_unique<MirostatStep>(element, context);
}

std::unique_ptr<Step> make_step(const MirostatV2& element, const StepContext& context) {
    return std::make_unique<MirostatV2Step>(element, context);
}

}  // namespace hokku::llama_cpp
