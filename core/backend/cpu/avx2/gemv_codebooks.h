// SPDX-License-Identifier: Apache-2.0
// Steps (see gemv_steps.h) of the types whose codes are points of a codebook, ternary or binary.
// Layouts as in backend/dequantize_codebooks.h. Internal linkage on purpose.
#pragma once

#include "backend/cpu/avx2/gemv_steps.h"
#include "backend/dequantize_codebooks.h"

namespace hokku::cpu {
namespace {

/// Points as bytes: magnitudes, or for IQ1 codes.
struct PointTables {
    uint64_t iq2_xxs[256], iq2_xs[512], iq2_s[1024], iq1_s[2048];
    uint32_t iq3_xxs[256], iq3_s[512];
    float half_of_e4m3[256];
};
PointTables tables;  // Filled once, before any kernel can be called.

/// `magnitudes` of the codes of `bits` bits each that make up a point.
template <class Point, size_t kCount, class Magnitude>
void fill_points(Point (&points)[kCount], const uint16_t* grid, uint32_t bits,
                 Magnitude magnitude) {
    for (size_t i = 0; i < kCount; ++i) {
        points[i] = 0;
        for (uint32_t j = 0; j < sizeof(Point); ++j) {
            const uint32_t code = grid[i] >> (bits * j) & ((1u << bits) - 1);
            points[i] |= Point{magnitude(code)} << (8 * j);
        }
    }
}

void fill_point_tables() {
    const auto iq2 = [](uint32_t code) { return 8 + 17 * code + code / 2; };
    fill_points(tables.iq2_xxs, blocks::kIq2XxsGrid, 2, iq2);
    fill_points(tables.iq2_xs, blocks::kIq2XsGrid, 2, iq2);
    fill_points(tables.iq2_s, blocks::kIq2SGrid, 2, iq2);
    fill_points(tables.iq1_s, blocks::kIq1SGrid, 2, [](uint32_t code) { return 8 * code; });
    fill_points(tables.iq3_xxs, blocks::kIq3XxsGrid, 4,
                [](uint32_t code) { return 8 * code + (code == 7 ? 6 : 4); });
    fill_points(tables.iq3_s, blocks::kIq3SGrid, 4, [](uint32_t code) { return 2 * code + 1; });
    for (uint32_t code = 0; code < 256; ++code)
        tables.half_of_e4m3[code] = hokku::half_of_e4m3(code & 0x7f);
}

HOKKU_INLINE __m256i join_points(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    return _mm256_setr_epi64x(static_cast<int64_t>(a), static_cast<int64_t>(b),
                              static_cast<int64_t>(c), static_cast<int64_t>(d));
}
HOKKU_INLINE uint32_t load_u16(const uint8_t* p) {
    uint16_t value;
    std::memcpy(&value, p, sizeof value);
    return value;
}
HOKKU_INLINE uint64_t load_u64(const uint8_t* p) {
    uint64_t value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

/// Products of magnitudes and 32 codes, summed by pairs; a code changes sign where a bit is set.
HOKKU_INLINE __m256i pairs_by_sign(__m256i magnitudes, uint32_t signs, const int8_t* codes) {
    const __m256i minus_or_one = _mm256_or_si256(bits_to_bytes(signs), _mm256_set1_epi8(1));
    return _mm256_maddubs_epi16(magnitudes, _mm256_sign_epi8(load_codes(codes), minus_or_one));
}

/// Four times eight signs from 28 bits: the eighth makes the number of minuses even.
HOKKU_INLINE uint32_t even_signs_of_four(uint32_t word) {
    const uint32_t seven = _pdep_u32(word, 0x7f7f7f7f);
    uint32_t parity = seven ^ seven >> 4;
    parity ^= parity >> 2;
    parity ^= parity >> 1;
    return seven | (parity & 0x01010101) << 7;
}

// ---- IQ2 and IQ3 -------------------------------------------------------------------------------

/// 2 n + 1 of 16 nibbles in 8 bytes.
HOKKU_INLINE __m256i odd_of_nibbles(const uint8_t* p) {
    const __m128i x = _mm_cvtsi64_si128(static_cast<int64_t>(load_u64(p)));
    const __m128i both = _mm_unpacklo_epi8(x, _mm_srli_epi16(x, 4));
    const __m256i n = _mm256_cvtepu8_epi16(_mm_and_si128(both, _mm_set1_epi8(15)));
    return _mm256_add_epi16(_mm256_add_epi16(n, n), _mm256_set1_epi16(1));
}
/// 2 n + 1 of eight numbers in the uppermost four bits of words, each twice.
HOKKU_INLINE __m256i odd_of_tops(__m256i words) {
    const __m256i n = _mm256_srli_epi32(words, 28);
    const __m256i twice = _mm256_or_si256(n, _mm256_slli_epi32(n, 16));
    return _mm256_add_epi16(_mm256_add_epi16(twice, twice), _mm256_set1_epi16(1));
}

struct StepIq2Xxs : SuperBlock<66> {
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t step) {
        const __m256i front = load_bytes32(p + 2), back = load_bytes32(p + 34);
        const __m256i words = _mm256_permute4x64_epi64(
            _mm256_castps_si256(
                _mm256_shuffle_ps(_mm256_castsi256_ps(front), _mm256_castsi256_ps(back), 0xdd)),
            0xd8);
        return add_whole_scales(
            sum, odd_of_tops(words), 0.125f * load_half_float(p), v, step,
            [p](int j, const int8_t* codes) HOKKU_LAMBDA {
                const uint8_t* q = p + 2 + 8 * j;
                const auto& table = tables.iq2_xxs;
                return pairs_by_sign(
                    join_points(table[q[0]], table[q[1]], table[q[2]], table[q[3]]),
                    even_signs_of_four(load_word(q + 4)), codes);
            });
    }
};

struct StepIq2Xs : SuperBlock<74> {
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t step) {
        return add_whole_scales(
            sum, odd_of_nibbles(p + 66), 0.125f * load_half_float(p), v, step,
            [p](int j, const int8_t* codes) HOKKU_LAMBDA {
                const uint64_t words = load_u64(p + 2 + 8 * j);
                const auto point = [words](int k) {
                    return tables.iq2_xs[words >> (16 * k) & 511];
                };
                const auto seven = static_cast<uint32_t>(_pext_u64(words, 0xfe00fe00fe00fe00));
                return pairs_by_sign(join_points(point(0), point(1), point(2), point(3)),
                                     even_signs_of_four(seven), codes);
            });
    }
};

struct StepIq2S : SuperBlock<82> {
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t step) {
        return add_whole_scales(sum, odd_of_nibbles(p + 74), 0.125f * load_half_float(p), v, step,
                                [p](int j, const int8_t* codes) HOKKU_LAMBDA {
                                    const uint8_t* q = p + 2 + 4 * j;
                                    const uint32_t upper = p[66 + j];
                                    const auto point = [q, upper](uint32_t k) {
                                        return tables.iq2_s[q[k] | (upper << (8 - 2 * k) & 0x300)];
                                    };
                                    return pairs_by_sign(
                                        join_points(point(0), point(1), point(2), point(3)),
                                        load_word(q + 32), codes);
                                });
    }
};

