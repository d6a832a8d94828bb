// SPDX-License-Identifier: Apache-2.0
// A register of floats for the shared kernels in ../simd/: AVX2 and FMA, 8 lanes. avx512/floats.h
// has the same names. Internal linkage on purpose.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "backend/cpu/simd/inline.h"

namespace hokku::cpu {
namespace {

using Floats = __m256;
using Mask = __m256i;  // All bits of a lane or none.
constexpr uint32_t kLanes = 8, kNumRegisters = 16;
/// In the place of a Mask: every lane, without the cost of a mask.
struct AllLanes {};

HOKKU_INLINE __m256i lane_numbers() {
    return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
}
HOKKU_INLINE Mask first_lanes(size_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count < kLanes ? count : kLanes)),
                              lane_numbers());
}
HOKKU_INLINE Floats zero() {
    return _mm256_setzero_ps();
}
HOKKU_INLINE Floats splat(float x) {
    return _mm256_set1_ps(x);
}
HOKKU_INLINE Floats load(const float* p) {
    return _mm256_loadu_ps(p);
}
HOKKU_INLINE Floats load(const float* p, Mask lanes) {
    return _mm256_maskload_ps(p, lanes);
}
HOKKU_INLINE Floats load(const float* p, AllLanes) {
    return load(p);
}
/// kLanes IEEE halves, or signed bytes, as floats.
HOKKU_INLINE Floats load_halves(const uint16_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
HOKKU_INLINE Floats load_int8s(const int8_t* p) {
    return _mm256_cvtepi32_ps(
        _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
/// The halves of kLanes bytes, codes of 4 bits, as floats from -8 to 7.
HOKKU_INLINE void load_nibbles(const uint8_t* p, Floats& low, Floats& high) {
    const __m256i bytes =
        _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    // Ored into the last bits of 2^23 and of 2^19 (which counts a byte's upper half), they are
    // added to it.
    const auto add_to = [bytes](int mask, float power) HOKKU_LAMBDA {
        const __m256i bits = _mm256_and_si256(bytes, _mm256_set1_epi32(mask));
        return _mm256_sub_ps(_mm256_or_ps(_mm256_castsi256_ps(bits), _mm256_set1_ps(power)),
                             _mm256_set1_ps(power + 8.0f));
    };
    low = add_to(0x0f, 0x1p23f);
    high = add_to(0xf0, 0x1p19f);
}
HOKKU_INLINE void store(float* p, Floats x) {
    _mm256_storeu_ps(p, x);
}
HOKKU_INLINE void store(float* p, AllLanes, Floats x) {
    store(p, x);
}
HOKKU_INLINE void store(float* p, Mask lanes, Floats x) {
    _mm256_maskstore_ps(p, lanes, x);
}

HOKKU_INLINE Floats add(Floats a, Floats b) {
    return _mm256_add_ps(a, b);
}
HOKKU_INLINE Floats sub(Floats a, Floats b) {
    return _mm256_sub_ps(a, b);
}
HOKKU_INLINE Floats mul(Floats a, Floats b) {
    return _mm256_mul_ps(a, b);
}
HOKKU_INLINE Floats div(Floats a, Floats b) {
    return _mm256_div_ps(a, b);
}
/// a b + c
HOKKU_INLINE Floats mul_add(Floats a, Floats b, Floats c) {
    return _mm256_fmadd_ps(a, b, c);
}
/// a b - c
HOKKU_INLINE Floats mul_sub(Floats a, Floats b, Floats c) {
    return _mm256_fmsub_ps(a, b, c);
}
/// c - a b
HOKKU_INLINE Floats sub_mul(Floats a, Floats b, Floats c) {
    return _mm256_fnmadd_ps(a, b, c);
}
/// The smaller or larger; x where x is NaN.
HOKKU_INLINE Floats at_most(Floats limit, Floats x) {
    return _mm256_min_ps(limit, x);
}
HOKKU_INLINE Floats at_least(Floats limit, Floats x) {
    return _mm256_max_ps(limit, x);
}
HOKKU_INLINE Floats magnitude(Floats x) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
}
/// x with the sign of y; x is not negative.
HOKKU_INLINE Floats with_sign(Floats x, Floats y) {
    return _mm256_or_ps(x, _mm256_and_ps(y, _mm256_set1_ps(-0.0f)));
}
HOKKU_INLINE Floats nearest_integer(Floats x) {
    return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
/// x 2^n for whole n between -250 and 250: in two steps, as 2^n itself may be out of range.
HOKKU_INLINE Floats scale_by_power(Floats x, Floats n) {
    const __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
    const auto power = [](__m256i e) {
        return _mm256_castsi256_ps(
            _mm256_slli_epi32(_mm256_add_epi32(e, _mm256_set1_epi32(127)), 23));
    };
    return _mm256_mul_ps(_mm256_mul_ps(x, power(half)), power(_mm256_sub_epi32(whole, half)));
}

HOKKU_INLINE Mask is_less(Floats a, Floats b) {
    return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_LT_OQ));
}
HOKKU_INLINE Floats choose(Mask mask, Floats yes, Floats no) {
    return _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(mask));
}
HOKKU_INLINE Floats choose(AllLanes, Floats yes, Floats) {
    return yes;
}
/// Lane i counts as number + i; the lanes in [begin, end). Numbers below 2^31.
HOKKU_INLINE Mask lanes_between(uint32_t number, uint32_t begin, uint32_t end) {
    const __m256i index =
        _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(number)), lane_numbers());
    return _mm256_andnot_si256(
        _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(begin)), index),
        _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(end)), index));
}

HOKKU_INLINE float sum_of_lanes(Floats x) {
    __m128 sum = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
    return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}
HOKKU_INLINE float max_of_lanes(Floats x) {
    __m128 max = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    max = _mm_max_ps(max, _mm_movehl_ps(max, max));
    return _mm_cvtss_f32(_mm_max_ss(max, _mm_movehdup_ps(max)));
}
HOKKU_INLINE float first_lane(Floats x) {
    return _mm256_cvtss_f32(x);
}

/// `count` (up to kLanes / 2) floats from p, each twice.
HOKKU_INLINE Floats load_twice(const float* p, size_t count) {
    return _mm256_permutevar8x32_ps(load(p, first_lanes(count)),
                                    _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
}
/// Turns pairs (x0, x1) by angles: (x0 c - x1 s, x1 c + x0 s).
HOKKU_INLINE Floats turn_pairs(Floats x, Floats c, Floats s) {
    return _mm256_fmaddsub_ps(x, c, _mm256_mul_ps(_mm256_permute_ps(x, 0xb1), s));
}

}  // namespace
}  // namespace hokku::cpu
