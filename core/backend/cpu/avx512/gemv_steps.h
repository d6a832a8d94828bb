// SPDX-License-Identifier: Apache-2.0
// One step of a weight row times a quantised vector, per block type: reads the blocks of kValues
// weights in place and adds their products to 16 partial sums. Block layouts are described in
// backend/dequantize_blocks.h, vector layouts in activations.cpp. Internal linkage on purpose.
#pragma once

#include "backend/cpu/avx512/simd.h"
#include "backend/cpu/matmul_kernels.h"
#include "backend/cpu/simd/scales.h"

namespace hokku::cpu {
namespace {

/// A vector as steps see it. A fine one has besides its codes those of what quantising left: they
/// count 1 / 2^kFineBits as much, so that both add up to one integer, which has one start.
template <bool kFine>
struct StepVector {
    static constexpr bool kIsFine = kFine;
    const int8_t *codes, *rest_codes;
    const int32_t* starts;
    const float *scales, *sums;
};

HOKKU_INLINE __m512i dot(__m512i start, __m512i unsigned_codes, const int8_t* codes) {
    return _mm512_dpbusd_epi32(start, unsigned_codes, _mm512_load_si512(codes));
}

HOKKU_INLINE __m512 add_products(__m512 sum, __m512i dots, __m512 scales) {
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots), scales, sum);
}

/// Lane i takes number numbers[i / 4] of a register.
HOKKU_INLINE __m512i spread_by_four(int a, int b, int c, int d) {
    return _mm512_set_epi32(d, d, d, d, c, c, c, c, b, b, b, b, a, a, a, a);
}

/// The 16-bit numbers at byte `offset` of four blocks that follow each other, each in four of the
/// 16 lanes.
template <int kBytes, int offset>
HOKKU_INLINE __m256i gather_halves(const uint8_t* p) {
    constexpr int kLast = 3 * kBytes + offset;
    constexpr int kStart = kLast + 2 <= 64 ? 0 : kLast + 2 - 64;  // Of the one load.
    constexpr int kFirst = offset - kStart >= 0 ? (offset - kStart) / 2 : 0;
    constexpr int kSecond = (kBytes + offset - kStart) / 2;
    constexpr int kThird = (2 * kBytes + offset - kStart) / 2;
    constexpr int kFourth = (kLast - kStart) / 2;
    static_assert(kBytes % 2 == 0 && kStart % 2 == 0 && offset % 2 == 0);
    const __m512i index = _mm512_castsi256_si512(
        _mm256_set_epi16(kFourth, kFourth, kFourth, kFourth, kThird, kThird, kThird, kThird,
                         kSecond, kSecond, kSecond, kSecond, kFirst, kFirst, kFirst, kFirst));
    const __m256i halves =
        _mm512_castsi512_si256(_mm512_permutexvar_epi16(index, load_bytes(p + kStart)));
    if constexpr (offset >= kStart) return halves;
    uint16_t first;  // The first block's number lies before the load.
    std::memcpy(&first, p + offset, sizeof first);
    return _mm256_mask_set1_epi16(halves, 0xf, static_cast<int16_t>(first));
}

/// The 16 code bytes at `offset` of four blocks, one block in each 128-bit lane.
template <int kBytes, int offset>
HOKKU_INLINE __m512i gather_codes(const uint8_t* p) {
    __m512i codes = _mm512_castsi128_si512(load_bytes16(p + offset));
    codes = _mm512_mask_broadcast_i32x4(codes, 0x00f0, load_bytes16(p + offset + kBytes));
    codes = _mm512_mask_broadcast_i32x4(codes, 0x0f00, load_bytes16(p + offset + 2 * kBytes));
    return _mm512_mask_broadcast_i32x4(codes, 0xf000, load_bytes16(p + offset + 3 * kBytes));
}

