// SPDX-License-Identifier: Apache-2.0
// A step of a weight row times a quantised vector: unpacks the blocks of kValues weights in place,
// per block type, and adds their products to 16 partial sums. Block layouts are described in
// backend/dequantize_blocks.h, vector layouts in activations.cpp. Internal linkage on purpose.
#pragma once

#include "backend/cpu/avx512/simd.h"
#include "backend/cpu/matmul_kernels.h"
#include "backend/cpu/simd/scales.h"

namespace hokku::cpu {
namespace {

/// A vector as steps see it. Of a fine one each code has 16 bits: what quantising left counts
/// 1 / 2^kFineBits as much. The codes of even places are those of the vector, the others its rest.
template <bool kFine>
struct StepVector {
    const int8_t *steps, *rest_steps;
};

/// Weights of one step: codes in the order of the type's vector layout, so that each of the 16
/// lanes holds codes of one scale, and of one minimum where the type has them.
template <size_t kCodes>
struct Weights {
    __m512i codes[kCodes];
    __m512 scales = _mm512_setzero_ps(), mins = _mm512_setzero_ps();
};

/// For products with fine vectors: the codes of even and of odd places as words.
template <size_t kCodes>
struct WideWeights {
    __m512i even[kCodes], odd[kCodes];
    __m512 scales, mins;
};

template <size_t kCodes>
HOKKU_INLINE WideWeights<kCodes> widen(const Weights<kCodes>& w) {
    WideWeights<kCodes> wide;
    for (size_t i = 0; i < kCodes; ++i) {
        wide.even[i] = _mm512_and_si512(w.codes[i], _mm512_set1_epi16(255));
        wide.odd[i] = _mm512_srli_epi16(w.codes[i], 8);
    }
    wide.scales = w.scales;
    wide.mins = w.mins;
    return wide;
}

template <bool kFine, size_t kCodes>
HOKKU_INLINE auto weights_for(const Weights<kCodes>& w) {
    if constexpr (kFine) {
        return widen(w);
    } else {
        return w;
    }
}

/// What a step takes of a vector.
template <size_t kCodes, bool kFine>
struct StepValues {
    __m512i codes[kCodes], rest_codes[kFine ? kCodes : 1];
    __m512i start;
    __m512 scales, sums;
};

template <size_t kCodes, bool kHasMins, bool kFine>
HOKKU_INLINE StepValues<kCodes, kFine> load_values(const StepVector<kFine>& v, size_t step) {
    constexpr size_t kBytes = kCodes * 64;
    const size_t place = step * (kBytes + 3 * 64);
    const int8_t *p = v.steps + place, *rest = v.rest_steps + place;
    StepValues<kCodes, kFine> values;
    for (size_t i = 0; i < kCodes; ++i) {
        values.codes[i] = _mm512_load_si512(p + 64 * i);
        if (kFine) values.rest_codes[i] = _mm512_load_si512(rest + 64 * i);
    }
    values.start = _mm512_load_si512(p + kBytes);
    values.scales = _mm512_load_ps(p + kBytes + 64);
    if (kHasMins) values.sums = _mm512_load_ps(p + kBytes + 128);
    return values;
}

template <size_t kCodes>
HOKKU_INLINE __m512i dot(const Weights<kCodes>& w, const StepValues<kCodes, false>& x) {
    __m512i dots = x.start;
    for (size_t i = 0; i < kCodes; ++i) dots = _mm512_dpbusd_epi32(dots, w.codes[i], x.codes[i]);
    return dots;
}
template <size_t kCodes>
HOKKU_INLINE __m512i dot(const WideWeights<kCodes>& w, const StepValues<kCodes, true>& x) {
    __m512i dots = x.start;
    for (size_t i = 0; i < kCodes; ++i) {
        dots = _mm512_dpwssd_epi32(dots, w.even[i], x.codes[i]);
        dots = _mm512_dpwssd_epi32(dots, w.odd[i], x.rest_codes[i]);
    }
    return dots;
}

template <bool kHasMins, class W, class X>
HOKKU_INLINE __m512 add_products(__m512 sum, const W& w, const X& x) {
    if (kHasMins) sum = _mm512_fmadd_ps(w.mins, x.sums, sum);
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot(w, x)), _mm512_mul_ps(w.scales, x.scales), sum);
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

// Blocks of 32 values, four a step: layout halves.

template <int kBlockBytes, int kZero>
struct FourBlocks {
    static constexpr int kValues = 128, kBytes = 4 * kBlockBytes, kMaskLanes = 4;
    static constexpr VectorLayout kLayout = VectorLayout::halves;
    static constexpr int kZeroPoint = kZero;
    static constexpr bool kHasMins = false;
};

struct StepQ4_0 : FourBlocks<18, 8> {
    HOKKU_INLINE static Weights<2> unpack(const uint8_t* p, __mmask16 lanes) {
        const __m512i codes = gather_codes<18, 2>(p);
        return {{low_nibbles(codes), high_nibbles(codes)},
                _mm512_maskz_cvtph_ps(lanes, gather_halves<18, 0>(p))};
    }
};

struct StepQ4_1 : FourBlocks<20, 0> {
    static constexpr bool kHasMins = true;
    HOKKU_INLINE static Weights<2> unpack(const uint8_t* p, __mmask16 lanes) {
        const __m512i codes = gather_codes<20, 4>(p);
        return {{low_nibbles(codes), high_nibbles(codes)},
                _mm512_maskz_cvtph_ps(lanes, gather_halves<20, 0>(p)),
                _mm512_maskz_cvtph_ps(lanes, gather_halves<20, 2>(p))};
    }
};

struct StepQ5_0 : FourBlocks<22, 16> {
    HOKKU_INLINE static Weights<2> unpack(const uint8_t* p, __mmask16 lanes) {
        const __m512i codes = gather_codes<22, 6>(p);
        Weights<2> w{{low_nibbles(codes), high_nibbles(codes)},
                     _mm512_maskz_cvtph_ps(lanes, gather_halves<22, 0>(p))};
        add_fifth_bits<22, 2>(p, w.codes[0], w.codes[1]);
        return w;
    }
};

struct StepQ5_1 : FourBlocks<24, 0> {
    static constexpr bool kHasMins = true;
    HOKKU_INLINE static Weights<2> unpack(const uint8_t* p, __mmask16 lanes) {
        const __m512i codes = gather_codes<24, 8>(p);
        Weights<2> w{{low_nibbles(codes), high_nibbles(codes)},
                     _mm512_maskz_cvtph_ps(lanes, gather_halves<24, 0>(p)),
                     _mm512_maskz_cvtph_ps(lanes, gather_halves<24, 2>(p))};
        add_fifth_bits<24, 4>(p, w.codes[0], w.codes[1]);
        return w;
    }
};

struct StepQ8_0 : FourBlocks<34, 128> {
    HOKKU_INLINE static Weights<2> unpack(const uint8_t* p, __mmask16 lanes) {
        // The scales at bytes 0 and 34 of one load, those at 68 and 102 of another from 40 on.
        const __m512i index = _mm512_castsi256_si512(
            _mm256_set_epi16(63, 63, 63, 63, 46, 46, 46, 46, 17, 17, 17, 17, 0, 0, 0, 0));
        const __m256i halves = _mm512_castsi512_si256(
            _mm512_permutex2var_epi16(load_bytes(p), index, load_bytes(p + 40)));
        const __m512i sign = _mm512_set1_epi8(-128);
        return {{_mm512_xor_si512(gather_codes<34, 2>(p), sign),
                 _mm512_xor_si512(gather_codes<34, 18>(p), sign)},
                _mm512_maskz_cvtph_ps(lanes, halves)};
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

struct StepIq4Nl : FourBlocks<18, 128> {
    HOKKU_INLINE static Weights<2> unpack(const uint8_t* p, __mmask16 lanes) {
        const __m512i codes = gather_codes<18, 2>(p);
        return {{iq4_steps(low_nibbles(codes)), iq4_steps(high_nibbles(codes))},
                _mm512_maskz_cvtph_ps(lanes, gather_halves<18, 0>(p))};
    }
};

/// 2^(e - 128) of E8M0 exponents; subnormal below 2.
HOKKU_INLINE __m512 e8m0_halves(__m512i e) {
    const __m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(e, _mm512_set1_epi32(1)), 23);
    const __mmask16 is_small = _mm512_cmplt_epi32_mask(e, _mm512_set1_epi32(2));
    return _mm512_castsi512_ps(
        _mm512_mask_sllv_epi32(normal, is_small, _mm512_set1_epi32(0x00200000), e));
}

struct StepMxfp4 : FourBlocks<17, 128> {
    HOKKU_INLINE static Weights<2> unpack(const uint8_t* p, __mmask16 lanes) {
        const __m512i codes = gather_codes<17, 1>(p);
        const __m512i index = spread_by_four(0, 17, 34, 51);  // Byte 0 of each lane.
        const __m512i exponents =
            _mm512_maskz_permutexvar_epi8(0x1111111111111111, index, load_bytes(p));
        return {{fp4_steps(low_nibbles(codes)), fp4_steps(high_nibbles(codes))},
                _mm512_maskz_mov_ps(lanes, e8m0_halves(exponents))};
    }
};

// Super-blocks of 256 values: a row is a whole number of them, so `lanes` has no use.

template <int kBlockBytes, VectorLayout kOrder, int kZero>
struct SuperBlock {
    static constexpr int kValues = 256, kBytes = kBlockBytes, kMaskLanes = 0;
    static constexpr VectorLayout kLayout = kOrder;
    static constexpr int kZeroPoint = kZero;
    static constexpr bool kHasMins = false;
};

/// Every 16 codes of four registers share a scale. Moves the j-th four of them to register j, so
/// that lane 4 q + i holds what was in quarter q of register i, and four products add up in it.
HOKKU_INLINE void gather_lanes(__m512i (&codes)[4]) {
    const __m512i ab = _mm512_unpacklo_epi32(codes[0], codes[1]);
    const __m512i cd = _mm512_unpacklo_epi32(codes[2], codes[3]);
    const __m512i ab_back = _mm512_unpackhi_epi32(codes[0], codes[1]);
    const __m512i cd_back = _mm512_unpackhi_epi32(codes[2], codes[3]);
    codes[0] = _mm512_unpacklo_epi64(ab, cd);
    codes[1] = _mm512_unpackhi_epi64(ab, cd);
    codes[2] = _mm512_unpacklo_epi64(ab_back, cd_back);
    codes[3] = _mm512_unpackhi_epi64(ab_back, cd_back);
}

/// Scales and minima of Q4_K and Q5_K with their factors; registers [0, 2], [1, 3], [4, 6], [5, 7].
HOKKU_INLINE void spread_q4_k_scales(const uint8_t* p, Weights<4>& w) {
    const ScalesAndMins s = unpack_q4_k_scales(p + 4);
    const __m256 scales = _mm256_mul_ps(s.scales, _mm256_set1_ps(load_half_float(p)));
    const __m256 mins = _mm256_mul_ps(s.mins, _mm256_set1_ps(load_half_float(p + 2)));
    const __m512i index = _mm512_set_epi32(7, 6, 3, 2, 7, 6, 3, 2, 5, 4, 1, 0, 5, 4, 1, 0);
    w.scales = _mm512_permutexvar_ps(index, _mm512_castps256_ps512(scales));
    w.mins = _mm512_permutexvar_ps(index, _mm512_castps256_ps512(mins));
}

struct StepQ4_K : SuperBlock<144, VectorLayout::super_pairs, 0> {
    static constexpr bool kHasMins = true;
    HOKKU_INLINE static Weights<4> unpack(const uint8_t* p, __mmask16) {
        const __m512i front = load_bytes(p + 16), back = load_bytes(p + 80);
        Weights<4> w{
            {low_nibbles(front), high_nibbles(front), low_nibbles(back), high_nibbles(back)}};
        gather_lanes(w.codes);
        spread_q4_k_scales(p, w);
        return w;
    }
};

/// Rotates the 64-bit numbers of the lower and upper half left, each half by its own count, so
/// that the wanted bit of every byte comes to its place; the caller masks it.
HOKKU_INLINE __m512i rotate_halves(__m512i x, int lower, int upper) {
    return _mm512_rolv_epi64(x, _mm512_set_epi64(upper & 63, upper & 63, upper & 63, upper & 63,
                                                 lower & 63, lower & 63, lower & 63, lower & 63));
}

struct StepQ5_K : SuperBlock<176, VectorLayout::super_pairs, 0> {
    static constexpr bool kHasMins = true;
    HOKKU_INLINE static Weights<4> unpack(const uint8_t* p, __mmask16) {
        const __m512i front = load_bytes(p + 48), back = load_bytes(p + 112);
        const __m512i fifth = _mm512_broadcast_i64x4(load_bytes32(p + 16));
        const __m512i bit = _mm512_set1_epi8(16);
        Weights<4> w{{or_and(low_nibbles(front), rotate_halves(fifth, 4, 2), bit),
                      or_and(high_nibbles(front), rotate_halves(fifth, 3, 1), bit),
                      or_and(low_nibbles(back), rotate_halves(fifth, 0, -2), bit),
                      or_and(high_nibbles(back), rotate_halves(fifth, -1, -3), bit)}};
        gather_lanes(w.codes);
        spread_q4_k_scales(p, w);
        return w;
    }
};

/// Sixteen scales times the f16 at d, in the order of the layout.
HOKKU_INLINE __m512 order_scales(__m128i bytes, __m128i order, const uint8_t* d) {
    return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_shuffle_epi8(bytes, order))),
                         _mm512_set1_ps(load_half_float(d)));
}
/// Quarter q of register i holds the values of scale 4 i + q (layout super_linear).
HOKKU_INLINE __m128i linear_order() {
    return _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
}
/// Quarter q of register i holds the values of scale 2 i + q % 2 + 8 (q / 2) (layout super_two).
HOKKU_INLINE __m128i two_order() {
    return _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
}

