// SPDX-License-Identifier: Apache-2.0
// The 8-bit floats that scale NVFP4 blocks. Internal linkage on purpose, as in half.h.
#pragma once

#include <cstdint>

#include "backend/half.h"

namespace hokku {

/// Half of an unsigned E4M3 number (bias 7; 0x7f is no number and counts as 0; bit 7 unused).
[[maybe_unused]] static inline float half_of_e4m3(uint32_t code) {
    if (code == 0 || code == 0x7f) return 0.0f;
    const uint32_t exponent = code >> 3 & 15;
    const auto mantissa = static_cast<float>(code & 7);
    if (exponent == 0) return mantissa * 0x1p-10f;
    return (1.0f + mantissa / 8.0f) * float_from_bits((exponent + 119) << 23);
}

}  // namespace hokku