/// Adds 16 to the codes whose fifth bits are set; the bits of four blocks lie at `offset`.
template <int kBytes, int offset>
HOKKU_INLINE void add_fifth_bits(const uint8_t* p, __m512i& low, __m512i& high) {
    const auto word = [p](int block) { return uint64_t{load_word(p + block * kBytes + offset)}; };
    const uint64_t front = word(0) | word(1) << 32, back = word(2) | word(3) << 32;
    constexpr uint64_t kLowHalves = 0x0000ffff0000ffff;
    const __mmask64 low_bits = _pext_u64(front, kLowHalves) | _pext_u64(back, kLowHalves) << 32;
    const __mmask64 high_bits = _pext_u64(front, ~kLowHalves) | _pext_u64(back, ~kLowHalves) << 32;
    const __m512i sixteen = _mm512_set1_epi8(16);
    low = _mm512_mask_add_epi8(low, low_bits, low, sixteen);
    high = _mm512_mask_add_epi8(high, high_bits, high, sixteen);
}

/// The end of a step of the layout halves: four blocks of 32, low and high codes.
template <class V>
HOKKU_INLINE __m512 finish_halves(__m512 sum, __m512i low, __m512i high, __m512 scales, const V& v,
                                  size_t step) {
    const __m512i start = _mm512_load_si512(v.starts + step * 16);
    __m512i dots = dot(V::kIsFine ? _mm512_setzero_si512() : start, low, v.codes + step * 128);
    dots = dot(dots, high, v.codes + step * 128 + 64);
    if constexpr (V::kIsFine) {
        dots = _mm512_add_epi32(_mm512_slli_epi32(dots, kFineBits), start);
        dots = dot(dots, low, v.rest_codes + step * 128);
        dots = dot(dots, high, v.rest_codes + step * 128 + 64);
    }
    return add_products(sum, dots, _mm512_mul_ps(scales, _mm512_load_ps(v.scales + step * 16)));
}

struct StepQ4_0 {
    static constexpr int kValues = 128, kBytes = 72, kMaskLanes = 4;
    static constexpr VectorLayout kLayout = VectorLayout::halves;
    static constexpr int kZeroPoint = 8;
    template <class V>
    HOKKU_INLINE static __m512 run(__m512 sum, const uint8_t* p, const V& v, size_t step,
                                   __mmask16 lanes) {
        const __m512i codes = gather_codes<18, 2>(p);
        const __m512 scales = _mm512_maskz_cvtph_ps(lanes, gather_halves<18, 0>(p));
        return finish_halves(sum, low_nibbles(codes), high_nibbles(codes), scales, v, step);
    }
};

struct StepQ4_1 {
    static constexpr int kValues = 128, kBytes = 80, kMaskLanes = 4;
    static constexpr VectorLayout kLayout = VectorLayout::halves;
    static constexpr int kZeroPoint = 0;
    template <class V>
    HOKKU_INLINE static __m512 run(__m512 sum, const uint8_t* p, const V& v, size_t step,
                                   __mmask16 lanes) {
        const __m512i codes = gather_codes<20, 4>(p);
        const __m512 scales = _mm512_maskz_cvtph_ps(lanes, gather_halves<20, 0>(p));
        const __m512 mins = _mm512_maskz_cvtph_ps(lanes, gather_halves<20, 2>(p));
        sum = _mm512_fmadd_ps(mins, _mm512_load_ps(v.sums + step * 16), sum);
        return finish_halves(sum, low_nibbles(codes), high_nibbles(codes), scales, v, step);
    }
};

struct StepQ5_0 {
    static constexpr int kValues = 128, kBytes = 88, kMaskLanes = 4;
    static constexpr VectorLayout kLayout = VectorLayout::halves;
    static constexpr int kZeroPoint = 16;
    template <class V>
    HOKKU_INLINE static __m512 run(__m512 sum, const uint8_t* p, const V& v, size_t step,
                                   __mmask16 lanes) {
        const __m512i codes = gather_codes<22, 6>(p);
        const __m512 scales = _mm512_maskz_cvtph_ps(lanes, gather_halves<22, 0>(p));
        __m512i low = low_nibbles(codes), high = high_nibbles(codes);
        add_fifth_bits<22, 2>(p, low, high);
        return finish_halves(sum, low, high, scales, v, step);
    }
};

