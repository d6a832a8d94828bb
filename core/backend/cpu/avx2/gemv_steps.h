// SPDX-License-Identifier: Apache-2.0
// One step of a weight row times a quantised vector, per block type: reads one block in place and
// adds its products to 8 partial sums. Block layouts are described in
// backend/dequantize_blocks.h, vector layouts in activations.cpp. Internal linkage on purpose.
#pragma once

#include "backend/cpu/matmul_kernels.h"
#include "backend/cpu/simd/scales.h"
#include "backend/half.h"

namespace hokku::cpu {
namespace {

HOKKU_INLINE __m256i load_codes(const int8_t* codes) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(codes));
}
HOKKU_INLINE __m256i sum_pairs(__m256i x) {
    return _mm256_madd_epi16(x, _mm256_set1_epi16(1));
}

/// Products of four bytes each, in eight sums; two fit 16 bits.
HOKKU_INLINE __m256i sum_fours(__m256i weights, __m256i codes) {
#ifdef __AVXVNNI__
    return _mm256_dpbusd_avx_epi32(_mm256_setzero_si256(), weights, codes);
#else
    return sum_pairs(_mm256_maddubs_epi16(weights, codes));
#endif
}

/// Products of 32 codes in eight sums. Unsigned weights of at most 6 bits: two products of at most
/// 63 * 127 fit 16 bits.
HOKKU_INLINE __m256 dot_unsigned(__m256i weights, const int8_t* codes) {
    return _mm256_cvtepi32_ps(sum_fours(weights, load_codes(codes)));
}
/// Signed weights: their signs move to the other factor, which is never -128; 2 * 128 * 127 fits.
HOKKU_INLINE __m256 dot_signed(__m256i weights, const int8_t* codes) {
    const __m256i moved = _mm256_sign_epi8(load_codes(codes), weights);
    return _mm256_cvtepi32_ps(sum_fours(_mm256_abs_epi8(weights), moved));
}

/// Low nibbles of 16 bytes, then their high nibbles.
HOKKU_INLINE __m256i nibbles_of_16(const uint8_t* p) {
    const __m128i x = load_bytes16(p);
    return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(x, 4), x), _mm256_set1_epi8(15));
}
HOKKU_INLINE __m256i fifth_bits(uint32_t bits) {
    return _mm256_and_si256(bits_to_bytes(bits), _mm256_set1_epi8(16));
}
HOKKU_INLINE __m256i shift_right(__m256i x, int count) {
    return _mm256_srl_epi16(x, _mm_cvtsi32_si128(count));
}
HOKKU_INLINE __m256i keep_bits(__m256i x, int8_t bits) {
    return _mm256_and_si256(x, _mm256_set1_epi8(bits));
}

/// Adds scale * dots and min * sums of block b.
HOKKU_INLINE __m256 add_block(__m256 sum, __m256 dots, float scale, float min, const GemvVector& v,
                              size_t b) {
    sum = _mm256_fmadd_ps(dots, _mm256_set1_ps(scale * v.scales[b]), sum);
    return _mm256_fmadd_ps(_mm256_set1_ps(min), _mm256_load_ps(v.sums + b * 8), sum);
}

// Types of 32 values: layout blocks; min is minus the zero point times the scale, or the minimum.

struct StepQ4_0 {
    static constexpr size_t kValues = 32, kBytes = 18;
    static constexpr VectorLayout kLayout = VectorLayout::blocks;
    static constexpr int kZeroPoint = 0;
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t b) {
        const float d = load_half_float(p);
        return add_block(sum, dot_unsigned(nibbles_of_16(p + 2), v.codes + b * 32), d, -8 * d, v,
                         b);
    }
};

struct StepQ4_1 {
    static constexpr size_t kValues = 32, kBytes = 20;
    static constexpr VectorLayout kLayout = VectorLayout::blocks;
    static constexpr int kZeroPoint = 0;
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t b) {
        return add_block(sum, dot_unsigned(nibbles_of_16(p + 4), v.codes + b * 32),
                         load_half_float(p), load_half_float(p + 2), v, b);
    }
};