struct StepQ6_K : SuperBlock<210, VectorLayout::super_linear, 32> {
    HOKKU_INLINE static Weights<4> unpack(const uint8_t* p, __mmask16) {
        const __m512i bits = _mm512_set1_epi8(0x30);
        Weights<4> w;
        for (int half = 0; half < 2; ++half) {
            const __m512i low = load_bytes(p + 64 * half);
            const __m512i high = _mm512_broadcast_i64x4(load_bytes32(p + 128 + 32 * half));
            w.codes[2 * half] = or_and(low_nibbles(low), rotate_halves(high, 4, 2), bits);
            w.codes[2 * half + 1] = or_and(high_nibbles(low), rotate_halves(high, 0, -2), bits);
        }
        gather_lanes(w.codes);
        w.scales = order_scales(load_bytes16(p + 192), linear_order(), p + 208);
        return w;
    }
};

/// The four fields of every byte.
HOKKU_INLINE void two_bit_fields(__m512i x, __m512i (&fields)[4]) {
    const __m512i bits = _mm512_set1_epi8(3);
    fields[0] = _mm512_and_si512(x, bits);
    fields[1] = _mm512_and_si512(_mm512_srli_epi16(x, 2), bits);
    fields[2] = _mm512_and_si512(_mm512_srli_epi16(x, 4), bits);
    fields[3] = _mm512_and_si512(_mm512_srli_epi16(x, 6), bits);
}

