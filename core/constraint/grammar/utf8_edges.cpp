// SPDX-License-Identifier: Apache-2.0
#include "constraint/grammar/utf8_edges.h"

#include <algorithm>

namespace hokku::constraint {

namespace {

/// Last code point of each length. Source: Unicode 15, table 3-6.
constexpr std::array<char32_t, 4> kLastOfLength{0x7F, 0x7FF, 0xFFFF, 0x10FFFF};

std::array<uint8_t, 4> encode(char32_t c, uint32_t length) {
    constexpr std::array<uint8_t, 5> kLead{0, 0, 0xC0, 0xE0, 0xF0};
    std::array<uint8_t, 4> bytes{};
    for (uint32_t i = length; i-- > 0;) {
        bytes[i] = static_cast<uint8_t>(i == 0 ? (kLead[length] | c) : (0x80u | (c & 0x3Fu)));
        c >>= 6;
    }
    return bytes;
}

}  // namespace

std::vector<ByteSequence> utf8_sequences(const CharSet& set) {
    std::vector<ByteSequence> sequences;
    std::vector<CharRange> todo(set.ranges().rbegin(), set.ranges().rend());
    while (!todo.empty()) {
        const CharRange range = todo.back();
        todo.pop_back();
        const auto longest =
            std::lower_bound(kLastOfLength.begin(), kLastOfLength.end(), range.first);
        const auto length = static_cast<uint32_t>(longest - kLastOfLength.begin()) + 1;
        // Cut where the length changes, and where the bytes behind a differing one do not run
        // through all their values.
        char32_t cut = std::min(range.last, *longest);
        for (uint32_t i = 1; i < length; ++i) {
            const char32_t low = (char32_t{1} << (6 * i)) - 1;
            if ((range.first & ~low) == (cut & ~low)) break;
            if ((range.first & low) != 0) {
                cut = range.first | low;
                break;
            }
            if ((cut & low) != low) cut = (cut & ~low) - 1;
        }
        if (cut < range.last) todo.push_back({cut + 1, range.last});
        const auto first = encode(range.first, length);
        const auto last = encode(cut, length);
        ByteSequence sequence;
        sequence.length = length;
        for (uint32_t i = 0; i < length; ++i) sequence.bytes[i] = {first[i], last[i]};
        sequences.push_back(sequence);
    }
    return sequences;
}

}  // namespace hokku::constraint
