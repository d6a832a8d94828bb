// SPDX-License-Identifier: Apache-2.0
// A set of characters as sequences of byte ranges: what one step over a character of that set is
// in UTF-8.
#pragma once

#include <array>
#include <vector>

#include "constraint/grammar/char_set.h"

namespace hokku::constraint {

struct ByteRange {
    uint8_t first = 0, last = 0;
    bool operator==(const ByteRange&) const = default;
};

struct ByteSequence {
    std::array<ByteRange, 4> bytes;
    uint32_t length = 0;
};

/// Ascending. At each place two sequences with the same beginning have ranges that are equal or
/// disjoint.
std::vector<ByteSequence> utf8_sequences(const CharSet& set);

}  // namespace hokku::constraint
