// SPDX-License-Identifier: Apache-2.0
#include "sampling/llama_cpp/token_array.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace hokku::llama_cpp {
namespace {

constexpr auto has_higher_logit = [](const TokenData& a, const TokenData& b) {
    return a.logit > b.logit;
};

// llama.cpp sorts more than 128 tokens by way of 128 buckets over the logits from -10 to 10.
constexpr size_t kMostSortedAtOnce = 128;
constexpr size_t kNumBuckets = 128;
constexpr float kLowest = -10.0f, kHighest = 10.0f;
constexpr float kBucketsPerUnit = static_cast<float>(kNumBuckets) / (kHighest - kLowest);

}  // namespace

int to_int(float value) {
    constexpr float kLimit = 2147483648.0f;
    return value >= -kLimit && value < kLimit ? static_cast<int>(value)
                                              : std::numeric_limits<int>::min();
}

TokenArray::TokenArray(size_t num_vocab) : storage_(num_vocab) {
    sorted_.reserve(num_vocab);
    buckets_.reserve(num_vocab);
}

void TokenArray::reset(std::span<const float> logits) {
    tokens_ = std::span(storage_).first(logits.size());
    for (size_t i = 0; i < logits.size(); ++i)
        tokens_[i] = {static_cast<TokenId>(i), logits[i], 0.0f};
    is_sorted_ = false;
    selected = kNone;
}

bool TokenArray::has_nan() const {
    return std::any_of(tokens_.begin(), tokens_.end(),
                       [](const TokenData& token) { return std::isnan(token.logit); });
}

void TokenArray::sort() {
    if (!is_sorted_) keep_best(size());
}

// Buckets from high to low logits until there are enough tokens; each is sorted by itself, the last
// one only as far as needed.
void TokenArray::best(size_t count, std::vector<TokenData>& out) {
    std::array<size_t, kNumBuckets> sizes{}, next{};
    buckets_.clear();
    for (const TokenData& token : tokens_) {
        const int bucket =
            std::clamp(to_int(kBucketsPerUnit * token.logit - kLowest * kBucketsPerUnit), 0,
                       static_cast<int>(kNumBuckets) - 1);
        buckets_.push_back(bucket);
        ++sizes[static_cast<size_t>(bucket)];
    }
    size_t last = kNumBuckets - 1, num_taken = sizes[last];
    while (num_taken < count && last > 0) num_taken += sizes[--last];
    out.resize(num_taken);
    for (size_t bucket = kNumBuckets, start = 0; bucket-- > last; start += sizes[bucket])
        next[bucket] = start;
    for (size_t i = 0; i < tokens_.size(); ++i)
        if (const auto bucket = static_cast<size_t>(buckets_[i]); bucket >= last)
            out[next[bucket]++] = tokens_[i];
    auto from = out.begin();
    for (size_t bucket = kNumBuckets - 1; bucket > last; --bucket) {
        const auto end = from + static_cast<ptrdiff_t>(sizes[bucket]);
        std::sort(from, end, has_higher_logit);
        from = end;
    }
    std::partial_sort(from, out.begin() + static_cast<ptrdiff_t>(count), out.end(),
                      has_higher_logit);
}

void TokenArray::keep_best(size_t count) {
    if (is_sorted_) {
        keep_first(count);
        return;
    }
    if (count <= kMostSortedAtOnce) {
        std::partial_sort(tokens_.begin(), tokens_.begin() + static_cast<ptrdiff_t>(count),
                          tokens_.end(), has_higher_logit);
    } else {
        best(count, sorted_);
        std::copy_n(sorted_.begin(), count, tokens_.begin());
    }
    keep_first(count);
    is_sorted_ = true;
}

void TokenArray::assign(std::span<const TokenData> tokens, bool is_sorted) {
    std::copy(tokens.begin(), tokens.end(), tokens_.begin());
    keep_first(tokens.size());
    is_sorted_ = is_sorted;
}

float TokenArray::max_logit() const {
    float best = tokens_.front().logit;
    if (is_sorted_) return best;
    for (const TokenData& token : tokens_) best = std::max(best, token.logit);
    return best;
}

void TokenArray::softmax(bool sorted) {
    if (sorted) sort();
    const float maximum = max_logit();
    float sum = 0;
    for (TokenData& token : tokens_) {
        token.p = std::exp(token.logit - maximum);
        sum += token.p;
    }
    for (TokenData& token : tokens_) token.p /= sum;
}

}  // namespace hokku::llama_cpp
