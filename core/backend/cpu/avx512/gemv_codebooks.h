// SPDX-License-Identifier: Apache-2.0
// Steps super-blocks of the types whose codes are points of a codebook, ternary or binary: one
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
    alignas(64) uint8_t even_signs[128];  ///< By the seven bits that are stored.
    alignas(64) uint8_t iq3_xxs[4][256];  ///< Of each value of a point: 64 + magnitude.
    alignas(64) uint8_t iq3_s[2][512];    ///< Two codes each, a nibble for each.
    alignas(64) uint16_t iq2_xxs[256], iq2_xs[512], iq2_s[1024], iq1_s[2048];
};
ByteTables tables;  // Filled once, before any kernel can be called.

void fill_byte_tables() {
    for (uint32_t i = 0; i < 128; ++i)
        tables.even_signs[i] = static_cast<uint8_t>(blocks::even_signs(i));
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
    std::memcpy(tables.iq2_xxs, blocks::kIq2XxsGrid, sizeof tables.iq2_xxs);
    std::memcpy(tables.iq2_xs, blocks::kIq2XsGrid, sizeof tables.iq2_xs);
    std::memcpy(tables.iq2_s, blocks::kIq2SGrid, sizeof tables.iq2_s);
    std::memcpy(tables.iq1_s, blocks::kIq1SGrid, sizeof tables.iq1_s);
}

// ---- table look-ups ----------------------------------------------------------------------------

/// Replaces indices by entries of a table of kEntries (a power of two, at least 64) 16-bit numbers;
/// higher bits of the indices do not matter. Several registers share what is loaded, which takes
/// as long as the permutations do.
template <size_t kEntries, size_t kCount>
HOKKU_INLINE void look_up_words(const uint16_t* table, __m512i (&index)[kCount]) {
    if constexpr (kEntries == 64) {
        const __m512i low = load_bytes(table), high = load_bytes(table + 32);
        for (__m512i& x : index) x = _mm512_permutex2var_epi16(low, x, high);
    } else {
        constexpr size_t kHalf = kEntries / 2;
        __m512i low[kCount], high[kCount];
        for (size_t i = 0; i < kCount; ++i) low[i] = high[i] = index[i];
        look_up_words<kHalf>(table, low);
        look_up_words<kHalf>(table + kHalf, high);
        for (size_t i = 0; i < kCount; ++i) {
            const __mmask32 is_high = _mm512_test_epi16_mask(index[i], _mm512_set1_epi16(kHalf));
            index[i] = _mm512_mask_mov_epi16(low[i], is_high, high[i]);
        }
    }
}

/// Entries of a table of 128 bytes, and of 256; higher bits of the indices do not matter.
HOKKU_INLINE __m512i look_up_128(const uint8_t* table, __m512i index) {
    return _mm512_permutex2var_epi8(load_bytes(table), index, load_bytes(table + 64));
}
HOKKU_INLINE __m512i look_up_256(const uint8_t* table, __m512i index) {
    return _mm512_mask_mov_epi8(look_up_128(table, index), _mm512_movepi8_mask(index),
                                look_up_128(table + 128, index));
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
    return _mm512_set1_ps(load_half_float(p));
}
/// 16 nibbles of 8 bytes.
HOKKU_INLINE __m512i sixteen_nibbles(const uint8_t* p) {
    const __m512i words = _mm512_mask_set1_epi32(_mm512_set1_epi32(static_cast<int>(load_word(p))),
                                                 0xff00, static_cast<int>(load_word(p + 4)));
    const __m512i places =
        _mm512_set_epi32(28, 24, 20, 16, 12, 8, 4, 0, 28, 24, 20, 16, 12, 8, 4, 0);
    return _mm512_and_si512(_mm512_srlv_epi32(words, places), _mm512_set1_epi32(15));
}
/// (n + 1/2) factor d
HOKKU_INLINE __m512 scales_of(__m512i n, float factor, const uint8_t* d) {
    const __m512 f = _mm512_set1_ps(factor), half = _mm512_set1_ps(0.5f * factor);
    return _mm512_mul_ps(_mm512_fmadd_ps(_mm512_cvtepi32_ps(n), f, half), splat_half(d));
}

