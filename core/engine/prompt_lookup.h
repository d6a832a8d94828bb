// SPDX-License-Identifier: Apache-2.0
// PromptLookup: guesses the tokens that come next from what followed the same tokens before, for
// texts that repeat their prompt or themselves: edits, summaries, code.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "hokku/tokenizer.h"

namespace hokku {

/// What was guessed, and from how much.
struct Guess {
    size_t num_tokens = 0;    ///< Of those that were asked for.
    size_t match_length = 0;  ///< Tokens at the end that were found before, at most kLongestMatch.
};

/// Threads : one at a time.
/// Cost    : guess() reads all tokens once, about 10 us for 32,000. push() does not allocate up to
///           the capacity given.
/// Source  : the idea, Saxena, "Prompt Lookup Decoding" (2023).
class PromptLookup {
  public:
    static constexpr size_t kShortestMatch = 2, kLongestMatch = 8;

    void reset(std::span<const TokenId> tokens, size_t capacity);
    void push(TokenId token) { tokens_.push_back(token); }
    /// Fills the front of `out` with what followed the last place where the longest end of the
    /// tokens occurred; a text that repeats itself is taken to go on repeating.
    Guess guess(std::span<TokenId> out) const;

  private:
    std::vector<TokenId> tokens_;
};

/// Says how many tokens are worth guessing, from how often guesses were right and from what steps
/// of so many rows took. The text does not depend on it: only tokens that would have been drawn
/// anyway are kept.
class GuessBudget {
  public:
    static constexpr size_t kMostGuesses = 7;

    /// How many of the tokens guessed from a match of this length to evaluate, at most `most`.
    [[nodiscard]] size_t worth(size_t match_length, size_t most) const;
    /// A guessed token has come, or another one, whether it was evaluated or not.
    void note_guess(size_t match_length, bool was_right);
    /// A step of a single sequence, of this many rows.
    void note_step(size_t num_rows, double seconds);

  private:
    [[nodiscard]] double step_seconds(size_t num_rows) const;

    static constexpr size_t kKinds = 4;  ///< Matches of 2, 3, 4 and more tokens.
    static size_t kind_of(size_t match_length);
    std::array<double, kKinds> right_{0.5, 0.5, 0.5, 0.5};
    std::array<double, kMostGuesses + 2> seconds_{};  ///< By rows; 0: not measured.
};

}  // namespace hokku
