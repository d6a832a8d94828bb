// SPDX-License-Identifier: Apache-2.0
// TokenTrie: the bytes of all text tokens of a vocabulary as one prefix tree, so that tokens with
// the same beginning are judged together.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "hokku/constraint.h"

namespace hokku::constraint {

/// Nodes lie in preorder: the children of node i begin at i + 1, and its subtree ends before `end`.
struct TrieNode {
    uint32_t end = 0;
    uint32_t first_token = 0;  ///< Of the tokens that end here; they go to the next node's.
    uint16_t depth = 0;        ///< Bytes from the root to here.
    uint16_t max_depth = 0;    ///< Of the longest token below.
    uint8_t byte = 0;          ///< That leads here from the parent.
};

/// Threads: immutable; safe from any thread.
class TokenTrie {
  public:
    /// Longer tokens cannot be generated under a constraint.
    static constexpr size_t kMaxTokenBytes = 4096;

    TokenTrie(const Tokenizer& tokenizer, std::span<const TokenId> end_tokens);

    /// The root comes first, a sentinel last.
    [[nodiscard]] std::span<const TrieNode> nodes() const { return nodes_; }
    [[nodiscard]] uint32_t end() const { return nodes_.front().end; }
    [[nodiscard]] std::span<const TokenId> tokens(uint32_t node) const {
        return std::span(order_).subspan(
            nodes_[node].first_token,
            nodes_[node + size_t{1}].first_token - nodes_[node].first_token);
    }
    [[nodiscard]] uint32_t max_depth() const { return nodes_.front().max_depth; }
    /// Empty for a token that no text gives.
    [[nodiscard]] std::string_view bytes(TokenId id) const {
        const auto i = static_cast<size_t>(id);
        return std::string_view(bytes_).substr(offsets_[i], offsets_[i + 1] - offsets_[i]);
    }
    /// Every token with bytes.
    [[nodiscard]] const TokenMask& text_tokens() const { return text_tokens_; }
    [[nodiscard]] const std::vector<TokenId>& end_tokens() const { return end_tokens_; }

  private:
    void build();
    std::string bytes_;
    std::vector<size_t> offsets_;
    TokenMask text_tokens_;
    std::vector<TokenId> end_tokens_;  ///< Those that end a generation, ascending.
    std::vector<TokenId> order_;
    std::vector<TrieNode> nodes_;
};

}  // namespace hokku::constraint
