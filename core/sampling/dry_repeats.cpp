// SPDX-License-Identifier: Apache-2.0
#include "sampling/dry_repeats.h"

#include <algorithm>
#include <cmath>

namespace hokku {
namespace {

constexpr int32_t kNone = -1;
/// About the logarithm of the largest float32: a power beyond it would overflow.
constexpr float kLargestLog = 88.7228391f;

}  // namespace

DryRepeats::DryRepeats(const DryOptions& options, std::span<const std::vector<TokenId>> breakers)
    : options_(options),
      window_(options.window),
      repeats_(options.num_vocab, kNone),
      is_breaker_(options.num_vocab, false) {
    text_.reserve(options.window);
    lengths_.reserve(options.window);
    found_.reserve(options.window);
    if (options.base > 1.000001f)
        max_exponent_ = static_cast<int32_t>(kLargestLog / std::log(options.base));
    for (const std::vector<TokenId>& breaker : breakers) {
        if (breaker.empty()) continue;
        tails_.emplace(breaker.front(), std::vector(breaker.begin() + 1, breaker.end()));
        const auto head = static_cast<size_t>(breaker.front());
        if (breaker.size() == 1 && head < is_breaker_.size()) is_breaker_[head] = true;
    }
}

void DryRepeats::accept(TokenId token) {
    if (window_.empty()) return;
    window_[static_cast<size_t>(num_accepted_ % window_.size())] = token;
    ++num_accepted_;
}

void DryRepeats::reverse_window() {
    const uint64_t count = std::min<uint64_t>(num_accepted_, window_.size());
    text_.clear();
    for (uint64_t back = 1; back <= count; ++back)
        text_.push_back(window_[static_cast<size_t>((num_accepted_ - back) % window_.size())]);
}

// The latest breaker limits how far back a repetition may reach. Of several that begin with the
// same token the longest counts.
uint32_t DryRepeats::unbroken_length() const {
    for (size_t i = 0; i < text_.size(); ++i) {
        ptrdiff_t longest = -1;
        const auto [begin, end] = tails_.equal_range(text_[i]);
        for (auto entry = begin; entry != end; ++entry) {
            const std::vector<TokenId>& tail = entry->second;
            const auto length = static_cast<ptrdiff_t>(tail.size());
            if (length <= longest || tail.size() > i) continue;
            // The tail follows in the text, which runs backwards here.
            const auto head = text_.rbegin() + static_cast<ptrdiff_t>(text_.size() - i);
            if (std::equal(tail.begin(), tail.end(), head)) longest = length;
        }
        if (longest >= 0) return static_cast<uint32_t>(i - static_cast<size_t>(longest));
    }
    return static_cast<uint32_t>(text_.size());
}

// The Z function of the reversed text.
//
// Source : Gusfield 1997, Algorithms on Strings, Trees and Sequences, section 1.4.
void DryRepeats::match_ends() {
    const size_t count = text_.size();
    lengths_.assign(count, 0);
    size_t start = 0, end = 0;  // the match that reaches furthest
    for (size_t i = 1; i < count; ++i) {
        size_t length = 0;
        if (i < end) length = std::min<size_t>(end - i, lengths_[i - start]);
        while (i + length < count && text_[length] == text_[i + length]) ++length;
        lengths_[i] = static_cast<uint32_t>(length);
        if (i + length > end) {
            start = i;
            end = i + length;
        }
    }
}

bool DryRepeats::find() {
    for (const TokenId id : found_) repeats_[static_cast<size_t>(id)] = kNone;
    found_.clear();
    reverse_window();
    if (static_cast<int64_t>(text_.size()) <= options_.allowed_length) return false;
    const uint32_t limit = unbroken_length();
    if (static_cast<int64_t>(limit) < options_.allowed_length) return false;
    match_ends();
    // The token after each earlier place that matches the end would lengthen the repetition.
    for (size_t i = 1; i < text_.size(); ++i) {
        const auto length = static_cast<int32_t>(std::min(lengths_[i], limit));
        if (length < options_.allowed_length) continue;
        int32_t& longest = repeats_[static_cast<size_t>(text_[i - 1])];
        if (longest == kNone) found_.push_back(text_[i - 1]);
        longest = std::max(longest, length);
    }
    return true;
}

float DryRepeats::penalty(TokenId token) const {
    const auto id = static_cast<size_t>(token);
    if (repeats_[id] == kNone || is_breaker_[id]) return 0.0f;
    int64_t exponent = int64_t{repeats_[id]} - options_.allowed_length;
    if (max_exponent_ > 0) exponent = std::min<int64_t>(exponent, max_exponent_);
    return static_cast<float>(
        static_cast<double>(options_.multiplier) *
        std::pow(static_cast<double>(options_.base), static_cast<double>(exponent)));
}

}  // namespace hokku