struct StepQ5_1 {
    static constexpr int kValues = 128, kBytes = 96, kMaskLanes = 4;
    static constexpr VectorLayout kLayout = VectorLayout::halves;
    static constexpr int kZeroPoint = 0;
    template <class V>
    HOKKU_INLINE static __m512 run(__m512 sum, const uint8_t* p, const V& v, size_t step,
                                   __mmask16 lanes) {
        const __m512i codes = gather_codes<24, 8>(p);
        const __m512 scales = _mm512_maskz_cvtph_ps(lanes, gather_halves<24, 0>(p));
        const __m512 mins = _mm512_maskz_cvtph_ps(lanes, gather_halves<24, 2>(p));
        __m512i low = low_nibbles(codes), high = high_nibbles(codes);
        add_fifth_bits<24, 4>(p, low, high);
        sum = _mm512_fmadd_ps(mins, _mm512_load_ps(v.sums + step * 16), sum);
        return finish_halves(sum, low, high, scales, v, step);
    }
};

/// The steps of IQ4_NL and IQ4_XS, 128 added.
HOKKU_INLINE __m512i iq4_steps(__m512i codes) {
    const __m128i steps =
        _mm_setr_epi8(1, 24, 45, 63, 79, 93, 106, 118, -127, -115, -103, -90, -75, -59, -39, -15);
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(steps), codes);
}

/// Twice the values of FP4, 128 added.
HOKKU_INLINE __m512i fp4_steps(__m512i codes) {
    const __m128i steps = _mm_setr_epi8(-128, -127, -126, -125, -124, -122, -120, -116, -128, 127,
                                        126, 125, 124, 122, 120, 116);
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(steps), codes);
}

struct StepIq4Nl {
    static constexpr int kValues = 128, kBytes = 72, kMaskLanes = 4;
    static constexpr VectorLayout kLayout = VectorLayout::halves;
    static constexpr int kZeroPoint = 128;
    template <class V>
    HOKKU_INLINE static __m512 run(__m512 sum, const uint8_t* p, const V& v, size_t step,
                                   __mmask16 lanes) {
        const __m512i codes = gather_codes<18, 2>(p);
        const __m512 scales = _mm512_maskz_cvtph_ps(lanes, gather_halves<18, 0>(p));
        return finish_halves(sum, iq4_steps(low_nibbles(codes)), iq4_steps(high_nibbles(codes)),
                             scales, v, step);
    }
};

/// 2^(e - 128) of E8M0 exponents; subnormal below 2.
HOKKU_INLINE __m512 e8m0_halves(__m512i e) {
    const __m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(e, _mm512_set1_epi32(1)), 23);
    const __mmask16 is_small = _mm512_cmplt_epi32_mask(e, _mm512_set1_epi32(2));
    return _mm512_castsi512_ps(
        _mm512_mask_sllv_epi32(normal, is_small, _mm512_set1_epi32(0x00200000), e));
}

struct StepMxfp4 {
    static constexpr int kValues = 128, kBytes = 68, kMaskLanes = 4;
    static constexpr VectorLayout kLayout = VectorLayout::halves;
    static constexpr int kZeroPoint = 128;
    template <class V>
    HOKKU_INLINE static __m512 run(__m512 sum, const uint8_t* p, const V& v, size_t step,
                                   __mmask16 lanes) {
        const __m512i codes = gather_codes<17, 1>(p);
        const __m512i index = spread_by_four(0, 17, 34, 51);  // Byte 0 of each lane.
        const __m512i exponents =
            _mm512_maskz_permutexvar_epi8(0x1111111111111111, index, load_bytes(p));
        const __m512 scales = _mm512_maskz_mov_ps(lanes, e8m0_halves(exponents));
        return finish_halves(sum, fp4_steps(low_nibbles(codes)), fp4_steps(high_nibbles(codes)),
                             scales, v, step);
    }
};

struct StepQ8_0 {
    static constexpr int kValues = 64, kBytes = 68, kMaskLanes = 8;
    static constexpr VectorLayout kLayout = VectorLayout::pairs;
    static constexpr int kZeroPoint = 128;
    template <class V>
    HOKKU_INLINE static __m512 run(__m512 sum, const uint8_t* p, const V& v, size_t step,
                                   __mmask16 lanes) {
        const __m512i codes = _mm512_xor_si512(join(load_bytes32(p + 2), load_bytes32(p + 36)),
                                               _mm512_set1_epi8(-128));
        const __m512i start = _mm512_load_si512(v.starts + step * 16);
        __m512i dots = dot(V::kIsFine ? _mm512_setzero_si512() : start, codes, v.codes + step * 64);
        if constexpr (V::kIsFine) {
            dots = _mm512_add_epi32(_mm512_slli_epi32(dots, kFineBits), start);
            dots = dot(dots, codes, v.rest_codes + step * 64);
        }
        const __m512i index = _mm512_castsi256_si512(
            _mm256_set_epi16(17, 17, 17, 17, 17, 17, 17, 17, 0, 0, 0, 0, 0, 0, 0, 0));
        const __m256i halves =
            _mm512_castsi512_si256(_mm512_permutexvar_epi16(index, load_bytes(p)));
        const __m512 scales = _mm512_maskz_cvtph_ps(lanes, halves);
        return add_products(sum, dots, _mm512_mul_ps(scales, _mm512_load_ps(v.scales + step * 16)));
    }
};