HOKKU_INLINE uint64_t two_points(uint32_t a, uint32_t b) {
    return a | uint64_t{b} << 32;
}

struct StepIq3Xxs : SuperBlock<98> {
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t step) {
        return add_whole_scales(
            sum, odd_of_tops(load_bytes32(p + 66)), 0.25f * load_half_float(p), v, step,
            [p](int j, const int8_t* codes) HOKKU_LAMBDA {
                const uint8_t* q = p + 2 + 8 * j;
                const auto points = [q](int k) {
                    return two_points(tables.iq3_xxs[q[2 * k]], tables.iq3_xxs[q[2 * k + 1]]);
                };
                return pairs_by_sign(join_points(points(0), points(1), points(2), points(3)),
                                     even_signs_of_four(load_word(p + 66 + 4 * j)), codes);
            });
    }
};

struct StepIq3S : SuperBlock<110> {
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t step) {
        const __m256i nibbles =
            _mm256_srlv_epi32(_mm256_set1_epi32(static_cast<int>(load_word(p + 106))),
                              _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
        return add_whole_scales(
            sum, odd_of_tops(_mm256_slli_epi32(nibbles, 28)), load_half_float(p), v, step,
            [p](int j, const int8_t* codes) HOKKU_LAMBDA {
                const uint8_t* q = p + 2 + 8 * j;
                const uint32_t ninth = p[66 + j];
                const auto points = [q, ninth](uint32_t k) {
                    return two_points(tables.iq3_s[q[2 * k] | (ninth << (8 - 2 * k) & 256)],
                                      tables.iq3_s[q[2 * k + 1] | (ninth << (7 - 2 * k) & 256)]);
                };
                return pairs_by_sign(join_points(points(0), points(1), points(2), points(3)),
                                     load_word(p + 74 + 4 * j), codes);
            });
    }
};

// ---- IQ1: counted in eighths with zero point 9 -------------------------------------------------