struct StepQ5_0 {
    static constexpr size_t kValues = 32, kBytes = 22;
    static constexpr VectorLayout kLayout = VectorLayout::blocks;
    static constexpr int kZeroPoint = 0;
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t b) {
        const float d = load_half_float(p);
        const __m256i codes = _mm256_or_si256(nibbles_of_16(p + 6), fifth_bits(load_word(p + 2)));
        return add_block(sum, dot_unsigned(codes, v.codes + b * 32), d, -16 * d, v, b);
    }
};

struct StepQ5_1 {
    static constexpr size_t kValues = 32, kBytes = 24;
    static constexpr VectorLayout kLayout = VectorLayout::blocks;
    static constexpr int kZeroPoint = 0;
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t b) {
        const __m256i codes = _mm256_or_si256(nibbles_of_16(p + 8), fifth_bits(load_word(p + 4)));
        return add_block(sum, dot_unsigned(codes, v.codes + b * 32), load_half_float(p),
                         load_half_float(p + 2), v, b);
    }
};

/// Layout super_blocks without its sums: blocks of 32 signed codes with one scale.
HOKKU_INLINE __m256 add_signed(__m256 sum, __m256i codes, float scale, const GemvVector& v,
                               size_t b) {
    return _mm256_fmadd_ps(dot_signed(codes, v.codes + b * 32), _mm256_set1_ps(scale * v.scales[b]),
                           sum);
}

struct StepQ8_0 {
    static constexpr size_t kValues = 32, kBytes = 34;
    static constexpr VectorLayout kLayout = VectorLayout::super_blocks;
    static constexpr int kZeroPoint = 1;
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t b) {
        return add_signed(sum, load_bytes32(p + 2), load_half_float(p), v, b);
    }
};

HOKKU_INLINE __m256i look_up(__m128i table, __m256i codes) {
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), codes);
}
HOKKU_INLINE __m256i iq4_steps(__m256i codes) {
    return look_up(
        _mm_setr_epi8(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113),
        codes);
}
HOKKU_INLINE __m256i fp4_steps(__m256i codes) {
    return look_up(_mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12), codes);
}

struct StepIq4Nl {
    static constexpr size_t kValues = 32, kBytes = 18;
    static constexpr VectorLayout kLayout = VectorLayout::super_blocks;
    static constexpr int kZeroPoint = 1;
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t b) {
        return add_signed(sum, iq4_steps(nibbles_of_16(p + 2)), load_half_float(p), v, b);
    }
};

struct StepMxfp4 {
    static constexpr size_t kValues = 32, kBytes = 17;
    static constexpr VectorLayout kLayout = VectorLayout::super_blocks;
    static constexpr int kZeroPoint = 1;
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t b) {
        const uint32_t e = *p;  // 2^(e - 128), subnormal for e < 2.
        const float scale = float_from_bits(e < 2 ? 0x00200000u << e : (e - 1) << 23);
        return add_signed(sum, fp4_steps(nibbles_of_16(p + 1)), scale, v, b);
    }
};

struct StepIq4Xs {
    static constexpr size_t kValues = 256, kBytes = 136;
    static constexpr VectorLayout kLayout = VectorLayout::super_blocks;
    static constexpr int kZeroPoint = 1;
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t step) {
        alignas(32) float scales[8];
        _mm256_store_ps(scales, _mm256_mul_ps(_mm256_cvtepi32_ps(unpack_iq4_xs_scales(p + 2)),
                                              _mm256_set1_ps(load_half_float(p))));
        for (size_t j = 0; j < 8; ++j) {
            sum = add_signed(sum, iq4_steps(nibbles_of_16(p + 8 + 16 * j)), scales[j], v,
                             8 * step + j);
        }
        return sum;
    }
};

// Super-blocks of 256 values with minima: layout super_blocks, zero point 1.

