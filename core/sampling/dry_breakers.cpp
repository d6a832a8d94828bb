// SPDX-License-Identifier: Apache-2.0
#include "sampling/dry_breakers.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace hokku {
namespace {

constexpr size_t kMostTailTokens = 20;

class BreakerFinder {
  public:
    BreakerFinder(std::string_view text, const Tokenizer& tokenizer)
        : text_(text), tokenizer_(tokenizer) {}

    void visit(TokenId id, std::string_view word, std::vector<std::vector<TokenId>>& out) {
        if (word.find(text_) != std::string_view::npos) {
            out.push_back({id});
            return;
        }
        std::vector<std::vector<TokenId>> found;
        const size_t longest = std::min(text_.size() - 1, word.size());
        for (size_t length = longest; length > 0; --length) {
            if (!word.ends_with(text_.substr(0, length))) continue;
            std::vector<TokenId> sequence{id};
            const std::vector<TokenId>& tail = tail_from(length);
            sequence.insert(sequence.end(), tail.begin(), tail.end());
            if (std::find(found.begin(), found.end(), sequence) == found.end())
                found.push_back(std::move(sequence));
        }
        std::move(found.begin(), found.end(), std::back_inserter(out));
    }

  private:
    const std::vector<TokenId>& tail_from(size_t start) {
        const auto [entry, is_new] = tails_.try_emplace(start);
        if (is_new) {
            auto tokens = tokenizer_.encode(text_.substr(start), {});
            if (tokens.ok()) entry->second = std::move(tokens).value();
            if (entry->second.size() > kMostTailTokens) entry->second.resize(kMostTailTokens);
        }
        return entry->second;
    }

    std::string_view text_;
    const Tokenizer& tokenizer_;
    std::map<size_t, std::vector<TokenId>> tails_;
};

}  // namespace

std::vector<std::vector<TokenId>> find_dry_breakers(std::span<const std::string> texts,
                                                    const Tokenizer& tokenizer) {
    std::vector<std::vector<TokenId>> breakers;
    std::vector<BreakerFinder> finders;
    for (const std::string& text : texts)
        if (!text.empty()) finders.emplace_back(text, tokenizer);
    std::string word;
    for (size_t i = 0; i < tokenizer.num_tokens(); ++i) {
        const auto id = static_cast<TokenId>(i);
        word.clear();
        tokenizer.append_token_bytes(id, true, word);
        if (word.empty()) continue;
        for (BreakerFinder& finder : finders) finder.visit(id, word, breakers);
    }
    return breakers;
}

}  // namespace hokku
