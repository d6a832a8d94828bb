// SPDX-License-Identifier: Apache-2.0
// Unpacks weight blocks to unsigned codes (the signed code + 128) in the order of the values, for
// the GEMM: one struct per block type. Layouts as in backend/dequantize_blocks.h. Internal linkage
// on purpose.
#pragma once

#include "backend/cpu/avx512/gemv_steps.h"

namespace hokku::cpu {
namespace {

/// Low nibbles of 16 bytes, then their high nibbles.
HOKKU_INLINE __m256i nibbles_of_16(const uint8_t* p) {
    const __m128i x = load_bytes16(p);
    return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(x, 4), x), _mm256_set1_epi8(15));
}
HOKKU_INLINE __m256i add_to_bytes(__m256i x, int8_t offset) {
    return _mm256_add_epi8(x, _mm256_set1_epi8(offset));
}
HOKKU_INLINE __m256i with_fifth_bits(__m256i nibbles, uint32_t bits) {
    return _mm256_mask_add_epi8(nibbles, bits, nibbles, _mm256_set1_epi8(16));
}

// Types of 32 values per block: codes(p), and the value of the scale and the minimum.

/// Types that begin with their scale.
struct ScaleInFront {
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static float scale(const uint8_t* p) { return load_half_float(p); }
};
/// Types whose minimum is behind it.
struct ScaleAndMinInFront {
    static constexpr bool kHasMin = true;
    HOKKU_INLINE static float scale(const uint8_t* p) { return load_half_float(p); }
    HOKKU_INLINE static float min(const uint8_t* p) { return load_half_float(p + 2); }
};

struct UnpackQ4_0 : ScaleInFront {
    static constexpr int kBytes = 18;
    HOKKU_INLINE static __m256i codes(const uint8_t* p) {
        return add_to_bytes(nibbles_of_16(p + 2), 120);
    }
};

struct UnpackQ4_1 : ScaleAndMinInFront {
    static constexpr int kBytes = 20;
    HOKKU_INLINE static __m256i codes(const uint8_t* p) {
        return add_to_bytes(nibbles_of_16(p + 4), -128);
    }
};

struct UnpackQ5_0 : ScaleInFront {
    static constexpr int kBytes = 22;
    HOKKU_INLINE static __m256i codes(const uint8_t* p) {
        return add_to_bytes(with_fifth_bits(nibbles_of_16(p + 6), load_word(p + 2)), 112);
    }
};

struct UnpackQ5_1 : ScaleAndMinInFront {
    static constexpr int kBytes = 24;
    HOKKU_INLINE static __m256i codes(const uint8_t* p) {
        return add_to_bytes(with_fifth_bits(nibbles_of_16(p + 8), load_word(p + 4)), -128);
    }
};

struct UnpackQ8_0 : ScaleInFront {
    static constexpr int kBytes = 34;
    HOKKU_INLINE static __m256i codes(const uint8_t* p) {
        return add_to_bytes(load_bytes32(p + 2), -128);
    }
};

struct UnpackIq4Nl : ScaleInFront {
    static constexpr int kBytes = 18;
    HOKKU_INLINE static __m256i codes(const uint8_t* p) {
        return _mm512_castsi512_si256(iq4_steps(_mm512_castsi256_si512(nibbles_of_16(p + 2))));
    }
};

struct UnpackMxfp4 {
    static constexpr int kBytes = 17;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static __m256i codes(const uint8_t* p) {
        return _mm512_castsi512_si256(fp4_steps(_mm512_castsi256_si512(nibbles_of_16(p + 1))));
    }
    HOKKU_INLINE static float scale(const uint8_t* p) {
        return _mm512_cvtss_f32(e8m0_halves(_mm512_set1_epi32(*p)));
    }
};

// Types of 256 values per super-block: codes(p, quarter) gives 64 values; write_scales writes the
// scales of one row, kGemmGroup floats apart.

HOKKU_INLINE void spread_column(float* column, __m256 x) {
    alignas(32) float values[8];
    _mm256_store_ps(values, x);
    for (size_t i = 0; i < 8; ++i) column[i * kGemmGroup] = values[i];
}
HOKKU_INLINE void spread_column(float* column, __m512 x) {
    alignas(64) float values[16];
    _mm512_store_ps(values, x);
    for (size_t i = 0; i < 16; ++i) column[i * kGemmGroup] = values[i];
}

