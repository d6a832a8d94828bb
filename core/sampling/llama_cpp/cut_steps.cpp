// SPDX-License-Identifier: Apache-2.0
// The elements that drop candidates: top_k, top_p, min_p, typical, top_n_sigma and xtc.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "sampling/llama_cpp/random_numbers.h"
#include "sampling/llama_cpp/step.h"

namespace hokku::llama_cpp {
namespace {

class TopKStep final : public Step {
  public:
    explicit TopKStep(size_t count) : count_(count) {}
    void apply(TokenArray& array) override { array.keep_best(std::min(count_, array.size())); }

  private:
    size_t count_;
};

class TopPStep final : public Step {
  public:
    TopPStep(const TopP& element, const StepContext& context) : element_(element) {
        best_.reserve(context.num_vocab);
    }

    // Of many candidates the best 256 are tried before all of them are sorted.
    void apply(TokenArray& array) override {
        constexpr size_t kMany = 1024, kFirstTry = 256;
        array.softmax(false);
        if (!array.is_sorted() && array.size() > kMany) {
            array.best(kFirstTry, best_);
            size_t num_kept = num_kept_of(std::span(best_).first(kFirstTry));
            if (num_kept == 0) {
                array.best(array.size(), best_);
                num_kept = num_kept_of(best_);
            }
            if (num_kept == 0) num_kept = best_.size();
            array.assign(std::span(best_).first(num_kept), true);
            return;
        }
        array.sort();
        const size_t num_kept = num_kept_of(array.tokens());
        if (num_kept > 0) array.keep_first(num_kept);
    }

  private:
    /// 0 where these are too few.
    [[nodiscard]] size_t num_kept_of(std::span<const TokenData> tokens) const {
        float sum = 0;
        for (size_t i = 0; i < tokens.size(); ++i) {
            sum += tokens[i].p;
            if (sum >= element_.p && i + 1 >= element_.min_keep) return i + 1;
        }
        return 0;
    }

    TopP element_;
    std::vector<TokenData> best_;
};

class MinPStep final : public Step {
  public:
    MinPStep(const MinP& element, const StepContext& context)
        : log_share_(std::log(element.p)), min_keep_(element.min_keep) {
        kept_.reserve(context.num_vocab);
    }

    void apply(TokenArray& array) override {
        if (!array.is_sorted() && keep_unsorted(array)) return;
        array.sort();
        const auto tokens = array.tokens();
        const float threshold = tokens[0].logit + log_share_;
        size_t count = 1;
        while (count < tokens.size() && !(tokens[count].logit < threshold && count >= min_keep_)) {
            ++count;
        }
        array.keep_first(count);
    }

  private:
    bool keep_unsorted(TokenArray& array) {
        float maximum = -std::numeric_limits<float>::max();
        for (const TokenData& token : array.tokens()) maximum = std::max(maximum, token.logit);
        const float threshold = maximum + log_share_;
        kept_.clear();
        for (const TokenData& token : array.tokens())
            if (token.logit >= threshold) kept_.push_back(token);
        if (kept_.empty() || kept_.size() < min_keep_) return false;
        array.assign(kept_, false);
        return true;
    }

    float log_share_;
    size_t min_keep_;
    std::vector<TokenData> kept_;
};

/// Source : Meister et al. 2022, arXiv:2202.00666.
class TypicalStep final : public Step {
  public:
    TypicalStep(const Typical& element, const StepContext& context) : element_(element) {
        distances_.reserve(context.num_vocab);
        order_.reserve(context.num_vocab);
        kept_.reserve(context.num_vocab);
    }