// Super-blocks of 256 values: a row is a whole number of them, so `lanes` has no use.

/// Products of the 64 codes at `offset` of the vector.
template <class V>
HOKKU_INLINE __m512i dot_at(__m512i codes, const V& v, size_t offset) {
    const __m512i dots = dot(_mm512_setzero_si512(), codes, v.codes + offset);
    if constexpr (!V::kIsFine) return dots;
    return dot(_mm512_slli_epi32(dots, kFineBits), codes, v.rest_codes + offset);
}

/// Layout super_pairs: codes of sub-blocks [0, 2], [1, 3], [4, 6], [5, 7]; per sub-block a scale
/// and -scale * sum.
template <class V>
HOKKU_INLINE __m512 finish_super_pairs(__m512 sum, const __m512i (&codes)[4], __m256 scales,
                                       __m256 mins, const V& v, size_t step) {
    const size_t x = step * 256;
    const __m512 s =
        _mm512_castps256_ps512(_mm256_mul_ps(scales, _mm256_load_ps(v.scales + step * 8)));
    sum = _mm512_add_ps(
        sum, _mm512_zextps256_ps512(_mm256_mul_ps(mins, _mm256_load_ps(v.sums + step * 8))));
    sum = add_products(sum, dot_at(codes[0], v, x),
                       _mm512_permutexvar_ps(spread_by_four(0, 0, 2, 2), s));
    sum = add_products(sum, dot_at(codes[1], v, x + 64),
                       _mm512_permutexvar_ps(spread_by_four(1, 1, 3, 3), s));
    sum = add_products(sum, dot_at(codes[2], v, x + 128),
                       _mm512_permutexvar_ps(spread_by_four(4, 4, 6, 6), s));
    return add_products(sum, dot_at(codes[3], v, x + 192),
                        _mm512_permutexvar_ps(spread_by_four(5, 5, 7, 7), s));
}

struct StepQ4_K {
    static constexpr int kValues = 256, kBytes = 144, kMaskLanes = 0;
    static constexpr VectorLayout kLayout = VectorLayout::super_pairs;
    static constexpr int kZeroPoint = 1;
    template <class V>
    HOKKU_INLINE static __m512 run(__m512 sum, const uint8_t* p, const V& v, size_t step,
                                   __mmask16) {
        const ScalesAndMins s = unpack_q4_k_scales(p + 4);
        const __m256 scales = _mm256_mul_ps(s.scales, _mm256_set1_ps(load_half_float(p)));
        const __m256 mins = _mm256_mul_ps(s.mins, _mm256_set1_ps(load_half_float(p + 2)));
        const __m512i front = load_bytes(p + 16), back = load_bytes(p + 80);
        const __m512i codes[4] = {low_nibbles(front), high_nibbles(front), low_nibbles(back),
                                  high_nibbles(back)};
        return finish_super_pairs(sum, codes, scales, mins, v, step);
    }
};

/// Rotates the 64-bit numbers of the lower and upper half left, each half by its own count, so
/// that the wanted bit of every byte comes to its place; the caller masks it.
HOKKU_INLINE __m512i rotate_halves(__m512i x, int lower, int upper) {
    return _mm512_rolv_epi64(x, _mm512_set_epi64(upper & 63, upper & 63, upper & 63, upper & 63,
                                                 lower & 63, lower & 63, lower & 63, lower & 63));
}

