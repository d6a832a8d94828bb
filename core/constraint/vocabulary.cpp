// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "constraint/match/token_trie.h"
#include "hokku/constraint.h"

namespace hokku {

size_t TokenMask::count() const {
    size_t sum = 0;
    for (const uint64_t word : words_) sum += static_cast<size_t>(std::popcount(word));
    return sum;
}

ConstraintVocabulary::ConstraintVocabulary(std::shared_ptr<const Tokenizer> tokenizer,
                                           std::unique_ptr<const constraint::TokenTrie> trie)
    : tokenizer_(std::move(tokenizer)), trie_(std::move(trie)) {}

ConstraintVocabulary::~ConstraintVocabulary() = default;

Result<std::shared_ptr<const ConstraintVocabulary>> ConstraintVocabulary::create(
    std::shared_ptr<const Tokenizer> tokenizer, std::optional<std::vector<TokenId>> end_tokens) {
    constexpr size_t kMaxTokens = size_t{1} << 24;
    if (tokenizer == nullptr || tokenizer->num_tokens() == 0 ||
        tokenizer->num_tokens() > kMaxTokens)
        return Error{ErrorCode::bad_argument, "a constraint needs a vocabulary", "",
                     "a tokenizer with 1 to 16777216 tokens"};
    auto trie = std::make_unique<const constraint::TokenTrie>(
        *tokenizer, end_tokens ? *end_tokens : tokenizer->special().end_of_generation);
    return std::shared_ptr<const ConstraintVocabulary>(
        new ConstraintVocabulary(std::move(tokenizer), std::move(trie)));
}

bool ConstraintVocabulary::ends_generation(TokenId id) const {
    const auto& ends = trie_->end_tokens();
    return std::binary_search(ends.begin(), ends.end(), id);
}

std::vector<TokenId> ConstraintVocabulary::beginnings(std::string_view text) const {
    const auto nodes = trie_->nodes();
    std::vector<TokenId> found;
    uint32_t node = 0;
    for (const char c : text) {
        uint32_t child = node + 1;
        while (child < nodes[node].end && nodes[child].byte != static_cast<uint8_t>(c))
            child = nodes[child].end;
        if (child >= nodes[node].end) break;
        node = child;
        const auto here = trie_->tokens(node);
        found.insert(found.end(), here.begin(), here.end());
    }
    return found;
}

}  // namespace hokku
