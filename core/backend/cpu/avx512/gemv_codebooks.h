// SPDX-License-Identifier: Apache-2.0
// Steps super-blocks of the types whose codes are points of four values, ternary or binary: one
// struct per type. Layouts as in backend/dequantize_codebooks.h. Internal linkage on purpose.
#pragma once

#include "backend/cpu/avx512/gemv_steps.h"
#include "backend/dequantize_codebooks.h"

namespace hokku::cpu {
namespace {

/// 256 values: byte i of register s is the code of value 4 i + s, so that each 32-bit lane holds 16
/// values in a row (layout quads).
using Quads = Weights<4>;

/// Tables by bytes: entry i of the codebooks of IQ3 is four values.
struct ByteTables {
    alignas(64) uint8_t iq3_xxs[4][256];  ///< Of each value of a point: 64 + magnitude.
    alignas(64) uint8_t iq3_s[2][512];    ///< Two codes each, a nibble for each.
};
ByteTables tables;  // Filled once, before any kernel can be called.

void fill_byte_tables() {
    for (uint32_t i = 0; i < 256; ++i) {
        for (uint32_t j = 0; j < 4; ++j) {
            const uint32_t code = blocks::kIq3XxsGrid[i] >> (4 * j) & 7;
            const uint32_t magnitude = code == 7 ? 62 : 8 * code + 4;
            tables.iq3_xxs[j][i] = static_cast<uint8_t>(64 + magnitude);
        }
    }
    for (uint32_t i = 0; i < 512; ++i) {
        tables.iq3_s[0][i] = static_cast<uint8_t>(blocks::kIq3SGrid[i]);
        tables.iq3_s[1][i] = static_cast<uint8_t>(blocks::kIq3SGrid[i] >> 8);
    }
}

// ---- table look-ups ----------------------------------------------------------------------------

/// Which of 64 indices have their bits 6, 7, 8 and 9 set.
struct IndexBits {
    __mmask64 of[4];
};

HOKKU_INLINE __mmask64 seventh_bits(__m512i x) {
    return _mm512_movepi8_mask(_mm512_add_epi8(x, x));
}

/// Of indices of eight bits.
HOKKU_INLINE IndexBits bits_of_bytes(__m512i index) {
    return {{seventh_bits(index), _mm512_movepi8_mask(index), 0, 0}};
}

/// Entries of a table of kEntries bytes. (Permutations of two registers take three steps.)
template <size_t kEntries>
HOKKU_INLINE __m512i look_up_bytes(const uint8_t* table, __m512i index, const IndexBits& k) {
    if constexpr (kEntries == 128) {
        const __m512i low = _mm512_permutexvar_epi8(index, load_bytes(table));
        return _mm512_mask_permutexvar_epi8(low, k.of[0], index, load_bytes(table + 64));
    } else {
        constexpr size_t kHalf = kEntries / 2;
        constexpr size_t kBit = kEntries == 256 ? 1 : kEntries == 512 ? 2 : 3;
        return _mm512_mask_mov_epi8(look_up_bytes<kHalf>(table, index, k), k.of[kBit],
                                    look_up_bytes<kHalf>(table + kHalf, index, k));
    }
}

/// Bit i of each byte is the parity of those of its bits that byte 7 - i of `rows` has.
HOKKU_INLINE __m512i map_bits(__m512i bytes, uint64_t rows) {
    return _mm512_gf2p8affine_epi64_epi8(bytes, _mm512_set1_epi64(static_cast<int64_t>(rows)), 0);
}
/// Eight signs of which the lower bits hold seven: an even number of them is set.
HOKKU_INLINE __m512i even_signs(__m512i seven_bits) {
    return map_bits(seven_bits, 0x010204081020407f);
}

/// Byte i of the result is byte i / kCount of x.
template <int kCount>
HOKKU_INLINE __m512i repeat_bytes(__m512i x) {
    alignas(64) static constexpr auto kIndex = [] {
        struct {
            uint8_t of[64] = {};
        } index;
        for (int i = 0; i < 64; ++i) index.of[i] = static_cast<uint8_t>(i / kCount);
        return index;
    }();
    return _mm512_permutexvar_epi8(_mm512_load_si512(kIndex.of), x);
}

/// Of two bytes for eight values each: which values 4 i + s have their bits set.
HOKKU_INLINE __mmask64 bits_of_quad(__m512i bytes_twice, int s) {
    return _mm512_test_epi8_mask(bytes_twice, _mm512_set1_epi16(static_cast<int16_t>(0x1001 << s)));
}

/// 128 - code, which stands for the negative of the code with zero point 64, where a sign is set.
HOKKU_INLINE __m512i negate(__m512i codes, __m512i signs_twice, int s) {
    return _mm512_mask_sub_epi8(codes, bits_of_quad(signs_twice, s), _mm512_set1_epi8(-128), codes);
}

// ---- scales ------------------------------------------------------------------------------------

HOKKU_INLINE __m512 splat_half(const uint8_t* p) {
    uint16_t half;
    std::memcpy(&half, p, sizeof half);
    return _mm512_cvtph_ps(_mm256_set1_epi16(static_cast<int16_t>(half)));
}
/// (n + 1/2) factor d
HOKKU_INLINE __m512 scales_of(__m512i n, float factor, const uint8_t* d) {
    const __m512 f = _mm512_set1_ps(factor), half = _mm512_set1_ps(0.5f * factor);
    return _mm512_mul_ps(_mm512_fmadd_ps(_mm512_cvtepi32_ps(n), f, half), splat_half(d));
}

// ---- IQ3: points of four values ----------------------------------------------------------------

struct StepIq3Xxs : SuperBlock<98, VectorLayout::quads, 64> {
    HOKKU_INLINE static Quads unpack(const uint8_t* p, __mmask16) {
        const __m512i index = load_bytes(p + 2);
        const __m512i words = _mm512_cvtepu32_epi64(load_bytes32(p + 66));
        const __m512i seven_bits =
            _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x15150e0e07070000), words);
        const __m512i signs = even_signs(seven_bits);
        const IndexBits bits = bits_of_bytes(index);
        Quads quads;
        for (int s = 0; s < 4; ++s)
            quads.codes[s] = negate(look_up_bytes<256>(tables.iq3_xxs[s], index, bits), signs, s);
        quads.scales =
            scales_of(_mm512_srli_epi32(_mm512_shuffle_epi32(words, _MM_PERM_CCAA), 28), 0.5f, p);
        return quads;
    }
};

