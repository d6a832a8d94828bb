// SPDX-License-Identifier: Apache-2.0
// TokenChooser: the next token of one generation: the constraints say which ones may come, the
// sampler chooses among them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model_session.h"
#include "engine/reply_reader.h"
#include "hokku/constraint.h"
#include "hokku/engine.h"
#include "sampling/sampler.h"

namespace hokku {

/// Words that must occur are left to the model as long as there is time. When it would end its turn
/// without them, or when just enough tokens are left, it may write nothing but them.
///
/// Thoughts and calls are free of the constraints. A thought may open where nothing of the answer
/// has been said; no token may both end it and begin the answer, which would go unseen.
///
/// Threads: the inference thread only. No allocation after creation where there is no constraint.
class TokenChooser {
  public:
    /// Errors : those of the sampling options and of the constraints.
    static Result<TokenChooser> create(const GenerationRequest& request, ModelSession& session);

    /// Tells the sampler of a token of the prompt.
    void accept_prompt(TokenId token) { sampler_.accept(token); }
    /// Chooses and goes on by that token. `num_left`: how many more there may be, this one too.
    ///
    /// Errors : those of the sampler and of the constraints; bad_argument when the constraints
    /// leave
    ///          no token, saying which of them do not agree; limit_exceeded when required words no
    ///          longer fit.
    Result<TokenId> choose(std::span<const float> logits, size_t num_left,
                           const ReplyReader* reply = nullptr);

    /// Tokens that the required words take which are still missing; 0: none are.
    [[nodiscard]] size_t num_needed() const;

    [[nodiscard]] uint64_t seed() const { return sampler_.seed(); }
    /// The text is complete and nothing can follow.
    [[nodiscard]] bool is_finished() const;
    /// The text may end here, or has ended.
    [[nodiscard]] bool meets_constraints() const;
    /// This text has the form: for one that was cut within what was drawn. What cannot be followed
    /// has none.
    [[nodiscard]] bool has_form(std::string_view text);

  private:
    explicit TokenChooser(Sampler sampler) : sampler_(std::move(sampler)) {}
    Result<TokenId> choose_free(std::span<const float> logits, const ReplyReader& reply);
    Result<TokenId> choose_allowed(std::span<const float> logits, size_t num_left,
                                   std::string_view opening);
    Result<TokenId> choose_from_mask(std::span<const float> logits, size_t num_left);
    Result<void> allow_opening(std::string_view marker);
    [[nodiscard]] bool is_opening(TokenId token) const;
    Result<void> insist_on_words(std::span<const float> logits, size_t num_left);
    bool allow_only(std::span<const TokenId> tokens);
    Result<TokenId> sample_and_accept(size_t num_left);
    /// Whether the text can go on after the token that was just accepted, or end.
    [[nodiscard]] bool is_dead_end(TokenId token) const;
    [[nodiscard]] bool is_too_late(TokenId token, size_t num_left) const;
    [[nodiscard]] Error too_late(std::string_view missing, size_t num_left) const;
    Result<void> drop_dead_ends(size_t num_left);
    [[nodiscard]] Error contradiction() const;

    Sampler sampler_;
    std::unique_ptr<Constraint> constraint_;                  ///< Null when there is none.
    std::shared_ptr<const ConstraintVocabulary> vocabulary_;  // shared by all constraints
    std::optional<TokenMask> mask_;
    std::vector<float> logits_;  ///< [num_vocab], -inf where not allowed.
    std::string rest_;           ///< Of the words that are being insisted on.
    bool has_insisted_ = false;  ///< The last token was the end of them.
    bool has_ended_ = false;
    /// Tokens of the marker that opens a thought, where the constraint does not allow them.
    std::vector<TokenId> opening_;
    bool is_at_start_ = false;      ///< What was drawn so far may be, or has been, such a marker.
    bool is_only_opening_ = false;  ///< It can be nothing else.
    size_t num_parts_ = 0;          ///< Of the constraint.
    std::string names_;             ///< Of these, for errors.
};

}  // namespace hokku