/// 2 more in the bytes of a point that moves up (`down` 0, not 1); by a product, for a branch would
/// be taken at random.
HOKKU_INLINE uint64_t iq1_point(uint32_t code, uint32_t down) {
    return tables.iq1_s[code] + (1 - down) * uint64_t{0x0202020202020202};
}

struct StepIq1S : SuperBlock<50> {
    static constexpr int kZeroPoint = 9;
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t step) {
        const __m256i words = _mm256_cvtepu16_epi32(load_bytes16(p + 34));
        const __m256i n = _mm256_and_si256(_mm256_srli_epi32(words, 12), _mm256_set1_epi32(7));
        return add_whole_scales<true>(
            sum, odd_of_tops(_mm256_slli_epi32(n, 28)), 0.125f * load_half_float(p), v, step,
            [p](int j, const int8_t* codes) HOKKU_LAMBDA {
                const uint8_t* q = p + 2 + 4 * j;
                const uint32_t word = load_u16(p + 34 + 2 * j);
                const auto point = [q, word](uint32_t k) {
                    return iq1_point(q[k] | (word >> (3 * k) & 7) << 8, word >> 15);
                };
                return _mm256_maddubs_epi16(join_points(point(0), point(1), point(2), point(3)),
                                            load_codes(codes));
            });
    }
};

struct StepIq1M : SuperBlock<56> {
    static constexpr int kZeroPoint = 9;
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t step) {
        const uint64_t words = load_u64(p + 48);
        const auto d = static_cast<uint16_t>(_pext_u64(words, 0xf000f000f000f000));
        const uint64_t bits = _pext_u64(words, 0x0fff0fff0fff0fff);
        const auto bytes = [bits](int from) HOKKU_LAMBDA {
            return static_cast<int64_t>(_pdep_u64(bits >> from, 0x0707070707070707));
        };
        const __m256i n = _mm256_cvtepu8_epi16(_mm_set_epi64x(bytes(24), bytes(0)));
        return add_whole_scales<true>(
            sum, _mm256_add_epi16(_mm256_add_epi16(n, n), _mm256_set1_epi16(1)),
            0.125f * _cvtsh_ss(d), v, step, [p](int j, const int8_t* codes) HOKKU_LAMBDA {
                const uint8_t* q = p + 4 * j;
                const uint32_t nibbles = load_u16(p + 32 + 2 * j);
                const auto point = [q, nibbles](uint32_t k) {
                    const uint32_t nibble = nibbles >> (4 * k);
                    return iq1_point(q[k] | (nibble & 7) << 8, nibble >> 3 & 1);
                };
                return _mm256_maddubs_epi16(join_points(point(0), point(1), point(2), point(3)),
                                            load_codes(codes));
            });
    }
};

// ---- ternary and binary ------------------------------------------------------------------------

struct StepTq2_0 : SuperBlock<66> {
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t step) {
        return add_whole_scales<true>(
            sum, _mm256_set1_epi16(1), load_half_float(p + 64), v, step,
            [p](int j, const int8_t* codes) HOKKU_LAMBDA {
                return _mm256_maddubs_epi16(
                    keep_bits(shift_right(load_bytes32(p + 32 * (j / 4)), j % 4 * 2), 3),
                    load_codes(codes));
            });
    }
};

/// Digits (0..2) of bytes times `powers` of three modulo 256; a power for each two bytes.
HOKKU_INLINE __m256i ternary_digits(__m256i bytes, __m256i powers) {
    const __m256i three = _mm256_set1_epi16(3), upper = _mm256_set1_epi16(-256);
    const __m256i odd = _mm256_mullo_epi16(_mm256_and_si256(bytes, upper), powers);
    const __m256i even = _mm256_mullo_epi16(bytes, _mm256_slli_epi16(powers, 8));
    return _mm256_or_si256(_mm256_mulhi_epu16(even, three),
                           _mm256_slli_epi16(_mm256_mulhi_epu16(odd, three), 8));
}

