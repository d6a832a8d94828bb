// SPDX-License-Identifier: Apache-2.0
#include "base/hash64.h"

#include <chrono>
#include <set>
#include <vector>

#include "support/catch.h"

using hokku::hash64;

namespace {

std::vector<std::byte> some_bytes(size_t size) {
    std::vector<std::byte> bytes(size);
    uint32_t state = 1;
    for (std::byte& byte : bytes) {
        state = state * 1664525u + 1013904223u;
        byte = static_cast<std::byte>(state >> 24);
    }
    return bytes;
}

}  // namespace

TEST_CASE("hash64: every flipped bit, every length and every seed gives another value",
          "[base][quick]") {
    std::set<uint64_t> seen;
    size_t num_hashed = 0;
    for (size_t size = 0; size <= 130; ++size) {
        std::vector<std::byte> bytes = some_bytes(size);
        seen.insert(hash64(bytes));
        seen.insert(hash64(bytes, 1));
        num_hashed += 2;
        for (size_t bit = 0; bit < 8 * size; ++bit) {
            const std::byte mask{static_cast<uint8_t>(1u << bit % 8)};
            bytes[bit / 8] ^= mask;
            seen.insert(hash64(bytes));
            bytes[bit / 8] ^= mask;
            ++num_hashed;
        }
    }
    CHECK(seen.size() == num_hashed);
}

TEST_CASE("hash64: zeros of any length, words moved and words swapped are told apart",
          "[base][quick]") {
    std::set<uint64_t> seen;
    for (size_t size = 0; size <= 1000; ++size)
        seen.insert(hash64(std::vector<std::byte>(size, std::byte{0})));
    CHECK(seen.size() == 1001);
    for (size_t place = 0; place < 256; ++place) {
        std::vector<std::byte> bytes(256, std::byte{0});
        bytes[place] = std::byte{1};
        seen.insert(hash64(bytes));
    }
    CHECK(seen.size() == 1001 + 256);
}

TEST_CASE("hash64: the values in files written so far", "[base][quick]") {
    // Of a second implementation, in Python with numbers of any length.
    struct Known {
        size_t size;
        uint64_t seed, hash;
    };
    for (const Known& known : {Known{0, 0, 0x4cbf561a8d4904f6},
                               {0, 1, 0x98abfedf7f1d35b9},
                               {1, 0, 0x4fa5d02e2a470914},
                               {7, 0, 0x837cbee737eb2cb7},
                               {8, 0, 0x9a76bc3fe343731},
                               {31, 0, 0x37d2774751fa3f99},
                               {32, 0, 0x4ea99a04163d1479},
                               {33, 7, 0xdc66f9770737cad3},
                               {64, 0, 0xa4ec7bc204021114},
                               {100, UINT64_MAX, 0xdb9b1172e6a3c237},
                               {1000, 0, 0xf38b5b1fbb3e475c}}) {
        CAPTURE(known.size, known.seed);
        CHECK(hash64(some_bytes(known.size), known.seed) == known.hash);
    }
}

TEST_CASE("hash64: alignment does not matter", "[base][quick]") {
    const std::vector<std::byte> bytes = some_bytes(200);
    for (size_t shift = 0; shift < 32; ++shift) {
        std::vector<std::byte> moved(shift, std::byte{7});
        moved.insert(moved.end(), bytes.begin(), bytes.end());
        CHECK(hash64(std::span(moved).subspan(shift)) == hash64(bytes));
    }
}
