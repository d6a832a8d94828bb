// SPDX-License-Identifier: Apache-2.0
#include "engine/prompt_lookup.h"

#include <algorithm>

namespace hokku {

void PromptLookup::reset(std::span<const TokenId> tokens, size_t capacity) {
    tokens_.reserve(std::max(capacity, tokens.size()));
    tokens_.assign(tokens.begin(), tokens.end());
}

Guess PromptLookup::guess(std::span<TokenId> out) const {
    const size_t size = tokens_.size();
    if (size <= kShortestMatch || out.empty()) return {};
    const TokenId last = tokens_[size - 1];
    size_t best_length = 0, best_next = 0;
    for (size_t end = size - 1; end > 0 && best_length < kLongestMatch; --end) {
        if (tokens_[end - 1] != last) continue;
        const size_t longest = std::min(kLongestMatch, end);
        size_t length = 1;
        while (length < longest && tokens_[end - 1 - length] == tokens_[size - 1 - length])
            ++length;
        if (length <= best_length) continue;
        best_length = length;
        best_next = end;
    }
    if (best_length < kShortestMatch) return {};
    const size_t period = size - best_next;
    for (size_t i = 0; i < out.size(); ++i)
        out[i] = i < period ? tokens_[best_next + i] : out[i - period];
    return {out.size(), best_length};
}

}  // namespace hokku
