// SPDX-License-Identifier: Apache-2.0
// 32 values of x as int8 codes with one float32 scale: the largest magnitude becomes 127. NaN and
// infinities end up in the scale, so that they reach the product. Internal linkage on purpose.
#pragma once

#include "backend/cpu/avx512/simd.h"

namespace hokku::cpu {
namespace {

/// 32 values as codes; four sums of four codes each for the two halves.
struct Block {
    __m128i codes[2];
    __m128i sums[2];
    __m128i whole_sums[2];  ///< In units of scale, with those of the rest of a fine vector.
    float scale;
};

struct BlockScale {
    float scale, inverse;
};

HOKKU_INLINE BlockScale scale_of(__m512 a, __m512 b) {
    // Magnitudes compare as integers; NaN is the largest of them.
    const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
    const __m512i bits = _mm512_max_epi32(_mm512_and_si512(_mm512_castps_si512(a), magnitude),
                                          _mm512_and_si512(_mm512_castps_si512(b), magnitude));
    const int max_bits = _mm512_reduce_max_epi32(bits);
    float max;
    std::memcpy(&max, &max_bits, sizeof max);
    constexpr float kTiny = 1e-35f;  // 127 / max would be infinite below.
    if (max < kTiny) return {0.0f, 0.0f};
    return {max / 127.0f, 127.0f / max};
}

HOKKU_INLINE __m128i to_codes(__m512 x, __m512 inverse) {
    return _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(x, inverse)));
}

HOKKU_INLINE __m128i sums_of_four(__m128i codes) {
    return _mm_dpbusd_epi32(_mm_setzero_si128(), _mm_set1_epi8(1), codes);
}

HOKKU_INLINE Block quantize_by(__m512 a, __m512 b, BlockScale s) {
    const __m512 inverse = _mm512_set1_ps(s.inverse);
    Block block{{to_codes(a, inverse), to_codes(b, inverse)}, {}, {}, s.scale};
    for (int half = 0; half < 2; ++half)
        block.whole_sums[half] = block.sums[half] = sums_of_four(block.codes[half]);
    return block;
}

HOKKU_INLINE Block quantize(__m512 a, __m512 b) {
    return quantize_by(a, b, scale_of(a, b));
}

/// x less what the codes stand for.
HOKKU_INLINE __m512 rest_of(__m512 x, __m128i codes, float scale) {
    return _mm512_fnmadd_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(codes)), _mm512_set1_ps(scale),
                            x);
}

/// What `block` leaves of the values it was made of, with a scale of its own.
HOKKU_INLINE Block quantize_rest(__m512 a, __m512 b, const Block& block) {
    return quantize(rest_of(a, block.codes[0], block.scale),
                    rest_of(b, block.codes[1], block.scale));
}

/// A block and its rest in steps 2^kFineBits times as fine; both have the scale of the rest.
struct FineBlock {
    Block main, rest;
};

HOKKU_INLINE FineBlock quantize_fine(__m512 a, __m512 b) {
    constexpr float kUnits = 1 << kFineBits;
    const BlockScale s = scale_of(a, b);
    FineBlock fine{quantize_by(a, b, s), {}};
    fine.rest = quantize_by(rest_of(a, fine.main.codes[0], s.scale),
                            rest_of(b, fine.main.codes[1], s.scale),
                            {s.scale / kUnits, s.inverse * kUnits});
    fine.main.scale = fine.rest.scale;
    for (int half = 0; half < 2; ++half)
        fine.main.whole_sums[half] =
            _mm_add_epi32(_mm_slli_epi32(fine.main.sums[half], kFineBits), fine.rest.sums[half]);
    return fine;
}

HOKKU_INLINE int32_t sum_of(__m128i x) {
    x = _mm_add_epi32(x, _mm_unpackhi_epi64(x, x));
    return _mm_cvtsi128_si32(_mm_add_epi32(x, _mm_shuffle_epi32(x, 1)));
}

HOKKU_INLINE void store(void* p, __m128i x) {
    _mm_store_si128(static_cast<__m128i*>(p), x);
}

}  // namespace
}  // namespace hokku::cpu
