// SPDX-License-Identifier: Apache-2.0
// A register of floats for the shared kernels in ../simd/: NEON, 4 lanes. avx512/floats.h has the
// same names. Internal linkage on purpose.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

#include "backend/cpu/simd/inline.h"

namespace hokku::cpu {
namespace {

using Floats = float32x4_t;
struct Mask {
    uint32x4_t bits;  ///< All of a lane or none.
};
constexpr uint32_t kLanes = 4, kNumRegisters = 32;
/// In the place of a Mask: every lane, without the cost of a mask.
struct AllLanes {};

HOKKU_INLINE uint32x4_t lane_numbers() {
    return uint32x4_t{0, 1, 2, 3};
}
HOKKU_INLINE Mask first_lanes(size_t count) {
    const auto limit = static_cast<uint32_t>(count < kLanes ? count : kLanes);
    return {vcltq_u32(lane_numbers(), vdupq_n_u32(limit))};
}
HOKKU_INLINE uint32_t count_lanes(Mask lanes) {
    return vaddvq_u32(vshrq_n_u32(lanes.bits, 31));
}
HOKKU_INLINE Floats zero() {
    return vdupq_n_f32(0.0f);
}
HOKKU_INLINE Floats splat(float x) {
    return vdupq_n_f32(x);
}
HOKKU_INLINE Floats load(const float* p) {
    return vld1q_f32(p);
}
/// Masks of loads and stores are those of first_lanes; the others are not touched.
HOKKU_INLINE Floats load(const float* p, Mask lanes) {
    float values[kLanes] = {};
    for (uint32_t i = 0, count = count_lanes(lanes); i < count; ++i) values[i] = p[i];
    return vld1q_f32(values);
}
HOKKU_INLINE Floats load(const float* p, AllLanes) {
    return load(p);
}
/// kLanes IEEE halves, or signed bytes, as floats.
HOKKU_INLINE Floats load_halves(const uint16_t* p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
HOKKU_INLINE Floats load_int8s(const int8_t* p) {
    uint32_t four;
    __builtin_memcpy(&four, p, sizeof four);
    const int16x8_t wide = vmovl_s8(vreinterpret_s8_u32(vdup_n_u32(four)));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide)));
}
/// The halves of kLanes bytes, codes of 4 bits, as floats from -8 to 7.
HOKKU_INLINE void load_nibbles(const uint8_t* p, Floats& low, Floats& high) {
    uint32_t four;
    __builtin_memcpy(&four, p, sizeof four);
    const uint8x8_t bytes = vreinterpret_u8_u32(vdup_n_u32(four));
    const auto less_eight = [](uint8x8_t codes) HOKKU_LAMBDA {
        const int16x8_t wide = vsubl_s8(vreinterpret_s8_u8(codes), vdup_n_s8(8));
        return vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide)));
    };
    low = less_eight(vand_u8(bytes, vdup_n_u8(15)));
    high = less_eight(vshr_n_u8(bytes, 4));
}
HOKKU_INLINE void store(float* p, Floats x) {
    vst1q_f32(p, x);
}
HOKKU_INLINE void store(float* p, AllLanes, Floats x) {
    store(p, x);
}
HOKKU_INLINE void store(float* p, Mask lanes, Floats x) {
    float values[kLanes];
    vst1q_f32(values, x);
    for (uint32_t i = 0, count = count_lanes(lanes); i < count; ++i) p[i] = values[i];
}

HOKKU_INLINE Floats add(Floats a, Floats b) {
    return vaddq_f32(a, b);
}
HOKKU_INLINE Floats sub(Floats a, Floats b) {
    return vsubq_f32(a, b);
}
HOKKU_INLINE Floats mul(Floats a, Floats b) {
    return vmulq_f32(a, b);
}
HOKKU_INLINE Floats div(Floats a, Floats b) {
    return vdivq_f32(a, b);
}
/// a b + c
HOKKU_INLINE Floats mul_add(Floats a, Floats b, Floats c) {
    return vfmaq_f32(c, a, b);
}
/// a b - c
HOKKU_INLINE Floats mul_sub(Floats a, Floats b, Floats c) {
    return vfmaq_f32(vnegq_f32(c), a, b);
}
/// c - a b
HOKKU_INLINE Floats sub_mul(Floats a, Floats b, Floats c) {
    return vfmsq_f32(c, a, b);
}
/// The smaller or larger; x where x is NaN.
HOKKU_INLINE Floats at_most(Floats limit, Floats x) {
    return vminq_f32(limit, x);
}
HOKKU_INLINE Floats at_least(Floats limit, Floats x) {
    return vmaxq_f32(limit, x);
}
HOKKU_INLINE Floats magnitude(Floats x) {
    return vabsq_f32(x);
}
/// x with the sign of y; x is not negative.
HOKKU_INLINE Floats with_sign(Floats x, Floats y) {
    return vbslq_f32(vdupq_n_u32(0x80000000u), y, x);
}
HOKKU_INLINE Floats nearest_integer(Floats x) {
    return vrndnq_f32(x);
}
/// x 2^n for whole n between -250 and 250: in two steps, as 2^n itself may be out of range.
HOKKU_INLINE Floats scale_by_power(Floats x, Floats n) {
    const int32x4_t whole = vcvtnq_s32_f32(n), half = vshrq_n_s32(whole, 1);
    const auto power = [](int32x4_t e) HOKKU_LAMBDA {
        return vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(e, vdupq_n_s32(127)), 23));
    };
    return vmulq_f32(vmulq_f32(x, power(half)), power(vsubq_s32(whole, half)));
}

HOKKU_INLINE Mask is_less(Floats a, Floats b) {
    return {vcltq_f32(a, b)};
}
HOKKU_INLINE Floats choose(Mask mask, Floats yes, Floats no) {
    return vbslq_f32(mask.bits, yes, no);
}
HOKKU_INLINE Floats choose(AllLanes, Floats yes, Floats) {
    return yes;
}
/// Lane i counts as number + i; the lanes in [begin, end).
HOKKU_INLINE Mask lanes_between(uint32_t number, uint32_t begin, uint32_t end) {
    const uint32x4_t index = vaddq_u32(vdupq_n_u32(number), lane_numbers());
    return {vandq_u32(vcgeq_u32(index, vdupq_n_u32(begin)), vcltq_u32(index, vdupq_n_u32(end)))};
}

HOKKU_INLINE float sum_of_lanes(Floats x) {
    return vaddvq_f32(x);
}
HOKKU_INLINE float max_of_lanes(Floats x) {
    return vmaxvq_f32(x);
}
HOKKU_INLINE float first_lane(Floats x) {
    return vgetq_lane_f32(x, 0);
}

/// `count` (up to kLanes / 2) floats from p, each twice.
HOKKU_INLINE Floats load_twice(const float* p, size_t count) {
    const float first = p[0], second = count > 1 ? p[1] : 0.0f;
    return Floats{first, first, second, second};
}
/// Turns pairs (x0, x1) by angles: (x0 c - x1 s, x1 c + x0 s).
HOKKU_INLINE Floats turn_pairs(Floats x, Floats c, Floats s) {
    const uint32x4_t even_signs = {0x80000000u, 0, 0x80000000u, 0};
    const Floats turned = vreinterpretq_f32_u32(
        veorq_u32(vreinterpretq_u32_f32(vmulq_f32(vrev64q_f32(x), s)), even_signs));
    return vfmaq_f32(turned, x, c);
}

}  // namespace
}  // namespace hokku::cpu
