// SPDX-License-Identifier: Apache-2.0
// As block_codes.h: the types whose codes index a codebook (IQ, FP4) or are ternary or binary.
// Layouts as in backend/dequantize_codebooks.h. Internal linkage on purpose.
#pragma once

#include "backend/codebooks.h"
#include "backend/cpu/simd/block_codes.h"
#include "backend/e4m3.h"

namespace hokku::cpu {
namespace {
namespace codes {

/// Magnitudes 8, 25, 43 by two-bit codes, with signs.
HOKKU_INLINE __m256i iq2_codes(const uint32_t (&points)[4], uint32_t signs) {
    const __m128i table = _mm_setr_epi8(8, 25, 43, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    return with_signs(look_up(table, fields_of<2>(points)), signs);
}
/// Sixteen scales d (0.5 + nibble) / 4 of 8 bytes, low nibbles first.
HOKKU_INLINE void write_iq2_scales(const uint8_t* nibbles, float d, float* scales) {
    for (size_t i = 0; i < 16; ++i) {
        const int nibble = nibbles[i / 2] >> (i % 2 * 4) & 15;
        scales[i * kGemmGroup] = d * (0.5f + static_cast<float>(nibble)) * 0.25f;
    }
}

struct Iq2Xxs {
    static constexpr size_t kBytes = 66, kValues = 256, kScaleValues = 32;
    static constexpr int kBits = 7;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t group) {
        const uint8_t* b = p + 2 + 8 * group;
        const uint32_t points[4] = {blocks::kIq2XxsGrid[b[0]], blocks::kIq2XxsGrid[b[1]],
                                    blocks::kIq2XxsGrid[b[2]], blocks::kIq2XxsGrid[b[3]]};
        return iq2_codes(points, with_even_signs(to_bytes(load_word(b + 4))));
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float*) {
        const float d = load_half_float(p);
        for (size_t g = 0; g < 8; ++g) {
            const auto four_bits = static_cast<float>(load_word(p + 6 + 8 * g) >> 28);
            scales[g * kGemmGroup] = d * (0.5f + four_bits) * 0.25f;
        }
    }
};

struct Iq2Xs {
    static constexpr size_t kBytes = 74, kValues = 256, kScaleValues = 16;
    static constexpr int kBits = 7;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t group) {
        uint32_t points[4], signs = 0;
#pragma GCC unroll 4
        for (size_t k = 0; k < 4; ++k) {
            const uint32_t word = load_short(p + 2 + 8 * group + 2 * k);
            points[k] = blocks::kIq2XsGrid[word & 511];
            signs |= word >> 9 << (8 * k);
        }
        return iq2_codes(points, with_even_signs(signs));
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float*) {
        write_iq2_scales(p + 66, load_half_float(p), scales);
    }
};

struct Iq2S {
    static constexpr size_t kBytes = 82, kValues = 256, kScaleValues = 16;
    static constexpr int kBits = 7;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t group) {
        const uint8_t* b = p + 2 + 4 * group;
        const uint32_t high = p[66 + group];
        const uint32_t points[4] = {blocks::kIq2SGrid[b[0] | (high << 8 & 0x300)],
                                    blocks::kIq2SGrid[b[1] | (high << 6 & 0x300)],
                                    blocks::kIq2SGrid[b[2] | (high << 4 & 0x300)],
                                    blocks::kIq2SGrid[b[3] | (high << 2 & 0x300)]};
        return iq2_codes(points, load_word(p + 34 + 4 * group));
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float*) {
        write_iq2_scales(p + 74, load_half_float(p), scales);
    }
};

struct Iq3Xxs {
    static constexpr size_t kBytes = 98, kValues = 256, kScaleValues = 32;
    static constexpr int kBits = 7;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t group) {
        const uint8_t* b = p + 2 + 8 * group;
        uint32_t points[4];
#pragma GCC unroll 4
        for (size_t k = 0; k < 4; ++k) {
            points[k] = blocks::kIq3XxsGrid[b[2 * k]] |
                        static_cast<uint32_t>(blocks::kIq3XxsGrid[b[2 * k + 1]]) << 16;
        }
        const __m128i table =
            _mm_setr_epi8(4, 12, 20, 28, 36, 44, 52, 62, 4, 12, 20, 28, 36, 44, 52, 62);
        return with_signs(look_up(table, fields_of<4>(points)),
                          with_even_signs(to_bytes(load_word(p + 66 + 4 * group))));
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float*) {
        const float d = load_half_float(p);
        for (size_t g = 0; g < 8; ++g) {
            const auto four_bits = static_cast<float>(load_word(p + 66 + 4 * g) >> 28);
            scales[g * kGemmGroup] = d * (0.5f + four_bits) * 0.5f;
        }
    }
};

