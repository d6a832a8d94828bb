// SPDX-License-Identifier: Apache-2.0
// Sampler: chooses the next token from the logits by the chain that SamplingOptions describe:
// logit bias, the steps in their order, then a seeded draw or, at temperature 0, the best token.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hokku/llama_sampling.h"
#include "hokku/result.h"
#include "hokku/sampling.h"
#include "hokku/tokenizer.h"
#include "sampling/candidates.h"
#include "sampling/chain_step.h"
#include "sampling/random.h"

namespace hokku {

/// Errors : bad_argument naming the option, its value and what is allowed.
Result<void> validate_sampling(const SamplingOptions& options, uint32_t num_vocab);

/// Threads: one thread at a time. No allocation after creation.
class Sampler {
  public:
    /// `max_history` is the most tokens that the text can have (for windows of -1). The tokenizer
    /// is needed for the breakers of DRY alone, and only here.
    static Result<Sampler> create(const SamplingOptions& options, uint32_t num_vocab,
                                  uint32_t max_history, const Tokenizer* tokenizer = nullptr);

    /// Tells the chain of a token of the text, in order: the prompt, then each one drawn.
    void accept(TokenId token);
    /// Draws. Does not accept what it has drawn.
    /// Errors : numeric when a logit is NaN or +inf or all are -inf; bad_argument when only the
    ///          logit bias forbids all.
    Result<TokenId> sample(std::span<const float> logits);

    [[nodiscard]] uint64_t seed() const { return seed_; }
    /// Of all logits so many best ones decide, and the first of equals; 0: all of them do.
    [[nodiscard]] uint32_t num_best() const { return num_best_; }
    /// Tokens that the last draw could have given.
    [[nodiscard]] uint32_t num_candidates() const {
        return llama_ ? llama_->num_candidates() : candidates_.size();
    }

  private:
    Sampler(const SamplingOptions& options, uint32_t num_vocab, uint64_t seed);

    Candidates candidates_;
    std::vector<std::pair<int32_t, float>> logit_bias_;
    std::vector<std::unique_ptr<ChainStep>> chain_;
    bool is_greedy_;
    uint32_t num_best_ = 0;
    uint64_t seed_;
    RandomSource random_;
    std::optional<llama_cpp::Chain> llama_;  ///< Instead of all that, in llama.cpp's mode.
};

}  // namespace hokku
