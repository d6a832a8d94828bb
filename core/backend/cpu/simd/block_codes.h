// SPDX-License-Identifier: Apache-2.0
// Weight blocks as whole numbers times scales, for the GEMMs: one struct per block type, with AVX2.
// Layouts as in backend/dequantize_blocks.h. Internal linkage on purpose.
//
// A struct says how many bits its codes need (kBits: from -2^(kBits - 1) on, or from 0 on where the
// type has minima), gives those of 32 values in their order, codes(p, group), and writes the scales
// of a block, kGemmGroup floats apart. value = code scale + minimum.
#pragma once

#include "backend/cpu/matmul_kernels.h"
#include "backend/cpu/simd/scales.h"
#include "backend/half.h"

namespace hokku::cpu {
namespace {
namespace codes {

/// Low nibbles of 16 bytes, then their high nibbles.
HOKKU_INLINE __m256i nibbles(const uint8_t* p) {
    const __m128i x = load_bytes16(p);
    return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(x, 4), x), _mm256_set1_epi8(15));
}
HOKKU_INLINE __m256i subtract(__m256i codes, int8_t number) {
    return _mm256_sub_epi8(codes, _mm256_set1_epi8(number));
}
HOKKU_INLINE __m256i keep(__m256i x, int8_t bits) {
    return _mm256_and_si256(x, _mm256_set1_epi8(bits));
}
HOKKU_INLINE __m256i shift_right(__m256i x, size_t count) {
    return _mm256_srl_epi16(x, _mm_cvtsi32_si128(static_cast<int>(count)));
}
HOKKU_INLINE __m256i fifth_bits(uint32_t bits) {
    return keep(bits_to_bytes(bits), 16);
}
/// Minus where the bits are set.
HOKKU_INLINE __m256i with_signs(__m256i codes, uint32_t bits) {
    const __m256i minus = bits_to_bytes(bits);
    return _mm256_sub_epi8(_mm256_xor_si256(codes, minus), minus);
}
HOKKU_INLINE __m256i look_up(__m128i table, __m256i codes) {
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), codes);
}
HOKKU_INLINE __m256i iq4_steps(__m256i codes) {
    return look_up(
        _mm_setr_epi8(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113),
        codes);
}
/// Twice the values of FP4.
HOKKU_INLINE __m256i fp4_steps(__m256i codes) {
    return look_up(_mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12), codes);
}
/// The eight fields of each of four words, kFieldBits bits each, as bytes.
template <int kFieldBits>
HOKKU_INLINE __m256i fields_of(const uint32_t (&words)[4]) {
    const __m256i shifts = _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                                              _mm256_set1_epi32(kFieldBits));
    __m256i parts[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        parts[i] = _mm256_and_si256(
            _mm256_srlv_epi32(_mm256_set1_epi32(static_cast<int>(words[i])), shifts),
            _mm256_set1_epi32((1 << kFieldBits) - 1));
    }
    const __m256i mixed = _mm256_packus_epi16(_mm256_packus_epi32(parts[0], parts[1]),
                                              _mm256_packus_epi32(parts[2], parts[3]));
    // Packing works within 128-bit halves.
    return _mm256_permutevar8x32_epi32(mixed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
/// Of each of four fields of seven signs: the eighth makes the number of minuses even. `bits` has
/// one field in the low bits of each byte.
HOKKU_INLINE uint32_t with_even_signs(uint32_t bits) {
    uint32_t parity = bits ^ bits >> 4;
    parity ^= parity >> 2;
    parity ^= parity >> 1;
    return bits | (parity & 0x01010101u) << 7;
}
/// Four fields of seven bits, one to a byte.
HOKKU_INLINE uint32_t to_bytes(uint32_t x) {
    return (x & 0x7fu) | (x << 1 & 0x7f00u) | (x << 2 & 0x7f0000u) | (x << 3 & 0x7f000000u);
}

HOKKU_INLINE uint32_t load_short(const uint8_t* p) {
    uint16_t value;
    std::memcpy(&value, p, sizeof value);
    return value;
}
template <size_t kCount>
HOKKU_INLINE void spread(float* column, const float (&values)[kCount]) {
    for (size_t i = 0; i < kCount; ++i) column[i * kGemmGroup] = values[i];
}
HOKKU_INLINE void spread(float* column, __m256 x) {
    alignas(32) float values[8];
    _mm256_store_ps(values, x);
    spread(column, values);
}
/// Sixteen signed bytes times d.
HOKKU_INLINE void spread_bytes(float* column, __m128i bytes, float d) {
    const __m256 factor = _mm256_set1_ps(d);
    const auto widen = [factor](__m128i x) HOKKU_LAMBDA {
        return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(x)), factor);
    };
    spread(column, widen(bytes));
    spread(column + 8 * kGemmGroup, widen(_mm_srli_si128(bytes, 8)));
}

// --- Blocks of 32 values -------------------------------------------------------------------------

/// Types of 32 values that begin with their scale.
struct ScaleInFront {
    static constexpr size_t kValues = 32, kScaleValues = 32;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float*) {
        *scales = load_half_float(p);
    }
};
/// Types of 32 values whose minimum is behind it.
struct ScaleAndMinInFront {
    static constexpr size_t kValues = 32, kScaleValues = 32;
    static constexpr bool kHasMin = true;
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float* mins) {
        *scales = load_half_float(p);
        *mins = load_half_float(p + 2);
    }
};

struct Q4_0 : ScaleInFront {
    static constexpr size_t kBytes = 18;
    static constexpr int kBits = 4;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t) {
        return subtract(nibbles(p + 2), 8);
    }
};