// ---- IQ2: points of eight values, two bits each ------------------------------------------------

HOKKU_INLINE Quads quads_of_iq2(__m512i points, __m512i signs_twice, __m512 scales) {
    const __m512i magnitudes =
        _mm512_broadcast_i32x4(_mm_set1_epi32(0x006b5948));  // 64 + 8, 25, 43
    Quads quads;
    two_bit_fields(points, quads.codes);
    for (int s = 0; s < 4; ++s)
        quads.codes[s] = negate(_mm512_shuffle_epi8(magnitudes, quads.codes[s]), signs_twice, s);
    quads.scales = scales;
    return quads;
}

// Types whose points are words of a table: index() gives the places in it, finish() the rest.

struct StepIq2Xxs : SuperBlock<66, VectorLayout::quads, 64> {
    static constexpr const auto& kTable = tables.iq2_xxs;
    HOKKU_INLINE static __m512i index(const uint8_t* p) {
        // Of each eight bytes the first four, as words.
        const __m512i places = _mm512_set_epi64(
            0x3b3b3a3a39393838, 0x3333323231313030, 0x2b2b2a2a29292828, 0x2323222221212020,
            0x1b1b1a1a19191818, 0x1313121211111010, 0x0b0b0a0a09090808, 0x0303020201010000);
        return _mm512_maskz_permutexvar_epi8(0x5555555555555555, places, load_bytes(p + 2));
    }
    HOKKU_INLINE static Quads finish(const uint8_t* p, __m512i points) {
        const __m512i x = load_bytes(p + 2);
        // Of each eight bytes the last four: four times seven bits, twice, and the scale.
        const __m512i seven_bits =
            _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x35352e2e27272020), x);
        const __m512i scales = _mm512_srli_epi32(_mm512_shuffle_epi32(x, _MM_PERM_DDBB), 28);
        return quads_of_iq2(points, look_up_128(tables.even_signs, seven_bits),
                            scales_of(scales, 0.25f, p));
    }
};

struct StepIq2Xs : SuperBlock<74, VectorLayout::quads, 64> {
    static constexpr const auto& kTable = tables.iq2_xs;
    HOKKU_INLINE static __m512i index(const uint8_t* p) { return load_bytes(p + 2); }
    HOKKU_INLINE static Quads finish(const uint8_t* p, __m512i points) {
        const __m512i upper_twice = _mm512_broadcast_i32x4(
            _mm_setr_epi8(1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15));
        const __m512i seven_bits =
            _mm512_shuffle_epi8(_mm512_srli_epi16(load_bytes(p + 2), 1), upper_twice);
        return quads_of_iq2(points, look_up_128(tables.even_signs, seven_bits),
                            scales_of(sixteen_nibbles(p + 66), 0.25f, p));
    }
};

struct StepIq2S : SuperBlock<82, VectorLayout::quads, 64> {
    static constexpr const auto& kTable = tables.iq2_s;
    HOKKU_INLINE static __m512i index(const uint8_t* p) {
        // The byte of two upper bits for each of four codes in the upper half of their words.
        const __m512i bytes = repeat_bytes<8>(_mm512_castsi128_si512(load_bytes16(p + 66)));
        const __m512i upper = _mm512_maskz_mov_epi8(0xaaaaaaaaaaaaaaaa, bytes);
        const __m512i moved = _mm512_srlv_epi16(upper, _mm512_set1_epi64(0x0006000400020000));
        return or_and(_mm512_cvtepu8_epi16(load_bytes32(p + 2)), moved, _mm512_set1_epi16(0x0300));
    }
    HOKKU_INLINE static Quads finish(const uint8_t* p, __m512i points) {
        const __m512i signs = _mm512_castsi256_si512(load_bytes32(p + 34));
        return quads_of_iq2(points, repeat_bytes<2>(signs),
                            scales_of(sixteen_nibbles(p + 74), 0.25f, p));
    }
};