struct StepIq3S : SuperBlock<110, VectorLayout::quads, 64> {
    /// 64 + 2 code + 1, with the code's bits at 1..3.
    HOKKU_INLINE static __m512i magnitudes(__m512i moved_codes) {
        return or_and(_mm512_set1_epi8(65), moved_codes, _mm512_set1_epi8(14));
    }
    HOKKU_INLINE static Quads unpack(const uint8_t* p, __mmask16) {
        const __m512i index = load_bytes(p + 2);
        __mmask64 ninth;
        std::memcpy(&ninth, p + 66, sizeof ninth);
        IndexBits bits = bits_of_bytes(index);
        bits.of[2] = ninth;
        const __m512i points[2] = {look_up_bytes<512>(tables.iq3_s[0], index, bits),
                                   look_up_bytes<512>(tables.iq3_s[1], index, bits)};
        const __m512i signs = repeat_bytes<2>(_mm512_castsi256_si512(load_bytes32(p + 74)));
        Quads quads;
        for (int s = 0; s < 4; ++s) {
            const __m512i x = points[s / 2];
            const __m512i moved = s % 2 ? _mm512_srli_epi16(x, 3) : _mm512_add_epi8(x, x);
            quads.codes[s] = negate(magnitudes(moved), signs, s);
        }
        const __m512i places =
            _mm512_set_epi32(28, 28, 24, 24, 20, 20, 16, 16, 12, 12, 8, 8, 4, 4, 0, 0);
        const __m512i words = _mm512_set1_epi32(static_cast<int>(load_word(p + 106)));
        const __m512i nibbles =
            _mm512_and_si512(_mm512_srlv_epi32(words, places), _mm512_set1_epi32(15));
        quads.scales = scales_of(nibbles, 2.0f, p);
        return quads;
    }
};

