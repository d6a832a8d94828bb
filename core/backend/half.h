// SPDX-License-Identifier: Apache-2.0
// Conversions from the 16-bit float formats to float32, exact. Internal linkage on purpose: files
// built with extra instruction set flags include this header too (docs/architecture.md).
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

/// The upper half of a binary32.
[[maybe_unused]] static inline float bfloat_to_float(uint16_t bfloat) {
    return float_from_bits(static_cast<uint32_t>(bfloat) << 16);
}

}  // namespace hokku
