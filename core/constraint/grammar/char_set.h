// SPDX-License-Identifier: Apache-2.0
// CharSet: a set of Unicode characters (scalar values; never surrogates), as sorted ranges.
#pragma once

#include <string_view>
#include <vector>

namespace hokku::constraint {

inline constexpr char32_t kMaxCodePoint = 0x10FFFF;

/// Both ends belong to the range.
struct CharRange {
    char32_t first = 0, last = 0;
    bool operator==(const CharRange&) const = default;
};

/// Invariant: the ranges are ascending, neither touch nor overlap, and hold no surrogates.
class CharSet {
  public:
    CharSet() = default;
    /// Any ranges in any order; what is no scalar value is left out.
    explicit CharSet(std::vector<CharRange> ranges);
    static CharSet all();
    static CharSet one(char32_t c) { return CharSet({{c, c}}); }
    /// The characters of a valid UTF-8 text.
    static CharSet of(std::string_view text);

    [[nodiscard]] bool empty() const { return ranges_.empty(); }
    [[nodiscard]] bool contains(char32_t c) const;
    [[nodiscard]] const std::vector<CharRange>& ranges() const { return ranges_; }

    [[nodiscard]] CharSet united(const CharSet& other) const;
    [[nodiscard]] CharSet intersected(const CharSet& other) const;
    [[nodiscard]] CharSet complement() const;
    [[nodiscard]] CharSet without(const CharSet& other) const {
        return intersected(other.complement());
    }
    bool operator==(const CharSet&) const = default;

  private:
    std::vector<CharRange> ranges_;
};

}  // namespace hokku::constraint