// ---- two bits and one bit a value --------------------------------------------------------------

/// Four blocks.
struct StepQ2_0 {
    static constexpr int kValues = 256, kBytes = 72, kMaskLanes = 2, kZeroPoint = 1;
    static constexpr VectorLayout kLayout = VectorLayout::quads;
    static constexpr bool kHasMins = false;
    HOKKU_INLINE static Quads unpack(const uint8_t* p, __mmask16 lanes) {
        Quads quads;
        two_bit_fields(gather_codes<18, 2>(p), quads.codes);
        quads.scales = _mm512_maskz_cvtph_ps(lanes, gather_halves<18, 0>(p));
        return quads;
    }
};

/// Two blocks; codes 0 and 2.
struct StepQ1_0 {
    static constexpr int kValues = 256, kBytes = 36, kMaskLanes = 2, kZeroPoint = 1;
    static constexpr VectorLayout kLayout = VectorLayout::quads;
    static constexpr bool kHasMins = false;
    HOKKU_INLINE static Quads unpack(const uint8_t* p, __mmask16 lanes) {
        const __m512i words =
            _mm512_cvtepu32_epi64(_mm256_set_m128i(load_bytes16(p + 20), load_bytes16(p + 2)));
        const __m512i nibbles =
            _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x1c1814100c080400), words);
        Quads quads;
        for (int s = 0; s < 4; ++s)  // Bit 1 of each byte is bit s of its nibble.
            quads.codes[s] = map_bits(nibbles, uint64_t{1} << (48 + s));
        const __m512 first = splat_half(p), second = splat_half(p + 18);
        quads.scales = _mm512_maskz_mov_ps(lanes, _mm512_mask_mov_ps(first, 0xff00, second));
        return quads;
    }
};

// ---- ternary -----------------------------------------------------------------------------------

struct StepTq2_0 : SuperBlock<66, VectorLayout::super_two, 1> {
    HOKKU_INLINE static Weights<4> unpack(const uint8_t* p, __mmask16) {
        Weights<4> w;
        two_bit_fields(load_bytes(p), w.codes);
        gather_lanes(w.codes);
        w.scales = splat_half(p + 64);
        return w;
    }
};

// ---- NVFP4 -------------------------------------------------------------------------------------

/// Two blocks.
struct StepNvfp4 {
    static constexpr int kValues = 128, kBytes = 72, kMaskLanes = 4, kZeroPoint = 128;
    static constexpr VectorLayout kLayout = VectorLayout::halves_of_16;
    static constexpr bool kHasMins = false;
    HOKKU_INLINE static Weights<2> unpack(const uint8_t* p, __mmask16 lanes) {
        const __m512i x = join(load_bytes32(p + 4), load_bytes32(p + 40));
        const __m128i bytes = _mm_cvtsi64_si128(
            static_cast<int64_t>(load_word(p) | uint64_t{load_word(p + 36)} << 32));
        const __m256i twice = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(bytes, bytes));
        const __m256i codes = _mm256_and_si256(twice, _mm256_set1_epi16(0x7f));
        // The bits as those of an f16 with a bias of 15 instead of 7; 0x7f counts as nothing.
        const __mmask16 is_number = _mm256_cmpneq_epi16_mask(codes, _mm256_set1_epi16(0x7f));
        const __m512 scales = _mm512_maskz_cvtph_ps(static_cast<__mmask16>(is_number & lanes),
                                                    _mm256_slli_epi16(codes, 7));
        return {{fp4_steps(low_nibbles(x)), fp4_steps(high_nibbles(x))},
                _mm512_mul_ps(scales, _mm512_set1_ps(128.0f))};
    }
};

}  // namespace
}  // namespace hokku::cpu
