// SPDX-License-Identifier: Apache-2.0
#include "base/hash64.h"

#include <bit>
#include <cstring>

namespace hokku {

namespace {

// Odd numbers with bits of no pattern: the fractions of the golden ratio and of square roots.
constexpr uint64_t kFactor = 0x9e3779b97f4a7c15u;
constexpr uint64_t kStart[4] = {0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu,
                                0xa54ff53a5f1d36f1u};

uint64_t add_word(uint64_t state, uint64_t word) {
    const uint64_t product = (state + word) * kFactor;
    return product ^ (product >> 29);
}

uint64_t load_word(const std::byte* bytes, size_t count) {
    uint64_t word = 0;
    std::memcpy(&word, bytes, count);
    return word;
}

uint64_t scramble(uint64_t x) {
    x = (x ^ (x >> 32)) * kFactor;
    x = (x ^ (x >> 29)) * kFactor;
    return x ^ (x >> 32);
}

}  // namespace

uint64_t hash64(std::span<const std::byte> bytes, uint64_t seed) {
    static_assert(std::endian::native == std::endian::little);
    uint64_t lanes[4];
    for (size_t i = 0; i < 4; ++i) lanes[i] = kStart[i] ^ seed;
    const std::byte* at = bytes.data();
    size_t left = bytes.size();
    for (; left >= 32; left -= 32, at += 32) {
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; ++i) lanes[i] = add_word(lanes[i], load_word(at + 8 * i, 8));
    }
    for (size_t i = 0; left > 0; ++i) {
        const size_t count = left < 8 ? left : 8;
        lanes[i] = add_word(lanes[i], load_word(at, count));
        at += count;
        left -= count;
    }
    uint64_t hash = scramble(bytes.size() + seed);
    for (const uint64_t lane : lanes) hash = scramble(add_word(hash, lane));
    return hash;
}

}  // namespace hokku
