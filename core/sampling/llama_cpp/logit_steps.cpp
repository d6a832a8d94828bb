// SPDX-License-Identifier: Apache-2.0
// The elements that change logits: temp, temp_ext, penalties, dry and logit_bias.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sampling/dry_repeats.h"
#include "sampling/llama_cpp/step.h"

namespace hokku::llama_cpp {
namespace {

// At 0 or less only the first of the best keeps its logit.
void divide_logits(std::span<TokenData> tokens, float temperature) {
    if (temperature > 0.0f) {
        for (TokenData& token : tokens) token.logit /= temperature;
        return;
    }
    constexpr float kForbidden = -std::numeric_limits<float>::infinity();
    size_t best = 0;
    for (size_t i = 1; i < tokens.size(); ++i)
        if (tokens[i].logit > tokens[best].logit) best = i;
    for (size_t i = 0; i < tokens.size(); ++i)
        if (i != best) tokens[i].logit = kForbidden;
}

class TempStep final : public Step {
  public:
    explicit TempStep(float temperature) : temperature_(temperature) {}
    void apply(TokenArray& array) override { divide_logits(array.tokens(), temperature_); }

  private:
    float temperature_;
};

class TempExtStep final : public Step {
  public:
    explicit TempExtStep(const TempExt& element) : element_(element) {}

    void apply(TokenArray& array) override {
        if (array.size() <= 1) return;
        const float lowest = std::max(0.0f, element_.temperature - element_.range);
        const float highest = element_.temperature + element_.range;
        const float most_entropy = -std::log(1.0f / static_cast<float>(array.size()));
        array.softmax(true);
        float entropy = 0;
        for (const TokenData& token : array.tokens())
            if (token.p > 0.0f) entropy -= token.p * std::log(token.p);
        const float share = std::pow(entropy / most_entropy, element_.exponent);
        divide_logits(array.tokens(), lowest + (highest - lowest) * share);
    }

  private:
    TempExt element_;
};

class PenaltiesStep final : public Step {
  public:
    PenaltiesStep(const Penalties& element, const StepContext& context)
        : element_(element),
          counts_(context.num_vocab, 0),
          window_(std::clamp<uint32_t>(context.max_history, 1,
                                       static_cast<uint32_t>(element.last_n))) {}

    void accept(TokenId token) override {
        TokenId& oldest = window_[num_accepted_ % window_.size()];
        if (num_accepted_ >= window_.size()) --counts_[static_cast<size_t>(oldest)];
        oldest = token;
        ++counts_[static_cast<size_t>(token)];
        ++num_accepted_;
    }

    void apply(TokenArray& array) override {
        for (TokenData& token : array.tokens()) {
            const uint32_t count = counts_[static_cast<size_t>(token.id)];
            if (count == 0) continue;
            if (token.logit <= 0) {
                token.logit *= element_.repeat;
            } else {
                token.logit /= element_.repeat;
            }
            token.logit -= static_cast<float>(count) * element_.frequency + element_.presence;
        }
        array.mark_unsorted();
    }

  private:
    Penalties element_;
    std::vector<uint32_t> counts_;  ///< [num_vocab], within the window.
    std::vector<TokenId> window_;   ///< A ring.
    size_t num_accepted_ = 0;
};

class DryStep final : public Step {
  public:
    DryStep(const Dry& element, const StepContext& context)
        : repeats_({.multiplier = element.multiplier,
                    .base = element.base,
                    .allowed_length = element.allowed_length,
                    .window = std::min(context.max_history, static_cast<uint32_t>(element.last_n)),
                    .num_vocab = context.num_vocab},
                   element.breakers) {}

    void accept(TokenId token) override { repeats_.accept(token); }

    void apply(TokenArray& array) override {
        if (!repeats_.find()) return;
        for (TokenData& token : array.tokens()) token.logit -= repeats_.penalty(token.id);
        array.mark_unsorted();
    }

  private:
    DryRepeats repeats_;
};

class LogitBiasStep final : public Step {
  public:
    explicit LogitBiasStep(const LogitBias& element) : bias_(element.bias) {
        rest_.reserve(bias_.size());
    }

    // A token that is still at its place in the vocabulary gets every bias given for it; of those
    // for another token only the first one counts. Nothing is marked as unsorted, as there.
    void apply(TokenArray& array) override {
        const auto tokens = array.tokens();
        rest_.clear();
        for (const auto& [id, value] : bias_) {
            const auto place = static_cast<size_t>(id);
            if (place < tokens.size() && tokens[place].id == id) {
                tokens[place].logit += value;
            } else {
                rest_.emplace_back(id, value);
            }
        }
        if (rest_.empty()) return;
        for (TokenData& token : tokens) {
            const auto found = std::find_if(rest_.begin(), rest_.end(), [&](const auto& entry) {
                return entry.first == token.id;
            });
            if (found != rest_.end()) token.logit += found->second;
        }
    }

  private:
    std::vector<std::pair<TokenId, float>> bias_, rest_;
};

}  // namespace

std::unique_ptr<Step> make_step(const Temp& element, const StepContext&) {
    if (element.temperature == 1.0f) return nullptr;
    return std::make_unique<TempStep>(element.temperature);
}

std::unique_ptr<Step> make_step(const TempExt& element, const StepContext& context) {
    if (element.range <= 0.0f) return make_step(Temp{element.temperature}, context);
    return std::make_unique<TempExtStep>(element);
}

std::unique_ptr<Step> make_step(const Penalties& element, const StepContext& context) {
    if (element.last_n <= 0) return nullptr;
    if (element.repeat == 1.0f && element.frequency == 0.0f && element.presence == 0.0f)
        return nullptr;
    return std::make_unique<PenaltiesStep>(element, context);
}

std::unique_ptr<Step> make_step(const Dry& element, const StepContext& context) {
    if (element.multiplier == 0.0f || element.base < 1.0f || element.last_n <= 0) return nullptr;
    return std::make_unique<DryStep>(element, context);
}

std::unique_ptr<Step> make_step(const LogitBias& element, const StepContext&) {
    if (element.bias.empty()) return nullptr;
    return std::make_unique<LogitBiasStep>(element);
}

}  // namespace hokku::llama_cpp