struct StepQ5_K {
    static constexpr int kValues = 256, kBytes = 176, kMaskLanes = 0;
    static constexpr VectorLayout kLayout = VectorLayout::super_pairs;
    static constexpr int kZeroPoint = 1;
    template <class V>
    HOKKU_INLINE static __m512 run(__m512 sum, const uint8_t* p, const V& v, size_t step,
                                   __mmask16) {
        const ScalesAndMins s = unpack_q4_k_scales(p + 4);
        const __m256 scales = _mm256_mul_ps(s.scales, _mm256_set1_ps(load_half_float(p)));
        const __m256 mins = _mm256_mul_ps(s.mins, _mm256_set1_ps(load_half_float(p + 2)));
        const __m512i front = load_bytes(p + 48), back = load_bytes(p + 112);
        const __m512i fifth = _mm512_broadcast_i64x4(load_bytes32(p + 16));
        const __m512i bit = _mm512_set1_epi8(16);
        const __m512i codes[4] = {
            or_and(low_nibbles(front), rotate_halves(fifth, 4, 2), bit),
            or_and(high_nibbles(front), rotate_halves(fifth, 3, 1), bit),
            or_and(low_nibbles(back), rotate_halves(fifth, 0, -2), bit),
            or_and(high_nibbles(back), rotate_halves(fifth, -1, -3), bit),
        };
        return finish_super_pairs(sum, codes, scales, mins, v, step);
    }
};

/// Layouts super_linear and super_two: 16 scales, one for each 16 values; `index` says which of
/// them belong to the four quarters of a register of codes.
template <class V>
HOKKU_INLINE __m512 finish_sixteen(__m512 sum, const __m512i (&codes)[4], const __m512i (&index)[4],
                                   __m512 scales, const V& v, size_t step) {
    const size_t x = step * 256;
    scales = _mm512_mul_ps(scales, _mm512_load_ps(v.scales + step * 16));
    for (int i = 0; i < 4; ++i) {
        sum = add_products(sum, dot_at(codes[i], v, x + 64 * static_cast<size_t>(i)),
                           _mm512_permutexvar_ps(index[i], scales));
    }
    return sum;
}

template <class V>
HOKKU_INLINE __m512 finish_super_linear(__m512 sum, const __m512i (&codes)[4], __m512 scales,
                                        const V& v, size_t step) {
    const __m512i index[4] = {spread_by_four(0, 1, 2, 3), spread_by_four(4, 5, 6, 7),
                              spread_by_four(8, 9, 10, 11), spread_by_four(12, 13, 14, 15)};
    return finish_sixteen(sum, codes, index, scales, v, step);
}

struct StepQ6_K {
    static constexpr int kValues = 256, kBytes = 210, kMaskLanes = 0;
    static constexpr VectorLayout kLayout = VectorLayout::super_linear;
    static constexpr int kZeroPoint = 32;
    template <class V>
    HOKKU_INLINE static __m512 run(__m512 sum, const uint8_t* p, const V& v, size_t step,
                                   __mmask16) {
        const __m512 scales =
            _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(load_bytes16(p + 192))),
                          _mm512_set1_ps(load_half_float(p + 208)));
        sum = _mm512_fmadd_ps(scales, _mm512_load_ps(v.sums + step * 16), sum);
        const __m512i bits = _mm512_set1_epi8(0x30);
        __m512i codes[4];
        for (int half = 0; half < 2; ++half) {
            const __m512i low = load_bytes(p + 64 * half);
            const __m512i high = _mm512_broadcast_i64x4(load_bytes32(p + 128 + 32 * half));
            codes[2 * half] = or_and(low_nibbles(low), rotate_halves(high, 4, 2), bits);
            codes[2 * half + 1] = or_and(high_nibbles(low), rotate_halves(high, 0, -2), bits);
        }
        return finish_super_linear(sum, codes, scales, v, step);
    }
};

/// Scales of the four registers of Q2_K and Q3_K codes (layout super_two): register i holds values
/// 32 i.. of both halves of the super-block.
template <class V>
HOKKU_INLINE __m512 finish_super_two(__m512 sum, const __m512i (&codes)[4], __m512 scales,
                                     const V& v, size_t step) {
    const __m512i index[4] = {spread_by_four(0, 1, 8, 9), spread_by_four(2, 3, 10, 11),
                              spread_by_four(4, 5, 12, 13), spread_by_four(6, 7, 14, 15)};
    return finish_sixteen(sum, codes, index, scales, v, step);
}