HOKKU_INLINE void write_q4_k_scales(const uint8_t* p, float* scales, float* mins) {
    const ScalesAndMins s = unpack_q4_k_scales(p + 4);
    spread_column(scales, _mm256_mul_ps(s.scales, _mm256_set1_ps(load_half_float(p))));
    spread_column(mins, _mm256_mul_ps(s.mins, _mm256_set1_ps(-load_half_float(p + 2))));
}

struct UnpackQ4_K {
    static constexpr int kBytes = 144, kScaleValues = 32;
    static constexpr bool kHasMin = true;
    HOKKU_INLINE static __m512i codes(const uint8_t* p, int quarter) {
        const __m256i x = load_bytes32(p + 16 + 32 * quarter);
        return _mm512_or_si512(low_nibbles(join(x, _mm256_srli_epi16(x, 4))),
                               _mm512_set1_epi8(-128));
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float* mins) {
        write_q4_k_scales(p, scales, mins);
    }
};

struct UnpackQ5_K {
    static constexpr int kBytes = 176, kScaleValues = 32;
    static constexpr bool kHasMin = true;
    HOKKU_INLINE static __m512i codes(const uint8_t* p, int quarter) {
        const __m256i x = load_bytes32(p + 48 + 32 * quarter);
        const __m512i fifth = _mm512_broadcast_i64x4(load_bytes32(p + 16));
        const __m512i nibbles = low_nibbles(join(x, _mm256_srli_epi16(x, 4)));
        const __m512i moved = rotate_halves(fifth, 4 - 2 * quarter, 3 - 2 * quarter);
        return _mm512_or_si512(or_and(nibbles, moved, _mm512_set1_epi8(16)),
                               _mm512_set1_epi8(-128));
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float* mins) {
        write_q4_k_scales(p, scales, mins);
    }
};

struct UnpackQ6_K {
    static constexpr int kBytes = 210, kScaleValues = 16;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static __m512i codes(const uint8_t* p, int quarter) {
        const int half = quarter / 2, shift = quarter % 2 * 4;
        __m512i low = load_bytes(p + 64 * half);
        low = low_nibbles(_mm512_srl_epi16(low, _mm_cvtsi32_si128(shift)));
        const __m512i high = _mm512_broadcast_i64x4(load_bytes32(p + 128 + 32 * half));
        const __m512i moved = rotate_halves(high, 4 - shift, 2 - shift);
        return _mm512_add_epi8(or_and(low, moved, _mm512_set1_epi8(0x30)), _mm512_set1_epi8(96));
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float*) {
        const __m512 s = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load_bytes16(p + 192)));
        spread_column(scales, _mm512_mul_ps(s, _mm512_set1_ps(load_half_float(p + 208))));
    }
};

/// Two-bit codes of 64 values in a row: bits `shift` of 32 bytes, then the next two bits of them.
HOKKU_INLINE __m512i two_bit_codes(const uint8_t* p, int quarter) {
    const __m256i x = load_bytes32(p + 32 * (quarter / 2));
    const int shift = quarter % 2 * 4;
    const __m512i moved = join(_mm256_srl_epi16(x, _mm_cvtsi32_si128(shift)),
                               _mm256_srl_epi16(x, _mm_cvtsi32_si128(shift + 2)));
    return _mm512_and_si512(moved, _mm512_set1_epi8(3));
}

struct UnpackQ3_K {
    static constexpr int kBytes = 110, kScaleValues = 16;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static __m512i codes(const uint8_t* p, int quarter) {
        const __m512i third = _mm512_broadcast_i64x4(load_bytes32(p));
        const __m512i moved = rotate_halves(third, 2 - 2 * quarter, 1 - 2 * quarter);
        return _mm512_add_epi8(or_and(two_bit_codes(p + 32, quarter), moved, _mm512_set1_epi8(4)),
                               _mm512_set1_epi8(124));
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float*) {
        const __m512 s = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(unpack_q3_k_scales(p + 96)));
        spread_column(scales, _mm512_mul_ps(s, _mm512_set1_ps(load_half_float(p + 108))));
    }
};

struct UnpackIq4Xs {
    static constexpr int kBytes = 136, kScaleValues = 32;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static __m512i codes(const uint8_t* p, int quarter) {
        return iq4_steps(
            join(nibbles_of_16(p + 8 + 32 * quarter), nibbles_of_16(p + 24 + 32 * quarter)));
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float*) {
        spread_column(scales, _mm256_mul_ps(_mm256_cvtepi32_ps(unpack_iq4_xs_scales(p + 2)),
                                            _mm256_set1_ps(load_half_float(p))));
    }
};

}  // namespace
}  // namespace hokku::cpu
