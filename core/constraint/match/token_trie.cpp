// SPDX-License-Identifier: Apache-2.0
#include "constraint/match/token_trie.h"

#include <algorithm>
#include <string>

namespace hokku::constraint {

TokenTrie::TokenTrie(const Tokenizer& tokenizer, std::span<const TokenId> end_tokens)
    : offsets_(tokenizer.num_tokens() + 1, 0), text_tokens_(tokenizer.num_tokens()) {
    const size_t num_tokens = tokenizer.num_tokens();
    for (const TokenId id : end_tokens)
        if (id >= 0 && static_cast<size_t>(id) < num_tokens) end_tokens_.push_back(id);
    std::sort(end_tokens_.begin(), end_tokens_.end());
    for (size_t i = 0; i < num_tokens; ++i) {
        const auto id = static_cast<TokenId>(i);
        const TokenKind kind = tokenizer.kind(id);
        const bool is_text =
            kind == TokenKind::normal || kind == TokenKind::byte || kind == TokenKind::user_defined;
        if (is_text && !std::binary_search(end_tokens_.begin(), end_tokens_.end(), id)) {
            const std::string bytes = tokenizer.token_bytes(id, false);
            if (!bytes.empty() && bytes.size() <= kMaxTokenBytes) {
                bytes_ += bytes;
                text_tokens_.set(i);
                order_.push_back(id);
            }
        }
        offsets_[i + 1] = bytes_.size();
    }
    std::sort(order_.begin(), order_.end(), [this](TokenId a, TokenId b) {
        const int order = bytes(a).compare(bytes(b));
        return order != 0 ? order < 0 : a < b;
    });
    build();
}

void TokenTrie::build() {
    nodes_.push_back({});
    std::vector<uint32_t> path{0};  // The nodes from the root to the token before.
    const auto close_below = [&](size_t depth) {
        while (path.size() > depth + 1) {
            TrieNode& node = nodes_[path.back()];
            node.end = static_cast<uint32_t>(nodes_.size());
            path.pop_back();
            TrieNode& parent = nodes_[path.back()];
            parent.max_depth = std::max(parent.max_depth, node.max_depth);
        }
    };
    std::string_view before;
    for (size_t i = 0; i < order_.size(); ++i) {
        const std::string_view text = bytes(order_[i]);
        const auto differs = std::mismatch(before.begin(), before.end(), text.begin(), text.end());
        const auto shared = static_cast<size_t>(differs.second - text.begin());
        close_below(shared);
        for (size_t depth = shared; depth < text.size(); ++depth) {
            TrieNode node;
            node.first_token = static_cast<uint32_t>(i);
            node.depth = node.max_depth = static_cast<uint16_t>(depth + 1);
            node.byte = static_cast<uint8_t>(text[depth]);
            path.push_back(static_cast<uint32_t>(nodes_.size()));
            nodes_.push_back(node);
        }
        before = text;
    }
    close_below(0);
    nodes_.front().end = static_cast<uint32_t>(nodes_.size());
    TrieNode sentinel;
    sentinel.first_token = static_cast<uint32_t>(order_.size());
    nodes_.push_back(sentinel);
}

}  // namespace hokku::constraint