struct StepQ2_K {
    static constexpr int kValues = 256, kBytes = 84, kMaskLanes = 0;
    static constexpr VectorLayout kLayout = VectorLayout::super_two;
    static constexpr int kZeroPoint = 1;
    template <class V>
    HOKKU_INLINE static __m512 run(__m512 sum, const uint8_t* p, const V& v, size_t step,
                                   __mmask16) {
        const __m128i bytes = load_bytes16(p), nibble = _mm_set1_epi8(15);
        const auto to_floats = [](__m128i x) {
            return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(x));
        };
        const __m512 scales = _mm512_mul_ps(to_floats(_mm_and_si128(bytes, nibble)),
                                            _mm512_set1_ps(load_half_float(p + 80)));
        const __m512 mins =
            _mm512_mul_ps(to_floats(_mm_and_si128(_mm_srli_epi16(bytes, 4), nibble)),
                          _mm512_set1_ps(load_half_float(p + 82)));
        sum = _mm512_fmadd_ps(mins, _mm512_load_ps(v.sums + step * 16), sum);
        const __m512i x = load_bytes(p + 16), bits = _mm512_set1_epi8(3);
        const __m512i codes[4] = {_mm512_and_si512(x, bits),
                                  _mm512_and_si512(_mm512_srli_epi16(x, 2), bits),
                                  _mm512_and_si512(_mm512_srli_epi16(x, 4), bits),
                                  _mm512_and_si512(_mm512_srli_epi16(x, 6), bits)};
        return finish_super_two(sum, codes, scales, v, step);
    }
};

struct StepQ3_K {
    static constexpr int kValues = 256, kBytes = 110, kMaskLanes = 0;
    static constexpr VectorLayout kLayout = VectorLayout::super_two;
    static constexpr int kZeroPoint = 4;
    template <class V>
    HOKKU_INLINE static __m512 run(__m512 sum, const uint8_t* p, const V& v, size_t step,
                                   __mmask16) {
        const __m512 scales =
            _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(unpack_q3_k_scales(p + 96))),
                          _mm512_set1_ps(load_half_float(p + 108)));
        sum = _mm512_fmadd_ps(scales, _mm512_load_ps(v.sums + step * 16), sum);
        const __m512i x = load_bytes(p + 32), bits = _mm512_set1_epi8(3);
        const __m512i third = _mm512_broadcast_i64x4(load_bytes32(p));
        const __m512i bit = _mm512_set1_epi8(4);
        const __m512i codes[4] = {
            or_and(_mm512_and_si512(x, bits), rotate_halves(third, 2, -2), bit),
            or_and(_mm512_and_si512(_mm512_srli_epi16(x, 2), bits), rotate_halves(third, 1, -3),
                   bit),
            or_and(_mm512_and_si512(_mm512_srli_epi16(x, 4), bits), rotate_halves(third, 0, -4),
                   bit),
            or_and(_mm512_and_si512(_mm512_srli_epi16(x, 6), bits), rotate_halves(third, -1, -5),
                   bit),
        };
        return finish_super_two(sum, codes, scales, v, step);
    }
};

/// Two steps of the layout halves.
struct StepIq4Xs {
    static constexpr int kValues = 256, kBytes = 136, kMaskLanes = 0;
    static constexpr VectorLayout kLayout = VectorLayout::halves;
    static constexpr int kZeroPoint = 128;
    template <class V>
    HOKKU_INLINE static __m512 run(__m512 sum, const uint8_t* p, const V& v, size_t step,
                                   __mmask16) {
        const __m512 scales = _mm512_castps256_ps512(_mm256_mul_ps(
            _mm256_cvtepi32_ps(unpack_iq4_xs_scales(p + 2)), _mm256_set1_ps(load_half_float(p))));
        const __m512i front = load_bytes(p + 8), back = load_bytes(p + 72);
        sum = finish_halves(sum, iq4_steps(low_nibbles(front)), iq4_steps(high_nibbles(front)),
                            _mm512_permutexvar_ps(spread_by_four(0, 1, 2, 3), scales), v, 2 * step);
        return finish_halves(sum, iq4_steps(low_nibbles(back)), iq4_steps(high_nibbles(back)),
                             _mm512_permutexvar_ps(spread_by_four(4, 5, 6, 7), scales), v,
                             2 * step + 1);
    }
};

}  // namespace
}  // namespace hokku::cpu
