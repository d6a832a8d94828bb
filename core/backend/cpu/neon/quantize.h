// SPDX-License-Identifier: Apache-2.0
// Quantises values of x to int8 with one float32 scale for each 32: the largest magnitude becomes
// 127. NaN and infinities end up in the scale, so that they reach the product. Internal linkage on
// purpose.
#pragma once

#include <arm_neon.h>

#include "backend/cpu/neon/blocks.h"

namespace hokku::cpu {
namespace {

struct Values {
    float32x4_t part[8];
};
struct Quantized {
    Codes codes;
    float scale;
};

HOKKU_INLINE Values load_values(const float* x) {
    Values values;
    for (int i = 0; i < 8; ++i) values.part[i] = vld1q_f32(x + 4 * i);
    return values;
}

HOKKU_INLINE Quantized quantize(const Values& values) {
    // Magnitudes compare as integers; NaN is the largest of them.
    uint32x4_t bits = vdupq_n_u32(0);
    for (const float32x4_t& x : values.part)
        bits = vmaxq_u32(bits, vbicq_u32(vreinterpretq_u32_f32(x), vdupq_n_u32(0x80000000u)));
    const float max = float_from_bits(vmaxvq_u32(bits));
    constexpr float kTiny = 1e-35f;  // 127 / max would be infinite below.
    const bool is_zero = max < kTiny;
    const float inverse = is_zero ? 0.0f : 127.0f / max;
    int16x8_t pairs[4];
    for (int i = 0; i < 4; ++i)
        pairs[i] =
            vcombine_s16(vqmovn_s32(vcvtnq_s32_f32(vmulq_n_f32(values.part[2 * i], inverse))),
                         vqmovn_s32(vcvtnq_s32_f32(vmulq_n_f32(values.part[2 * i + 1], inverse))));
    return {{vcombine_s8(vqmovn_s16(pairs[0]), vqmovn_s16(pairs[1])),
             vcombine_s8(vqmovn_s16(pairs[2]), vqmovn_s16(pairs[3]))},
            is_zero ? 0.0f : max / 127.0f};
}

/// What `block` leaves of the values it was made of.
HOKKU_INLINE Values rest_of(const Values& values, const Quantized& block) {
    Values rest;
    const auto subtract_16 = [&](int first, int8x16_t codes) HOKKU_LAMBDA {
        const int16x8_t low = vmovl_s8(vget_low_s8(codes)), high = vmovl_s8(vget_high_s8(codes));
        const int16x4_t parts[4] = {vget_low_s16(low), vget_high_s16(low), vget_low_s16(high),
                                    vget_high_s16(high)};
        for (int i = 0; i < 4; ++i)
            rest.part[first + i] =
                vfmsq_f32(values.part[first + i], to_floats(parts[i]), vdupq_n_f32(block.scale));
    };
    subtract_16(0, block.codes.front);
    subtract_16(4, block.codes.back);
    return rest;
}

/// Four sums of codes: two of the front half, two of the back half.
HOKKU_INLINE int32x4_t sum_codes(const Codes& codes) {
    const int8x16_t ones = vdupq_n_s8(1);
    const int32x4_t none = vdupq_n_s32(0);
    return vpaddq_s32(vdotq_s32(none, codes.front, ones), vdotq_s32(none, codes.back, ones));
}

}  // namespace
}  // namespace hokku::cpu