struct Q4_1 : ScaleAndMinInFront {
    static constexpr size_t kBytes = 20;
    static constexpr int kBits = 4;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t) { return nibbles(p + 4); }
};

struct Q5_0 : ScaleInFront {
    static constexpr size_t kBytes = 22;
    static constexpr int kBits = 5;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t) {
        return subtract(_mm256_or_si256(nibbles(p + 6), fifth_bits(load_word(p + 2))), 16);
    }
};

struct Q5_1 : ScaleAndMinInFront {
    static constexpr size_t kBytes = 24;
    static constexpr int kBits = 5;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t) {
        return _mm256_or_si256(nibbles(p + 8), fifth_bits(load_word(p + 4)));
    }
};

struct Q8_0 : ScaleInFront {
    static constexpr size_t kBytes = 34;
    static constexpr int kBits = 8;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t) { return load_bytes32(p + 2); }
};

struct Iq4Nl : ScaleInFront {
    static constexpr size_t kBytes = 18;
    static constexpr int kBits = 8;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t) {
        return iq4_steps(nibbles(p + 2));
    }
};

struct Mxfp4 {
    static constexpr size_t kBytes = 17, kValues = 32, kScaleValues = 32;
    static constexpr int kBits = 5;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t) {
        return fp4_steps(nibbles(p + 1));
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float*) {
        const uint32_t e = *p;  // 2^(e - 128), subnormal for e < 2.
        *scales = float_from_bits(e < 2 ? 0x00200000u << e : (e - 1) << 23);
    }
};

// --- Super-blocks of 256 values ------------------------------------------------------------------

/// Group `group` of two-bit codes: of each 32 bytes the lowest bits are 32 values, and so on.
HOKKU_INLINE __m256i two_bits(const uint8_t* p, size_t group) {
    return keep(shift_right(load_bytes32(p + 32 * (group / 4)), group % 4 * 2), 3);
}
/// Of each 32 bytes the low nibbles are 32 values, the high nibbles the next.
HOKKU_INLINE __m256i four_bits(const uint8_t* p, size_t group) {
    return keep(shift_right(load_bytes32(p + 32 * (group / 2)), group % 2 * 4), 15);
}
/// Bit `group` of 32 bytes, at place `place`.
HOKKU_INLINE __m256i one_bit(const uint8_t* p, size_t group, int place) {
    return _mm256_slli_epi16(keep(shift_right(load_bytes32(p), group), 1), place);
}

struct Q2_K {
    static constexpr size_t kBytes = 84, kValues = 256, kScaleValues = 16;
    static constexpr int kBits = 5;
    static constexpr bool kHasMin = true;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t group) {
        return two_bits(p + 16, group);
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float* mins) {
        const __m128i bytes = load_bytes16(p), nibble = _mm_set1_epi8(15);
        spread_bytes(scales, _mm_and_si128(bytes, nibble), load_half_float(p + 80));
        spread_bytes(mins, _mm_and_si128(_mm_srli_epi16(bytes, 4), nibble),
                     -load_half_float(p + 82));
    }
};

struct Q3_K {
    static constexpr size_t kBytes = 110, kValues = 256, kScaleValues = 16;
    static constexpr int kBits = 5;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t group) {
        return subtract(_mm256_or_si256(two_bits(p + 32, group), one_bit(p, group, 2)), 4);
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float*) {
        spread_bytes(scales, unpack_q3_k_scales(p + 96), load_half_float(p + 108));
    }
};

HOKKU_INLINE void write_q4_k_scales(const uint8_t* p, float* scales, float* mins) {
    const ScalesAndMins s = unpack_q4_k_scales(p + 4);
    spread(scales, _mm256_mul_ps(s.scales, _mm256_set1_ps(load_half_float(p))));
    spread(mins, _mm256_mul_ps(s.mins, _mm256_set1_ps(-load_half_float(p + 2))));
}

struct Q4_K {
    static constexpr size_t kBytes = 144, kValues = 256, kScaleValues = 32;
    static constexpr int kBits = 4;
    static constexpr bool kHasMin = true;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t group) {
        return four_bits(p + 16, group);
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float* mins) {
        write_q4_k_scales(p, scales, mins);
    }
};

struct Q5_K {
    static constexpr size_t kBytes = 176, kValues = 256, kScaleValues = 32;
    static constexpr int kBits = 5;
    static constexpr bool kHasMin = true;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t group) {
        return _mm256_or_si256(four_bits(p + 48, group), one_bit(p + 16, group, 4));
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float* mins) {
        write_q4_k_scales(p, scales, mins);
    }
};

struct Q6_K {
    static constexpr size_t kBytes = 210, kValues = 256, kScaleValues = 16;
    static constexpr int kBits = 6;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t group) {
        const size_t half = group / 4;
        const __m256i low = load_bytes32(p + 64 * half + 32 * (group % 2));
        const __m256i low_bits = keep(shift_right(low, group % 4 / 2 * 4), 15);
        const __m256i high_bits = two_bits(p + 128, group);
        return subtract(_mm256_or_si256(low_bits, _mm256_slli_epi16(high_bits, 4)), 32);
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float*) {
        spread_bytes(scales, load_bytes16(p + 192), load_half_float(p + 208));
    }
};

struct Iq4Xs {
    static constexpr size_t kBytes = 136, kValues = 256, kScaleValues = 32;
    static constexpr int kBits = 8;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t group) {
        return iq4_steps(nibbles(p + 8 + 16 * group));
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float*) {
        spread(scales, _mm256_mul_ps(_mm256_cvtepi32_ps(unpack_iq4_xs_scales(p + 2)),
                                     _mm256_set1_ps(load_half_float(p))));
    }
};

}  // namespace codes
}  // namespace
}  // namespace hokku::cpu