struct StepQ2_K : SuperBlock<84, VectorLayout::super_two, 0> {
    static constexpr bool kHasMins = true;
    HOKKU_INLINE static Weights<4> unpack(const uint8_t* p, __mmask16) {
        const __m128i bytes = load_bytes16(p), nibble = _mm_set1_epi8(15);
        const __m128i upper = _mm_and_si128(_mm_srli_epi16(bytes, 4), nibble);
        Weights<4> w;
        two_bit_fields(load_bytes(p + 16), w.codes);
        gather_lanes(w.codes);
        w.scales = order_scales(_mm_and_si128(bytes, nibble), two_order(), p + 80);
        w.mins = order_scales(upper, two_order(), p + 82);
        return w;
    }
};

struct StepQ3_K : SuperBlock<110, VectorLayout::super_two, 4> {
    HOKKU_INLINE static Weights<4> unpack(const uint8_t* p, __mmask16) {
        const __m512i third = _mm512_broadcast_i64x4(load_bytes32(p));
        const __m512i bit = _mm512_set1_epi8(4);
        Weights<4> w;
        two_bit_fields(load_bytes(p + 32), w.codes);
        w.codes[0] = or_and(w.codes[0], rotate_halves(third, 2, -2), bit);
        w.codes[1] = or_and(w.codes[1], rotate_halves(third, 1, -3), bit);
        w.codes[2] = or_and(w.codes[2], rotate_halves(third, 0, -4), bit);
        w.codes[3] = or_and(w.codes[3], rotate_halves(third, -1, -5), bit);
        gather_lanes(w.codes);
        w.scales = order_scales(unpack_q3_k_scales(p + 96), two_order(), p + 108);
        return w;
    }
};

struct StepIq4Xs : SuperBlock<136, VectorLayout::super_nibbles, 128> {
    HOKKU_INLINE static Weights<4> unpack(const uint8_t* p, __mmask16) {
        const __m256 scales = _mm256_mul_ps(_mm256_cvtepi32_ps(unpack_iq4_xs_scales(p + 2)),
                                            _mm256_set1_ps(load_half_float(p)));
        const __m512i front = load_bytes(p + 8), back = load_bytes(p + 72);
        Weights<4> w{
            {low_nibbles(front), high_nibbles(front), low_nibbles(back), high_nibbles(back)},
            _mm512_permutexvar_ps(_mm512_set_epi32(7, 7, 3, 3, 6, 6, 2, 2, 5, 5, 1, 1, 4, 4, 0, 0),
                                  _mm512_castps256_ps512(scales))};
        for (__m512i& codes : w.codes) codes = iq4_steps(codes);
        gather_lanes(w.codes);
        return w;
    }
};

}  // namespace
}  // namespace hokku::cpu
