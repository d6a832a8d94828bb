// SPDX-License-Identifier: Apache-2.0
// Conversions from the 16-bit float formats to float32, exact, and from float32 to IEEE halves.
// Internal linkage on purpose: files built with extra instruction set flags include this header too
// (docs/architecture.md).
#pragma once

#include <cstdint>
#include <cstring>

namespace hokku {

[[maybe_unused]] static inline float float_from_bits(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

/// IEEE 754 binary16. Subnormals, infinities and NaN payloads are kept.
[[maybe_unused]] static inline float half_to_float(uint16_t half) {
    const uint32_t sign = (half & 0x8000u) << 16;
    const uint32_t magnitude = (half & 0x7fffu) << 13;
    if (magnitude >= 0x0f800000u) return float_from_bits(sign | 0x70000000u | magnitude);
    const float scaled = float_from_bits(magnitude) * 0x1p112f;  // Moves the exponent bias.
    uint32_t bits;
    std::memcpy(&bits, &scaled, sizeof bits);
    return float_from_bits(sign | bits);
}

/// The nearest binary16, of two equally near the even one. Finite values beyond the range become
/// the largest of their sign: an infinite key would cost the whole context.
[[maybe_unused]] static inline uint16_t float_to_half(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = (bits & 0x80000000u) >> 16, magnitude = bits & 0x7fffffffu;
    uint32_t half;
    if (magnitude > 0x7f800000u) {
        half = 0x7e00u;  // Not a number.
    } else if (magnitude >= 0x477fe000u) {
        half = magnitude == 0x7f800000u ? 0x7c00u : 0x7bffu;
    } else if (magnitude >= 0x38800000u) {
        half = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
    } else {
        // The unit of subnormals is 2^-24, the last place of a float in [0.5, 1).
        const float shifted = float_from_bits(magnitude) + 0.5f;
        std::memcpy(&half, &shifted, sizeof half);
        half -= 0x3f000000u;
    }
    return static_cast<uint16_t>(sign | half);
}

/// The upper half of a binary32.
[[maybe_unused]] static inline float bfloat_to_float(uint16_t bfloat) {
    return float_from_bits(static_cast<uint32_t>(bfloat) << 16);
}

}  // namespace hokku
