// SPDX-License-Identifier: Apache-2.0
// DryRepeats: which tokens would go on with a repetition of the recent text, and how long it would
// be: the basis of the DRY sampler ("don't repeat yourself").
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "hokku/tokenizer.h"

namespace hokku {

struct DryOptions {
    float multiplier = 0.0f, base = 1.75f;
    int32_t allowed_length = 2;  ///< Repetitions shorter than this cost nothing.
    uint32_t window = 0;         ///< Tokens looked back on.
    uint32_t num_vocab = 0;
};

/// Threads: one thread at a time. No allocation after construction.
/// Source : p-e-w, oobabooga/text-generation-webui pull request 5677; the rules for sequence
///          breakers and the largest exponent as in koboldcpp and llama.cpp.
class DryRepeats {
  public:
    /// `breakers`: token sequences across which no repetition reaches; of a single token: it is
    /// never penalised either. Ids are not checked; others than those of the vocabulary never
    /// occur.
    DryRepeats(const DryOptions& options, std::span<const std::vector<TokenId>> breakers);

    /// Needs 0 <= token < num_vocab.
    void accept(TokenId token);
    /// Looks for repetitions at the end of the text; false: there can be none.
    ///
    /// Cost   : linear in the window.
    bool find();
    /// multiplier * base ^ (length - allowed_length) of a token that would lengthen a repetition,
    /// else 0. As of the last find().
    [[nodiscard]] float penalty(TokenId token) const;
    /// Tokens that may have a penalty other than 0.
    [[nodiscard]] std::span<const TokenId> found() const { return found_; }

  private:
    void reverse_window();
    [[nodiscard]] uint32_t unbroken_length() const;
    void match_ends();

    DryOptions options_;
    int32_t max_exponent_ = 0;
    std::unordered_multimap<TokenId, std::vector<TokenId>> tails_;  ///< Of breakers, by head.
    std::vector<TokenId> window_;                                   ///< A ring.
    std::vector<TokenId> text_;      ///< The window, last token first.
    std::vector<uint32_t> lengths_;  ///< [i]: how far the text before i equals the end.
    std::vector<int32_t> repeats_;   ///< [num_vocab], kNone or the longest repetition.
    std::vector<TokenId> found_;     ///< Ids with an entry in repeats_.
    std::vector<bool> is_breaker_;   ///< [num_vocab]
    uint64_t num_accepted_ = 0;
};

}  // namespace hokku