/// `codes(j)` gives the unsigned codes of sub-block j.
template <class Codes>
HOKKU_INLINE __m256 add_super_block(__m256 sum, const uint8_t* p, const GemvVector& v, size_t step,
                                    Codes codes) {
    const ScalesAndMins s = unpack_q4_k_scales(p + 4);
    const __m256 d = _mm256_set1_ps(load_half_float(p));
    const __m256 dmin = _mm256_set1_ps(load_half_float(p + 2));
    alignas(32) float scales[8];
    _mm256_store_ps(scales,
                    _mm256_mul_ps(_mm256_mul_ps(s.scales, d), _mm256_load_ps(v.scales + 8 * step)));
    sum = _mm256_fmadd_ps(_mm256_mul_ps(s.mins, dmin), _mm256_load_ps(v.sums + 8 * step), sum);
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
        const int8_t* x = v.codes + step * 256 + static_cast<size_t>(j) * 32;
        sum = _mm256_fmadd_ps(dot_unsigned(codes(j), x), _mm256_set1_ps(scales[j]), sum);
    }
    return sum;
}

struct StepQ4_K {
    static constexpr size_t kValues = 256, kBytes = 144;
    static constexpr VectorLayout kLayout = VectorLayout::super_blocks;
    static constexpr int kZeroPoint = 1;
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t step) {
        return add_super_block(sum, p, v, step, [p](int j) HOKKU_LAMBDA {
            return keep_bits(shift_right(load_bytes32(p + 16 + 32 * (j / 2)), j % 2 * 4), 15);
        });
    }
};

struct StepQ5_K {
    static constexpr size_t kValues = 256, kBytes = 176;
    static constexpr VectorLayout kLayout = VectorLayout::super_blocks;
    static constexpr int kZeroPoint = 1;
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t step) {
        const __m256i fifth = load_bytes32(p + 16);
        return add_super_block(sum, p, v, step, [p, fifth](int j) HOKKU_LAMBDA {
            const __m256i x = load_bytes32(p + 48 + 32 * (j / 2));
            const __m256i bit = keep_bits(shift_right(fifth, j), 1);
            return _mm256_or_si256(keep_bits(shift_right(x, j % 2 * 4), 15),
                                   _mm256_slli_epi16(bit, 4));
        });
    }
};

// Super-blocks with a scale for each 16 values: layout super_halves.

/// `scales` and `mins` [16] without the vector's factors; `codes(j)` as above.
template <class Codes>
HOKKU_INLINE __m256 add_super_halves(__m256 sum, const __m256 (&scales)[2], const __m256 (&mins)[2],
                                     const GemvVector& v, size_t step, Codes codes) {
    alignas(32) float all_scales[16];
    for (int i = 0; i < 2; ++i) {
        _mm256_store_ps(all_scales + 8 * i, scales[i]);
        sum = _mm256_fmadd_ps(mins[i], _mm256_load_ps(v.sums + step * 16 + i * 8), sum);
    }
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
        const size_t b = step * 8 + static_cast<size_t>(j);
        const __m256 two =
            _mm256_set_m128(_mm_set1_ps(all_scales[2 * j + 1]), _mm_set1_ps(all_scales[2 * j]));
        const __m256 scale = _mm256_mul_ps(two, _mm256_set1_ps(v.scales[b]));
        sum = _mm256_fmadd_ps(dot_unsigned(codes(j), v.codes + b * 32), scale, sum);
    }
    return sum;
}

/// Sixteen signed bytes times d.
struct SixteenScales {
    __m256 part[2];
};
HOKKU_INLINE SixteenScales widen_scales(__m128i bytes, float d) {
    const __m256 factor = _mm256_set1_ps(d);
    const auto widen = [factor](__m128i x) HOKKU_LAMBDA {
        return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(x)), factor);
    };
    return {{widen(bytes), widen(_mm_srli_si128(bytes, 8))}};
}

struct StepQ6_K {
    static constexpr size_t kValues = 256, kBytes = 210;
    static constexpr VectorLayout kLayout = VectorLayout::super_halves;
    static constexpr int kZeroPoint = 32;
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t step) {
        const SixteenScales s = widen_scales(load_bytes16(p + 192), load_half_float(p + 208));
        return add_super_halves(sum, s.part, s.part, v, step, [p](int j) HOKKU_LAMBDA {
            const int half = j / 4;
            const __m256i low = load_bytes32(p + 64 * half + 32 * (j % 2));
            const __m256i high = load_bytes32(p + 128 + 32 * half);
            return _mm256_or_si256(
                keep_bits(shift_right(low, j % 4 / 2 * 4), 15),
                _mm256_slli_epi16(keep_bits(shift_right(high, j % 4 * 2), 3), 4));
        });
    }
};