// ---- IQ3: points of four values ----------------------------------------------------------------

struct StepIq3Xxs : SuperBlock<98, VectorLayout::quads, 64> {
    HOKKU_INLINE static Quads unpack(const uint8_t* p, __mmask16) {
        const __m512i index = load_bytes(p + 2);
        const __m512i words = _mm512_cvtepu32_epi64(load_bytes32(p + 66));
        const __m512i seven_bits =
            _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x15150e0e07070000), words);
        const __m512i signs = look_up_128(tables.even_signs, seven_bits);
        Quads quads;
        for (int s = 0; s < 4; ++s)
            quads.codes[s] = negate(look_up_256(tables.iq3_xxs[s], index), signs, s);
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
        __m512i points[2];
        for (int i = 0; i < 2; ++i)
            points[i] = _mm512_mask_mov_epi8(look_up_256(tables.iq3_s[i], index), ninth,
                                             look_up_256(tables.iq3_s[i] + 256, index));
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

// ---- IQ1: points of eight values -1, 0, 1, moved by +-1/8; counted in eighths with zero point 9
// --

/// `delta` is 0 in bytes that move down, 2 in those that move up; `scales` are odd numbers.
HOKKU_INLINE Quads quads_of_iq1(__m512i points, __m512i delta, __m512i scales, float d) {
    const __m512i bits = _mm512_set1_epi8(0x18);
    const __m512 eighth = _mm512_set1_ps(0.125f * d);
    return {{or_and(delta, _mm512_slli_epi16(points, 3), bits),
             or_and(delta, _mm512_slli_epi16(points, 1), bits),
             or_and(delta, _mm512_srli_epi16(points, 1), bits),
             or_and(delta, _mm512_srli_epi16(points, 3), bits)},
            _mm512_mul_ps(_mm512_cvtepi32_ps(scales), eighth)};
}

/// 2 n + 1 for the three lowest bits n.
HOKKU_INLINE __m512i odd_of_three_bits(__m512i x) {
    return or_and(_mm512_set1_epi32(1), _mm512_add_epi32(x, x), _mm512_set1_epi32(14));
}

struct StepIq1S : SuperBlock<50, VectorLayout::quads, 9> {
    static constexpr const auto& kTable = tables.iq1_s;
    /// Each word for its four codes.
    HOKKU_INLINE static __m512i words(const uint8_t* p) {
        const __m512i fourfold = _mm512_set_epi64(
            0x0007000700070007, 0x0006000600060006, 0x0005000500050005, 0x0004000400040004,
            0x0003000300030003, 0x0002000200020002, 0x0001000100010001, 0);
        return _mm512_permutexvar_epi16(fourfold, _mm512_castsi128_si512(load_bytes16(p + 34)));
    }
    HOKKU_INLINE static __m512i index(const uint8_t* p) {
        const __m512i moved = _mm512_slli_epi16(
            _mm512_srlv_epi16(words(p), _mm512_set1_epi64(0x0009000600030000)), 8);
        return or_and(_mm512_cvtepu8_epi16(load_bytes32(p + 2)), moved, _mm512_set1_epi16(0x0700));
    }
    HOKKU_INLINE static Quads finish(const uint8_t* p, __m512i points) {
        const __m512i own = words(p);
        const __m512i delta = _mm512_andnot_si512(_mm512_srai_epi16(own, 15), _mm512_set1_epi8(2));
        return quads_of_iq1(points, delta, odd_of_three_bits(_mm512_srli_epi32(own, 28)),
                            load_half_float(p));
    }
};

