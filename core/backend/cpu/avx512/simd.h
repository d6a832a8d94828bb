// SPDX-License-Identifier: Apache-2.0
// Small AVX-512 pieces that the kernel files of this folder share. Internal linkage on purpose.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "backend/cpu/simd/scales.h"

namespace hokku::cpu {
namespace {

/// Of products with Precision::fine: what the codes of a vector leave is quantised with steps
/// 2^kFineBits times as fine, half a step making the full range of int8.
constexpr int kFineBits = 8;

/// What a step takes of a prepared vector lies together: its codes, then 16 starts, 16 scales and
/// 16 sums. Of a step of 128 values, and of 256:
constexpr size_t kStepBytes128 = 128 + 3 * 64, kStepBytes256 = 256 + 3 * 64;

/// Whether n values in the layout halves are prepared twice, one after the other: they end in the
/// middle of a step, so that two rows of weights take one step less than twice one. Long rows do
/// not gain by it, and there would not be room for them.
HOKKU_INLINE bool has_pair_steps(size_t n) {
    return n % 128 == 64 && n <= 1024;
}

HOKKU_INLINE __m512i load_bytes(const void* p) {
    return _mm512_loadu_si512(p);
}
/// Two 256-bit halves as one register.
HOKKU_INLINE __m512i join(__m256i low, __m256i high) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

HOKKU_INLINE __m512i low_nibbles(__m512i bytes) {
    return _mm512_and_si512(bytes, _mm512_set1_epi8(15));
}
HOKKU_INLINE __m512i high_nibbles(__m512i bytes) {
    return low_nibbles(_mm512_srli_epi16(bytes, 4));
}
/// a | (b & c)
HOKKU_INLINE __m512i or_and(__m512i a, __m512i b, __m512i c) {
    return _mm512_ternarylogic_epi64(a, b, c, 0xf8);
}

/// The first `count` of 16 lanes.
HOKKU_INLINE __mmask16 first_lanes(size_t count) {
    return static_cast<__mmask16>(count >= 16 ? 0xffffu : (1u << count) - 1);
}

/// Sums of four registers at once.
HOKKU_INLINE __m128 sum4(__m512 a, __m512 b, __m512 c, __m512 d) {
    const auto quarter = [](__m512 x) {
        const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
        return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    };
    const __m128 x = quarter(a), y = quarter(b), z = quarter(c), w = quarter(d);
    const __m128 xy = _mm_add_ps(_mm_unpacklo_ps(x, y), _mm_unpackhi_ps(x, y));
    const __m128 zw = _mm_add_ps(_mm_unpacklo_ps(z, w), _mm_unpackhi_ps(z, w));
    return _mm_add_ps(_mm_movelh_ps(xy, zw), _mm_movehl_ps(zw, xy));
}

}  // namespace
}  // namespace hokku::cpu
