// SPDX-License-Identifier: Apache-2.0
// PromptLookup: guesses the tokens that come next from what followed the same tokens before, for
// texts that repeat their prompt or themselves: edits, summaries, code.
#pragma once

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

}  // namespace hokku
