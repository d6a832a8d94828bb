// SPDX-License-Identifier: Apache-2.0
#include "base/checked_math.h"

#include "support/catch.h"

using hokku::checked_add;
using hokku::checked_mul;
using hokku::checked_pad;

namespace {
constexpr uint64_t kMax = 0xFFFF'FFFF'FFFF'FFFF;
}

TEST_CASE("checked_add: overflow gives nothing, the last number that fits is kept",
          "[base][quick]") {
    CHECK(checked_add(kMax - 1, 1) == kMax);
    CHECK(checked_add(0, kMax) == kMax);
    CHECK_FALSE(checked_add(kMax, 1).has_value());
    CHECK_FALSE(checked_add(kMax, kMax).has_value());
}

TEST_CASE("checked_mul: overflow gives nothing, zero never overflows", "[base][quick]") {
    CHECK(checked_mul(0, kMax) == 0);
    CHECK(checked_mul(kMax, 0) == 0);
    CHECK(checked_mul(uint64_t{1} << 32, (uint64_t{1} << 32) - 1) == kMax - 0xFFFF'FFFF);
    CHECK(checked_mul(kMax, 1) == kMax);
    // Recipes of published attacks: 2^62 * 4 and 2^61 * 8 wrap to 0.
    CHECK_FALSE(checked_mul(uint64_t{1} << 62, 4).has_value());
    CHECK_FALSE(checked_mul(uint64_t{1} << 61, 8).has_value());
}

TEST_CASE("checked_pad: the next multiple, or nothing past the last one", "[base][quick]") {
    CHECK(checked_pad(0, 32) == 0);
    CHECK(checked_pad(1, 32) == 32);
    CHECK(checked_pad(32, 32) == 32);
    CHECK(checked_pad(7, 1) == 7);
    CHECK(checked_pad(kMax - 31, 32) == kMax - 31);
    CHECK_FALSE(checked_pad(kMax, 32).has_value());
    CHECK_FALSE(checked_pad(kMax - 30, 32).has_value());
}