struct Iq3S {
    static constexpr size_t kBytes = 110, kValues = 256, kScaleValues = 32;
    static constexpr int kBits = 5;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t group) {
        const uint8_t* b = p + 2 + 8 * group;
        const uint32_t ninth = p[66 + group];
        uint32_t points[4];
#pragma GCC unroll 4
        for (size_t k = 0; k < 4; ++k) {
            const uint32_t first = blocks::kIq3SGrid[b[2 * k] | (ninth >> (2 * k) & 1) << 8];
            const uint32_t second =
                blocks::kIq3SGrid[b[2 * k + 1] | (ninth >> (2 * k + 1) & 1) << 8];
            points[k] = first | second << 16;
        }
        const __m128i table = _mm_setr_epi8(1, 3, 5, 7, 9, 11, 13, 15, 1, 3, 5, 7, 9, 11, 13, 15);
        return with_signs(look_up(table, fields_of<4>(points)), load_word(p + 74 + 4 * group));
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float*) {
        const float d = load_half_float(p);
        for (size_t g = 0; g < 8; ++g) {
            const int nibble = p[106 + g / 2] >> (g % 2 * 4) & 15;
            scales[g * kGemmGroup] = d * static_cast<float>(1 + 2 * nibble);
        }
    }
};

/// Eight times the values of IQ1 points, and plus or minus one: minus where a byte of `shifts` is
/// all ones.
HOKKU_INLINE __m256i iq1_codes(const uint32_t (&points)[4], __m256i shifts) {
    const __m128i table = _mm_setr_epi8(-7, 1, 9, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    return _mm256_add_epi8(look_up(table, fields_of<2>(points)), _mm256_add_epi8(shifts, shifts));
}

struct Iq1S {
    static constexpr size_t kBytes = 50, kValues = 256, kScaleValues = 32;
    static constexpr int kBits = 5;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t group) {
        const uint32_t word = load_short(p + 34 + 2 * group);
        uint32_t points[4];
#pragma GCC unroll 4
        for (size_t k = 0; k < 4; ++k)
            points[k] = blocks::kIq1SGrid[p[2 + 4 * group + k] | (word >> (3 * k) & 7) << 8];
        return iq1_codes(points, _mm256_set1_epi8(word >> 15 ? -1 : 0));
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float*) {
        const float d = load_half_float(p) * 0.125f;
        for (size_t g = 0; g < 8; ++g) {
            const uint32_t three_bits = load_short(p + 34 + 2 * g) >> 12 & 7;
            scales[g * kGemmGroup] = d * static_cast<float>(2 * three_bits + 1);
        }
    }
};

struct Iq1M {
    static constexpr size_t kBytes = 56, kValues = 256, kScaleValues = 16;
    static constexpr int kBits = 5;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t group) {
        const uint32_t nibbles = load_short(p + 32 + 2 * group);
        uint32_t points[4], minus = 0;
#pragma GCC unroll 4
        for (size_t k = 0; k < 4; ++k) {
            const uint32_t nibble = nibbles >> (4 * k) & 15;
            points[k] = blocks::kIq1SGrid[p[4 * group + k] | (nibble & 7) << 8];
            minus |= (nibble >> 3) * (0xffu << (8 * k));
        }
        return iq1_codes(points, bits_to_bytes(minus));
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float*) {
        uint32_t bits = 0;
        for (size_t i = 0; i < 4; ++i) bits |= load_short(p + 48 + 2 * i) >> 12 << (4 * i);
        const float d = half_to_float(static_cast<uint16_t>(bits)) * 0.125f;
        for (size_t i = 0; i < 16; ++i) {
            const uint32_t three_bits = load_short(p + 48 + i / 4 * 2) >> (i % 4 * 3) & 7;
            scales[i * kGemmGroup] = d * static_cast<float>(2 * three_bits + 1);
        }
    }
};