struct StepTq1_0 : SuperBlock<54> {
    HOKKU_INLINE static __m256i digits(const uint8_t* p, int j) {
        const __m256i back = _mm256_broadcastsi128_si256(load_bytes16(p + 32));
        const auto two = [](int16_t first, int16_t second) HOKKU_LAMBDA {
            return _mm256_set_m128i(_mm_set1_epi16(second), _mm_set1_epi16(first));
        };
        constexpr int16_t kPowers[5] = {1, 3, 9, 27, 81};
        if (j < 5) return ternary_digits(load_bytes32(p), _mm256_set1_epi16(kPowers[j]));
        if (j == 5) return ternary_digits(back, two(1, 3));
        if (j == 6) return ternary_digits(back, two(9, 27));
        const __m128i last = _mm_set1_epi32(static_cast<int>(load_word(p + 48)));
        return ternary_digits(
            _mm256_inserti128_si256(back, last, 1),
            _mm256_set_m128i(_mm_setr_epi16(1, 1, 3, 3, 9, 9, 27, 27), _mm_set1_epi16(81)));
    }
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t step) {
        return add_whole_scales<true>(
            sum, _mm256_set1_epi16(1), load_half_float(p + 52), v, step,
            [p](int j, const int8_t* codes)
                HOKKU_LAMBDA { return _mm256_maddubs_epi16(digits(p, j), load_codes(codes)); });
    }
};

/// Adds the products of 32 values without their common scale.
HOKKU_INLINE __m256 add_unscaled(__m256 total, __m256i codes, const GemvVector& v, size_t b) {
    return _mm256_fmadd_ps(dot_unsigned(codes, v.codes + b * 32), _mm256_broadcast_ss(v.scales + b),
                           total);
}

struct StepQ1_0 {
    static constexpr size_t kValues = 128, kBytes = 18;
    static constexpr VectorLayout kLayout = VectorLayout::super_halves;
    static constexpr int kZeroPoint = 1;
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t step) {
        __m256 total = _mm256_loadu_ps(v.sums + 8 * step);
        for (size_t j = 0; j < 4; ++j) {
            const __m256i codes = keep_bits(bits_to_bytes(load_word(p + 2 + 4 * j)), 2);
            total = add_unscaled(total, codes, v, 4 * step + j);
        }
        return _mm256_fmadd_ps(total, _mm256_set1_ps(load_half_float(p)), sum);
    }
};

struct StepQ2_0 {
    static constexpr size_t kValues = 64, kBytes = 18;
    static constexpr VectorLayout kLayout = VectorLayout::super_halves;
    static constexpr int kZeroPoint = 1;
    /// Four values of each of eight bytes.
    HOKKU_INLINE static __m256i unpack(const uint8_t* p) {
        const __m256i fourfold =
            _mm256_shuffle_epi8(_mm256_set1_epi64x(static_cast<int64_t>(load_u64(p))),
                                _mm256_setr_epi64x(0x0101010100000000, 0x0303030302020202,
                                                   0x0505050504040404, 0x0707070706060606));
        const __m256i nibbles = _mm256_blend_epi16(fourfold, _mm256_srli_epi16(fourfold, 4), 0xaa);
        return _mm256_or_si256(
            _mm256_and_si256(nibbles, _mm256_set1_epi16(0x0003)),
            _mm256_and_si256(_mm256_srli_epi16(nibbles, 2), _mm256_set1_epi16(0x0300)));
    }
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t step) {
        __m256 total = _mm256_zextps128_ps256(_mm_loadu_ps(v.sums + 4 * step));
        total = add_unscaled(total, unpack(p + 2), v, 2 * step);
        total = add_unscaled(total, unpack(p + 10), v, 2 * step + 1);
        return _mm256_fmadd_ps(total, _mm256_set1_ps(load_half_float(p)), sum);
    }
};

struct StepNvfp4 {
    static constexpr size_t kValues = 64, kBytes = 36;
    static constexpr VectorLayout kLayout = VectorLayout::super_blocks;
    static constexpr int kZeroPoint = 1;
    HOKKU_INLINE static __m256 run(__m256 sum, const uint8_t* p, const GemvVector& v, size_t step) {
        for (size_t j = 0; j < 2; ++j) {
            const __m128i x = load_bytes16(p + 4 + 16 * j), nibble = _mm_set1_epi8(15);
            const __m128i low = _mm_and_si128(x, nibble);
            const __m128i high = _mm_and_si128(_mm_srli_epi16(x, 4), nibble);
            const __m256i codes =
                _mm256_set_m128i(_mm_unpackhi_epi64(low, high), _mm_unpacklo_epi64(low, high));
            const size_t b = 2 * step + j;
            const __m256 scales = _mm256_set_m128(_mm_set1_ps(tables.half_of_e4m3[p[2 * j + 1]]),
                                                  _mm_set1_ps(tables.half_of_e4m3[p[2 * j]]));
            sum = _mm256_fmadd_ps(dot_signed(fp4_steps(codes), v.codes + b * 32),
                                  _mm256_mul_ps(scales, _mm256_set1_ps(v.scales[b])), sum);
        }
        return sum;
    }
};

}  // namespace
}  // namespace hokku::cpu
