// SPDX-License-Identifier: Apache-2.0
#include "backend/half.h"

#include <cmath>
#include <limits>

#include "support/catch.h"

using hokku::float_to_half;
using hokku::half_to_float;

TEST_CASE("float_to_half: every half comes back as it was", "[backend][quick]") {
    size_t num_wrong = 0;
    for (uint32_t half = 0; half <= 0xffff; ++half) {
        const float value = half_to_float(static_cast<uint16_t>(half));
        const uint16_t back = float_to_half(value);
        const bool is_same = std::isnan(value) ? std::isnan(half_to_float(back)) : back == half;
        if (!is_same) ++num_wrong;
    }
    CHECK(num_wrong == 0);
}

TEST_CASE("float_to_half: what lies between two halves goes to the nearer, ties to the even one",
          "[backend][quick]") {
    size_t num_wrong = 0;
    for (uint16_t half = 0; half < 0x7bff; ++half) {
        const float low = half_to_float(half);
        const auto next = static_cast<uint16_t>(half + 1);
        const float middle = 0.5f * (low + half_to_float(next));  // exact: one bit more than a half
        const uint16_t even = half % 2 == 0 ? half : next;
        if (float_to_half(middle) != even) ++num_wrong;
        if (float_to_half(std::nextafter(middle, 0.0f)) != half) ++num_wrong;
        if (float_to_half(std::nextafter(middle, 1e9f)) != next) ++num_wrong;
        if (float_to_half(-middle) != (even | 0x8000)) ++num_wrong;
    }
    CHECK(num_wrong == 0);
}

TEST_CASE("float_to_half: finite values beyond the range become the largest half",
          "[backend][quick]") {
    for (const float value : {65504.0f, 65519.0f, 65520.0f, 1e6f, 3e38f}) {
        CHECK(float_to_half(value) == 0x7bff);
        CHECK(float_to_half(-value) == 0xfbff);
    }
    const float inf = std::numeric_limits<float>::infinity();
    CHECK(float_to_half(inf) == 0x7c00);
    CHECK(float_to_half(-inf) == 0xfc00);
    CHECK(std::isnan(half_to_float(float_to_half(std::numeric_limits<float>::quiet_NaN()))));
    CHECK(float_to_half(1e-30f) == 0);
    CHECK(float_to_half(-1e-30f) == 0x8000);
}