struct Nvfp4 {
    static constexpr size_t kBytes = 36, kValues = 64, kScaleValues = 16;
    static constexpr int kBits = 5;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t group) {
        const __m128i x = load_bytes16(p + 4 + 16 * group), nibble = _mm_set1_epi8(15);
        const __m128i low = _mm_and_si128(x, nibble);
        const __m128i high = _mm_and_si128(_mm_srli_epi16(x, 4), nibble);
        return fp4_steps(
            _mm256_set_m128i(_mm_unpackhi_epi64(low, high), _mm_unpacklo_epi64(low, high)));
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float*) {
        for (size_t i = 0; i < 4; ++i) scales[i * kGemmGroup] = half_of_e4m3(p[i]);
    }
};

/// One scale of a whole block, for each 32 of its values.
template <size_t kValues>
HOKKU_INLINE void write_one_scale(const uint8_t* half, float* scales) {
    const float d = load_half_float(half);
    for (size_t i = 0; i < kValues / 32; ++i) scales[i * kGemmGroup] = d;
}

struct Q1_0 {
    static constexpr size_t kBytes = 18, kValues = 128, kScaleValues = 32;
    static constexpr int kBits = 4;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t group) {
        return with_signs(_mm256_set1_epi8(-1), load_word(p + 2 + 4 * group));
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float*) {
        write_one_scale<kValues>(p, scales);
    }
};

struct Q2_0 {
    static constexpr size_t kBytes = 18, kValues = 64, kScaleValues = 32;
    static constexpr int kBits = 4;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t group) {
        const uint8_t* b = p + 2 + 8 * group;
        const uint32_t words[4] = {load_short(b), load_short(b + 2), load_short(b + 4),
                                   load_short(b + 6)};
        return subtract(fields_of<2>(words), 1);
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float*) {
        write_one_scale<kValues>(p, scales);
    }
};

/// Digit of bytes in 16-bit lanes: multiplying by 3^n modulo 256 moves digit n to the front.
HOKKU_INLINE __m256i ternary_digits(__m256i bytes, __m256i powers) {
    const __m256i moved =
        _mm256_and_si256(_mm256_mullo_epi16(bytes, powers), _mm256_set1_epi16(255));
    return _mm256_srli_epi16(_mm256_mullo_epi16(moved, _mm256_set1_epi16(3)), 8);
}
HOKKU_INLINE __m256i powers_of_three(size_t first, size_t second) {
    constexpr int16_t kPowers[5] = {1, 3, 9, 27, 81};
    return _mm256_set_m128i(_mm_set1_epi16(kPowers[second]), _mm_set1_epi16(kPowers[first]));
}

struct Tq1_0 {
    static constexpr size_t kBytes = 54, kValues = 256, kScaleValues = 32;
    static constexpr int kBits = 4;
    static constexpr bool kHasMin = false;
    /// Of 16 bytes each: digits n for the first and m for the second 16 values.
    HOKKU_INLINE static __m256i digits(__m128i first, __m256i n, __m128i second, __m256i m) {
        const __m256i a = ternary_digits(_mm256_cvtepu8_epi16(first), n);
        const __m256i b = ternary_digits(_mm256_cvtepu8_epi16(second), m);
        const __m256i mixed = _mm256_packus_epi16(a, b);
        return subtract(_mm256_permute4x64_epi64(mixed, 0xd8), 1);
    }
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t group) {
        if (group < 5) {
            const __m256i n = powers_of_three(group, group);
            return digits(load_bytes16(p), n, load_bytes16(p + 16), n);
        }
        const __m128i middle = load_bytes16(p + 32);
        if (group < 7) {
            const size_t n = 2 * (group - 5);
            return digits(middle, powers_of_three(n, n), middle, powers_of_three(n + 1, n + 1));
        }
        const __m128i last = _mm_set1_epi32(static_cast<int>(load_word(p + 48)));
        const __m256i each = _mm256_setr_epi16(1, 1, 1, 1, 3, 3, 3, 3, 9, 9, 9, 9, 27, 27, 27, 27);
        return digits(middle, powers_of_three(4, 4), last, each);
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float*) {
        write_one_scale<kValues>(p + 52, scales);
    }
};

struct Tq2_0 {
    static constexpr size_t kBytes = 66, kValues = 256, kScaleValues = 32;
    static constexpr int kBits = 4;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static __m256i codes(const uint8_t* p, size_t group) {
        return subtract(two_bits(p, group), 1);
    }
    HOKKU_INLINE static void write_scales(const uint8_t* p, float* scales, float*) {
        write_one_scale<kValues>(p + 64, scales);
    }
};

}  // namespace codes
}  // namespace
}  // namespace hokku::cpu