    // Where a probability has become 0, the entropy and all distances are NaN, as there; equal to
    // each other, then, which is still an order.
    void apply(TokenArray& array) override {
        array.softmax(true);
        const auto tokens = array.tokens();
        float entropy = 0;
        for (const TokenData& token : tokens) entropy += -token.p * std::log(token.p);
        distances_.clear();
        for (const TokenData& token : tokens)
            distances_.push_back(std::abs(-std::log(token.p) - entropy));
        order_.resize(tokens.size());
        std::iota(order_.begin(), order_.end(), size_t{0});
        std::sort(order_.begin(), order_.end(),
                  [&](size_t a, size_t b) { return distances_[a] < distances_[b]; });
        kept_.clear();
        float sum = 0;
        for (const size_t index : order_) {
            sum += tokens[index].p;
            kept_.push_back(tokens[index]);
            if (sum > element_.p && kept_.size() >= element_.min_keep) break;
        }
        array.assign(kept_, false);
    }

  private:
    Typical element_;
    std::vector<float> distances_;
    std::vector<size_t> order_;
    std::vector<TokenData> kept_;
};

/// Source : Tang et al. 2024, arXiv:2411.07641. The others stay, with a logit of -inf.
class TopNSigmaStep final : public Step {
  public:
    explicit TopNSigmaStep(float n) : n_(n) {}

    void apply(TokenArray& array) override {
        if (array.size() <= 1) return;
        constexpr float kForbidden = -std::numeric_limits<float>::infinity();
        const auto tokens = array.tokens();
        float maximum = tokens[0].logit, sum = 0;
        size_t count = 0;
        for (const TokenData& token : tokens) {
            if (token.logit == kForbidden) continue;
            maximum = std::max(maximum, token.logit);
            sum += token.logit;
            ++count;
        }
        const float mean = count > 0 ? sum / static_cast<float>(count) : 0;
        float squares = 0;
        for (const TokenData& token : tokens) {
            if (token.logit == kForbidden) continue;
            const auto difference = static_cast<double>(token.logit - mean);
            squares = static_cast<float>(static_cast<double>(squares) + difference * difference);
        }
        const float sigma = count > 0 ? std::sqrt(squares / static_cast<float>(count)) : 0;
        for (TokenData& token : tokens)
            if (token.logit < maximum - n_ * sigma) token.logit = kForbidden;
    }

  private:
    float n_;
};

/// Drops all but the least likely of the tokens above a threshold, with a probability.
class XtcStep final : public Step {
  public:
    XtcStep(const Xtc& element, const StepContext& context)
        : element_(element), random_(context.seed, 0) {}

    void apply(TokenArray& array) override {
        if (array.size() < 2) return;
        if (random_.next_float() > element_.probability) return;
        array.softmax(true);
        size_t last = 0;
        const auto tokens = array.tokens();
        for (size_t i = 0; i < tokens.size() && tokens[i].p >= element_.threshold; ++i) last = i;
        if (array.size() - last >= element_.min_keep && last > 0) array.drop_first(last);
    }

  private:
    Xtc element_;
    RandomNumbers random_;
};

}  // namespace

std::unique_ptr<Step> make_step(const TopK& element, const StepContext&) {
    if (element.k <= 0) return nullptr;
    return std::make_unique<TopKStep>(static_cast<size_t>(element.k));
}

std::unique_ptr<Step> make_step(const TopP& element, const StepContext& context) {
    if (element.p >= 1.0f) return nullptr;
    return std::make_unique<TopPStep>(element, context);
}

std::unique_ptr<Step> make_step(const MinP& element, const StepContext& context) {
    if (element.p <= 0.0f) return nullptr;
    return std::make_unique<MinPStep>(element, context);
}

std::unique_ptr<Step> make_step(const Typical& element, const StepContext& context) {
    if (element.p >= 1.0f) return nullptr;
    return std::make_unique<TypicalStep>(element, context);
}

std::unique_ptr<Step> make_step(const TopNSigma& element, const StepContext&) {
    if (element.n <= 0.0f) return nullptr;
    return std::make_unique<TopNSigmaStep>(element.n);
}

std::unique_ptr<Step> make_step(const Xtc& element, const StepContext& context) {
    if (element.probability <= 0.0f || element.threshold > 0.5f) return nullptr;
    return std::make_unique<XtcStep>(element, context);
}

}  // namespace hokku::llama_cpp
