// SPDX-License-Identifier: Apache-2.0
#include "constraint/grammar/char_set.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace hokku::constraint {

namespace {

constexpr char32_t kBeforeSurrogates = 0xD7FF, kAfterSurrogates = 0xE000;

/// Appends the part of a range that consists of scalar values.
void add_scalars(std::vector<CharRange>& out, CharRange range) {
    range.last = std::min(range.last, kMaxCodePoint);
    if (range.first > range.last) return;
    if (range.first <= kBeforeSurrogates)
        out.push_back({range.first, std::min(range.last, kBeforeSurrogates)});
    if (range.last >= kAfterSurrogates)
        out.push_back({std::max(range.first, kAfterSurrogates), range.last});
}

/// True when no scalar value lies between the two.
bool touches(char32_t last, char32_t next) {
    return next <= last + 1 || (last == kBeforeSurrogates && next == kAfterSurrogates);
}

}  // namespace

CharSet::CharSet(std::vector<CharRange> ranges) {
    std::vector<CharRange> scalars;
    for (const CharRange& range : ranges) add_scalars(scalars, range);
    std::sort(scalars.begin(), scalars.end(),
              [](const CharRange& a, const CharRange& b) { return a.first < b.first; });
    // Merged across the gap of the surrogates too, then cut there again.
    std::vector<CharRange> merged;
    for (const CharRange& range : scalars) {
        if (!merged.empty() && touches(merged.back().last, range.first)) {
            merged.back().last = std::max(merged.back().last, range.last);
        } else {
            merged.push_back(range);
        }
    }
    for (const CharRange& range : merged) add_scalars(ranges_, range);
}

CharSet CharSet::all() {
    return CharSet({{0, kMaxCodePoint}});
}

CharSet CharSet::of(std::string_view text) {
    std::vector<CharRange> ranges;
    for (size_t pos = 0; pos < text.size();) {
        const Utf8Char c = decode_utf8(text, pos);
        ranges.push_back({c.code_point, c.code_point});
        pos += c.num_bytes;
    }
    return CharSet(std::move(ranges));
}

bool CharSet::contains(char32_t c) const {
    const auto after = std::upper_bound(
        ranges_.begin(), ranges_.end(), c,
        [](char32_t value, const CharRange& range) { return value < range.first; });
    return after != ranges_.begin() && c <= std::prev(after)->last;
}

CharSet CharSet::united(const CharSet& other) const {
    std::vector<CharRange> ranges = ranges_;
    ranges.insert(ranges.end(), other.ranges_.begin(), other.ranges_.end());
    return CharSet(std::move(ranges));
}

CharSet CharSet::intersected(const CharSet& other) const {
    std::vector<CharRange> common;
    auto a = ranges_.begin();
    auto b = other.ranges_.begin();
    while (a != ranges_.end() && b != other.ranges_.end()) {
        const CharRange range{std::max(a->first, b->first), std::min(a->last, b->last)};
        if (range.first <= range.last) common.push_back(range);
        (a->last < b->last) ? ++a : ++b;
    }
    return CharSet(std::move(common));
}

CharSet CharSet::complement() const {
    std::vector<CharRange> gaps;
    char32_t next = 0;
    for (const CharRange& range : ranges_) {
        if (range.first > next) gaps.push_back({next, range.first - 1});
        next = range.last + 1;
    }
    if (next <= kMaxCodePoint) gaps.push_back({next, kMaxCodePoint});
    return CharSet(std::move(gaps));
}

}  // namespace hokku::constraint
