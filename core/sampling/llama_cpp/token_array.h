// SPDX-License-Identifier: Apache-2.0
// TokenArray: the candidates of a llama.cpp chain, with what its samplers do to them: sort, cut and
// weigh. Order matters here, also among equals, as the draw adds up probabilities in it; so the
// sorts are the same algorithms of the standard library over the same sequences.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "hokku/tokenizer.h"

namespace hokku::llama_cpp {

struct TokenData {
    TokenId id = 0;
    float logit = 0, p = 0;  ///< p is what the last softmax() made of the logit.
};

/// Threads: one thread at a time. No allocation after construction.
class TokenArray {
  public:
    static constexpr ptrdiff_t kNone = -1;

    explicit TokenArray(size_t num_vocab);

    void reset(std::span<const float> logits);
    [[nodiscard]] std::span<TokenData> tokens() { return tokens_; }
    [[nodiscard]] size_t size() const { return tokens_.size(); }
    [[nodiscard]] bool is_sorted() const { return is_sorted_; }
    void mark_unsorted() { is_sorted_ = false; }
    [[nodiscard]] bool has_nan() const;

    /// Sorts by falling logits, unless marked as sorted already.
    void sort();
    /// Fills `out` with the `count` best of tokens(), sorted; their p goes with them.
    void best(size_t count, std::vector<TokenData>& out);
    /// Keeps the `count` best, sorted: the first ones where marked as sorted.
    void keep_best(size_t count);
    /// Keeps the first `count`.
    void keep_first(size_t count) { tokens_ = tokens_.first(count); }
    void drop_first(size_t count) { tokens_ = tokens_.subspan(count); }
    /// Replaces the tokens.
    void assign(std::span<const TokenData> tokens, bool is_sorted);

    [[nodiscard]] float max_logit() const;
    /// Sets p of each token, in float32 as there. `sorted`: sorts first.
    void softmax(bool sorted);

    /// From the start of the array, wherever drop_first() has moved the start of tokens().
    [[nodiscard]] TokenData at_unmoved(size_t index) const { return storage_[index]; }

    ptrdiff_t selected = kNone;  ///< Index of the picked token.

  private:
    std::vector<TokenData> storage_;
    std::span<TokenData> tokens_;
    std::vector<TokenData> sorted_;  ///< Scratch of keep_best.
    std::vector<int> buckets_;       ///< Scratch of best.
    bool is_sorted_ = false;
};

/// As the conversions of x86-64: what does not fit becomes the smallest number.
int to_int(float value);

}  // namespace hokku::llama_cpp
