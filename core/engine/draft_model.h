// SPDX-License-Identifier: Apache-2.0
// DraftModel: a small model that guesses what a larger one will say next. It has a backend and a KV
// pool of its own, with one text in it, and finds out by itself which part of that is still true.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/guess_budget.h"
#include "engine/loaded_model.h"
#include "hokku/result.h"
#include "hokku/tokenizer.h"

namespace hokku {

/// Whether ids mean the same to both models: as far as both have them, tokens have the same text,
/// and the special ones are the same.
/// Errors : unsupported naming the first that differs.
Result<void> check_draft_vocabulary(const Tokenizer& draft, const Tokenizer& model);

/// Threads: the inference thread only. No allocation after creation, but for growth.
/// Source : Leviathan et al. 2023, arXiv:2211.17192; here a guess is kept only if it is the token
///          that the model's own sampler draws, so that a seed gives the same text.
class DraftModel {
  public:
    /// Both must outlive it.
    DraftModel(LoadedModel& draft, const LoadedModel& model);

    /// What guessing would bring now. Call once for each step that may guess.
    [[nodiscard]] GuessOffer offer(size_t most, const StepTimes& times);
    /// Writes guesses of what follows prompt and tail to the front of `out`, as many as are offered
    /// or fewer. Returns how many. What the draft has not seen of the text is evaluated first.
    size_t guess(std::span<const TokenId> prompt, std::span<const TokenId> tail,
                 const GuessOffer& offer, const StepTimes& times, std::span<TokenId> out,
                 const std::stop_token& stop);
    /// The token at the place of a guess that was evaluated has come; all before it were right.
    void note_guess(size_t index, bool was_right);
    /// To a longer context, if there is memory; else texts beyond the old one have no guesses.
    void grow(uint32_t context_tokens);

  private:
    bool follow(std::span<const TokenId> prompt, std::span<const TokenId> tail);
    Result<std::span<const float>> evaluate(const std::stop_token& stop);

    LoadedModel& draft_;
    bool is_timed_;
    size_t num_vocab_;  ///< Ids that both models have.
    DraftBudget budget_;
    bool has_failed_ = false;  ///< Once; it is not asked again.
    size_t num_stored_ = 0;    ///< Tokens in front of tokens_ whose KV is stored.
    std::vector<TokenId> tokens_;
    std::vector<uint32_t> blocks_;  ///< All there are, in order.
    std::array<float, kMostGuesses> margins_{};
};

}  // namespace hokku
