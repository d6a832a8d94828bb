// SPDX-License-Identifier: Apache-2.0
// A register of floats for the shared kernels in ../simd/: AVX-512, 16 lanes. avx2/floats.h has the
// same names. Internal linkage on purpose.
#pragma once

#include "backend/cpu/avx512/simd.h"

namespace hokku::cpu {
namespace {

using Floats = __m512;
using Mask = __mmask16;
constexpr uint32_t kLanes = 16, kNumRegisters = 32;
/// In the place of a Mask: every lane, without the cost of a mask.
struct AllLanes {};

HOKKU_INLINE Floats zero() {
    return _mm512_setzero_ps();
}
HOKKU_INLINE Floats splat(float x) {
    return _mm512_set1_ps(x);
}
HOKKU_INLINE Floats load(const float* p) {
    return _mm512_loadu_ps(p);
}
HOKKU_INLINE Floats load(const float* p, Mask lanes) {
    return _mm512_maskz_loadu_ps(lanes, p);
}
HOKKU_INLINE Floats load(const float* p, AllLanes) {
    return load(p);
}
/// kLanes IEEE halves, or signed bytes, as floats.
HOKKU_INLINE Floats load_halves(const uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
HOKKU_INLINE Floats load_int8s(const int8_t* p) {
    return _mm512_cvtepi32_ps(
        _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}
/// The halves of kLanes bytes, codes of 4 bits, as floats from -8 to 7.
HOKKU_INLINE void load_nibbles(const uint8_t* p, Floats& low, Floats& high) {
    // The permutation looks at no more than 4 bits of an index.
    const __m512 values = _mm512_set_ps(7, 6, 5, 4, 3, 2, 1, 0, -1, -2, -3, -4, -5, -6, -7, -8);
    const __m512i codes =
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    low = _mm512_permutexvar_ps(codes, values);
    high = _mm512_permutexvar_ps(_mm512_srli_epi32(codes, 4), values);
}
HOKKU_INLINE void store(float* p, Floats x) {
    _mm512_storeu_ps(p, x);
}
HOKKU_INLINE void store(float* p, AllLanes, Floats x) {
    store(p, x);
}
HOKKU_INLINE void store(float* p, Mask lanes, Floats x) {
    _mm512_mask_storeu_ps(p, lanes, x);
}

HOKKU_INLINE Floats add(Floats a, Floats b) {
    return _mm512_add_ps(a, b);
}
HOKKU_INLINE Floats sub(Floats a, Floats b) {
    return _mm512_sub_ps(a, b);
}
HOKKU_INLINE Floats mul(Floats a, Floats b) {
    return _mm512_mul_ps(a, b);
}
HOKKU_INLINE Floats div(Floats a, Floats b) {
    return _mm512_div_ps(a, b);
}
/// a b + c
HOKKU_INLINE Floats mul_add(Floats a, Floats b, Floats c) {
    return _mm512_fmadd_ps(a, b, c);
}
/// a b - c
HOKKU_INLINE Floats mul_sub(Floats a, Floats b, Floats c) {
    return _mm512_fmsub_ps(a, b, c);
}
/// c - a b
HOKKU_INLINE Floats sub_mul(Floats a, Floats b, Floats c) {
    return _mm512_fnmadd_ps(a, b, c);
}
/// The smaller or larger; x where x is NaN.
HOKKU_INLINE Floats at_most(Floats limit, Floats x) {
    return _mm512_min_ps(limit, x);
}
HOKKU_INLINE Floats at_least(Floats limit, Floats x) {
    return _mm512_max_ps(limit, x);
}
HOKKU_INLINE Floats magnitude(Floats x) {
    return _mm512_abs_ps(x);
}
/// x with the sign of y; x is not negative.
HOKKU_INLINE Floats with_sign(Floats x, Floats y) {
    return _mm512_or_ps(x, _mm512_and_ps(y, _mm512_set1_ps(-0.0f)));
}
/// Magnitudes below 2^22.
HOKKU_INLINE Floats nearest_integer(Floats x) {
    // The roundscale intrinsics are macros of GCC that warn of their own casts when not optimising.
    const __m512 magic = _mm512_set1_ps(0x1.8p23f);  // Adding it leaves no bits behind the point.
    return _mm512_sub_ps(_mm512_add_ps(x, magic), magic);
}
/// x 2^n for whole n.
HOKKU_INLINE Floats scale_by_power(Floats x, Floats n) {
    return _mm512_scalef_ps(x, n);
}

HOKKU_INLINE Mask is_less(Floats a, Floats b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
HOKKU_INLINE Floats choose(Mask mask, Floats yes, Floats no) {
    return _mm512_mask_mov_ps(no, mask, yes);
}
HOKKU_INLINE Floats choose(AllLanes, Floats yes, Floats) {
    return yes;
}
/// Lane i counts as number + i; the lanes in [begin, end).
HOKKU_INLINE Mask lanes_between(uint32_t number, uint32_t begin, uint32_t end) {
    const __m512i index =
        _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(number)),
                         _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    return _mm512_cmpge_epu32_mask(index, _mm512_set1_epi32(static_cast<int>(begin))) &
           _mm512_cmplt_epu32_mask(index, _mm512_set1_epi32(static_cast<int>(end)));
}

HOKKU_INLINE float sum_of_lanes(Floats x) {
    return _mm512_reduce_add_ps(x);
}
HOKKU_INLINE float max_of_lanes(Floats x) {
    return _mm512_reduce_max_ps(x);
}
HOKKU_INLINE float first_lane(Floats x) {
    return _mm512_cvtss_f32(x);
}

/// `count` (up to kLanes / 2) floats from p, each twice.
HOKKU_INLINE Floats load_twice(const float* p, size_t count) {
    const __m512i twice = _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
    return _mm512_permutexvar_ps(twice, _mm512_maskz_loadu_ps(first_lanes(count), p));
}
/// Turns pairs (x0, x1) by angles: (x0 c - x1 s, x1 c + x0 s).
HOKKU_INLINE Floats turn_pairs(Floats x, Floats c, Floats s) {
    return _mm512_fmaddsub_ps(x, c, _mm512_mul_ps(_mm512_permute_ps(x, 0xb1), s));
}

}  // namespace
}  // namespace hokku::cpu