struct StepIq1M : SuperBlock<56, VectorLayout::quads, 9> {
    static constexpr const auto& kTable = tables.iq1_s;
    /// The nibble of each code from the eighth bit of its word on.
    HOKKU_INLINE static __m512i nibbles(const uint8_t* p) {
        const __m512i bytes = repeat_bytes<4>(_mm512_castsi128_si512(load_bytes16(p + 32)));
        return _mm512_srlv_epi16(_mm512_maskz_mov_epi8(0xaaaaaaaaaaaaaaaa, bytes),
                                 _mm512_set1_epi32(0x00040000));
    }
    HOKKU_INLINE static __m512i index(const uint8_t* p) {
        return or_and(_mm512_cvtepu8_epi16(load_bytes32(p)), nibbles(p), _mm512_set1_epi16(0x0700));
    }
    HOKKU_INLINE static Quads finish(const uint8_t* p, __m512i points) {
        const __mmask32 is_up = _mm512_testn_epi16_mask(nibbles(p), _mm512_set1_epi16(0x0800));
        uint64_t words;
        std::memcpy(&words, p + 48, sizeof words);
        const auto d = static_cast<uint16_t>(_pext_u64(words, 0xf000f000f000f000));
        const __m512i three_bits = _mm512_multishift_epi64_epi8(
            _mm512_set_epi64(0x3900000036, 0x3300000030, 0x2900000026, 0x2300000020, 0x1900000016,
                             0x1300000010, 0x0900000006, 0x0300000000),
            _mm512_set1_epi64(static_cast<int64_t>(words)));
        return quads_of_iq1(points, _mm512_maskz_mov_epi16(is_up, _mm512_set1_epi8(2)),
                            odd_of_three_bits(three_bits), _cvtsh_ss(d));
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
        const __m512i bytes = repeat_bytes<2>(
            _mm512_castsi256_si512(_mm256_set_m128i(load_bytes16(p + 20), load_bytes16(p + 2))));
        Quads quads;
        for (int s = 0; s < 4; ++s)
            quads.codes[s] = _mm512_maskz_mov_epi8(bits_of_quad(bytes, s), _mm512_set1_epi8(2));
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

/// Digits (0..2) of bytes times `powers` of three modulo 256; a power for each two bytes.
HOKKU_INLINE __m512i ternary_digits(__m512i bytes, __m512i powers) {
    const __m512i three = _mm512_set1_epi16(3), upper = _mm512_set1_epi16(-256);
    const __m512i odd = _mm512_mullo_epi16(_mm512_and_si512(bytes, upper), powers);
    const __m512i even = _mm512_mullo_epi16(bytes, _mm512_slli_epi16(powers, 8));
    return _mm512_or_si512(_mm512_mulhi_epu16(even, three),
                           _mm512_slli_epi16(_mm512_mulhi_epu16(odd, three), 8));
}

/// Four times 16 bytes.
HOKKU_INLINE __m512i powers_of_three(__m128i a, __m128i b, __m128i c, __m128i d) {
    return join(_mm256_set_m128i(b, a), _mm256_set_m128i(d, c));
}

struct StepTq1_0 : SuperBlock<54, VectorLayout::super_linear, 1> {
    HOKKU_INLINE static Weights<4> unpack(const uint8_t* p, __mmask16) {
        const __m128i one = _mm_set1_epi16(1), three = _mm_set1_epi16(3), nine = _mm_set1_epi16(9);
        const __m128i third = _mm_set1_epi16(27), fourth = _mm_set1_epi16(81);
        const __m256i front = load_bytes32(p);
        const __m128i back = load_bytes16(p + 32);
        const __m128i last = _mm_set1_epi32(static_cast<int>(load_word(p + 48)));
        const __m512i twice = join(front, front);
        Weights<4> w{
            {ternary_digits(twice, powers_of_three(one, one, three, three)),
             ternary_digits(twice, powers_of_three(nine, nine, third, third)),
             ternary_digits(join(front, _mm256_set_m128i(back, back)),
                            powers_of_three(fourth, fourth, one, three)),
             ternary_digits(
                 join(_mm256_set_m128i(back, back), _mm256_set_m128i(last, back)),
                 powers_of_three(nine, third, fourth, _mm_setr_epi16(1, 1, 3, 3, 9, 9, 27, 27)))},
            splat_half(p + 52)};
        gather_lanes(w.codes);
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