// Super-blocks whose scales are whole numbers, one for each 16 values: layout super_halves. The
// scales come in where pairs of products are added up to fours.

template <size_t kBlockBytes>
struct SuperBlock {
    static constexpr size_t kValues = 256, kBytes = kBlockBytes;
    static constexpr VectorLayout kLayout = VectorLayout::super_halves;
    static constexpr int kZeroPoint = 1;
};

/// `pairs(j, codes)` gives the products of 32 weights with codes, summed by pairs. With a zero
/// point the sums of the vector count as well.
template <bool kHasZeroPoint = false, class Pairs>
HOKKU_INLINE __m256 add_whole_scales(__m256 sum, __m256i scales, float d, const GemvVector& v,
                                     size_t step, Pairs pairs) {
    __m256 total = _mm256_setzero_ps();
    if (kHasZeroPoint) {
        const auto to_floats = [](__m128i x) HOKKU_LAMBDA {
            return _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(x));
        };
        const float* sums = v.sums + step * 16;
        total = _mm256_mul_ps(to_floats(_mm256_castsi256_si128(scales)), _mm256_load_ps(sums));
        total = _mm256_fmadd_ps(to_floats(_mm256_extracti128_si256(scales, 1)),
                                _mm256_load_ps(sums + 8), total);
    }
    // Scales of first halves, then of second halves.
    const __m256i split = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15, 0,
                                           1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    scales = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(scales, split), 0xd8);
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
        const size_t b = step * 8 + static_cast<size_t>(j);
        const __m256i own = _mm256_shuffle_epi8(
            scales, _mm256_set1_epi16(static_cast<int16_t>(0x0100 + 0x0202 * j)));
        const __m256i dots = _mm256_madd_epi16(pairs(j, v.codes + b * 32), own);
        total = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dots), _mm256_broadcast_ss(v.scales + b), total);
    }
    return _mm256_fmadd_ps(total, _mm256_set1_ps(d), sum);
}

struct StepQ3_K : SuperBlock<110> {
    static constexpr int kZeroPoint = 4;
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t step) {
        const __m256i scales = _mm256_cvtepi8_epi16(unpack_q3_k_scales(p + 96));
        const __m256i third = load_bytes32(p);
        return add_whole_scales<true>(
            sum, scales, load_half_float(p + 108), v, step,
            [p, third](int j, const int8_t* codes) HOKKU_LAMBDA {
                const __m256i x = load_bytes32(p + 32 + 32 * (j / 4));
                const __m256i bit = keep_bits(
                    j < 2 ? _mm256_slli_epi16(third, 2 - j) : shift_right(third, j - 2), 4);
                const __m256i weights =
                    _mm256_or_si256(keep_bits(shift_right(x, j % 4 * 2), 3), bit);
                return _mm256_maddubs_epi16(weights, load_codes(codes));
            });
    }
};

struct StepQ2_K : SuperBlock<84> {
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t step) {
        const __m128i bytes = load_bytes16(p), nibble = _mm_set1_epi8(15);
        const SixteenScales m =
            widen_scales(_mm_and_si128(_mm_srli_epi16(bytes, 4), nibble), load_half_float(p + 82));
        for (size_t i = 0; i < 2; ++i)
            sum = _mm256_fmadd_ps(m.part[i], _mm256_load_ps(v.sums + step * 16 + i * 8), sum);
        const __m256i scales = _mm256_cvtepi8_epi16(_mm_and_si128(bytes, nibble));
        return add_whole_scales(sum, scales, load_half_float(p + 80), v, step,
                                [p](int j, const int8_t* codes) HOKKU_LAMBDA {
                                    const __m256i x = load_bytes32(p + 16 + 32 * (j / 4));
                                    return _mm256_maddubs_epi16(
                                        keep_bits(shift_right(x, j % 4 * 2), 3), load_codes(codes));
                                });
    }
};

}  // namespace
}  // namespace hokku::cpu
