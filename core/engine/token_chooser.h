// SPDX-License-Identifier: Apache-2.0
// TokenChooser: the next token of one generation: the constraints say which ones may come, the
// sampler chooses among them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
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
/// Thoughts and calls are free of the constraints. They may open where nothing of the answer has
/// been said; no token may both end one and begin the answer, which would go unseen. A reply that
/// has made calls may end without an answer. When text turns out not to be answer, the constraints
/// go back to the answer as it is.
///
/// Threads: the inference thread only. No allocation after creation where there is no constraint.
class TokenChooser {
  public:
    /// Errors : those of the sampling options and of the constraints.
    static Result<TokenChooser> create(const GenerationRequest& request, ModelSession& session,
                                       std::stop_token stop = {});

    /// Tells the sampler of a token of the prompt.
    void accept_prompt(TokenId token) { sampler_.accept(token); }
    /// Chooses and goes on by that token. `num_left`: how many more there may be, this one too.
    ///
    /// Errors : those of the sampler and of the constraints; bad_argument when the constraints
    ///          leave no token, saying which of them do not agree; limit_exceeded when required
    ///          words no longer fit; cancelled.
    Result<TokenId> choose(std::span<const float> logits, size_t num_left,
                           const ReplyReader* reply = nullptr);

    /// Tokens that the required words take which are still missing; 0: none are.
    [[nodiscard]] size_t num_needed() const;

    /// As Sampler::num_best().
    [[nodiscard]] uint32_t num_best() const { return constraint_ ? 0 : sampler_.num_best(); }
    [[nodiscard]] uint64_t seed() const { return sampler_.seed(); }
    /// The answer is complete and nothing can follow.
    [[nodiscard]] bool is_finished(const ReplyReader& reply);
    /// The text of the result has the form, or there are calls and no text. What cannot be followed
    /// has no form. `is_cut`: within what was drawn.
    [[nodiscard]] bool meets_constraints(const GenerationResult& result, bool is_cut);

  private:
    explicit TokenChooser(Sampler sampler) : sampler_(std::move(sampler)) {}
    Result<TokenId> choose_free(std::span<const float> logits, const ReplyReader& reply);
    Result<TokenId> choose_allowed(std::span<const float> logits, size_t num_left,
                                   const ReplyReader* reply);
    Result<TokenId> choose_from_mask(std::span<const float> logits, size_t num_left);
    Result<void> follow(const ReplyReader& reply);
    Result<void> follow_text(std::string_view text);
    Result<void> allow_beside(const ReplyReader& reply);
    Result<void> allow_opening(std::string_view marker);
    void allow_too(TokenId token);
    [[nodiscard]] bool is_beside(TokenId token) const;
    [[nodiscard]] bool follows_exactly(std::string_view text) const;
    [[nodiscard]] size_t num_longest_tokens(std::string_view text) const;
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
    /// Tokens that the constraint does not allow but what is beside the answer does: of the markers
    /// of thoughts and calls, and the end behind calls.
    std::vector<TokenId> beside_;
    bool is_only_opening_ = false;   ///< What was drawn last can be nothing but such a marker.
    std::vector<TokenId> followed_;  ///< What the constraint has accepted.
    uint32_t num_departures_ = 0;    ///< Of the reply, when the constraint was brought in line.
    bool was_free_ = false;          ///< Tokens were drawn since then that it has not seen.
    size_t num_parts_ = 0;           ///< Of the constraint.
    std::string names_;              ///< Of these, for errors.
    std::stop_token stop_;
    struct Count {
        std::string text;
        size_t num_tokens = 0;
    };
    /// What was counted last: the same text is asked about for many tokens.
    mutable std::array<Count, 4> counts_;
    mutable size_t next_count_ = 0;
};

}  // namespace hokku
