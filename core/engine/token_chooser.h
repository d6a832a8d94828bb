// SPDX-License-Identifier: Apache-2.0
// TokenChooser: the next token of one generation: the constraints say which ones may come, the
// sampler chooses among them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model_session.h"
#include "hokku/constraint.h"
#include "hokku/engine.h"
#include "sampling/sampler.h"

namespace hokku {

/// Words that must occur are left to the model as long as there is time. When it would end its turn
/// without them, or when just enough tokens are left, it may write nothing but them.
///
/// Threads: the inference thread only. No allocation after creation where there is no constraint.
class TokenChooser {
  public:
    /// Errors : those of the sampling options and of the constraints.
    static Result<TokenChooser> create(const GenerationRequest& request, ModelSession& session);

    /// Tells the sampler of a token of the prompt.
    void accept_prompt(TokenId token) { sampler_.accept(token); }
    /// Chooses and goes on by that token. `num_left`: how many more there may be, this one too.
    /// `is_free`: it is part of a thought or the like, which the constraints do not hold for.
    ///
    /// Errors : those of the sampler and of the constraints; bad_argument when no token is allowed;
    ///          limit_exceeded when required words no longer fit.
    Result<TokenId> choose(std::span<const float> logits, size_t num_left, bool is_free = false);

    /// Tokens that the required words take which are still missing; 0: none are.
    [[nodiscard]] size_t num_needed() const;

    [[nodiscard]] uint64_t seed() const { return sampler_.seed(); }
    /// The text is complete and nothing can follow.
    [[nodiscard]] bool is_finished() const;
    /// The text may end here, or has ended.
    [[nodiscard]] bool meets_constraints() const;

  private:
    explicit TokenChooser(Sampler sampler) : sampler_(std::move(sampler)) {}
    Result<TokenId> choose_allowed(std::span<const float> logits, size_t num_left);
    Result<void> insist_on_words(std::span<const float> logits, size_t num_left);
    bool allow_only(std::span<const TokenId> tokens);
    Result<TokenId> sample_and_accept();

    Sampler sampler_;
    std::unique_ptr<Constraint> constraint_;                  ///< Null when there is none.
    std::shared_ptr<const ConstraintVocabulary> vocabulary_;  // shared by all constraints
    std::optional<TokenMask> mask_;
    std::vector<float> logits_;  ///< [num_vocab], -inf where not allowed.
    std::string rest_;           ///< Of the words that are being insisted on.
    bool has_insisted_ = false;  ///< The last token was the end of them.
    bool has_ended_ = false;
};

}  // namespace hokku
