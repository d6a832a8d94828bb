// SPDX-License-Identifier: Apache-2.0
// Steps super-blocks of IQ1, whose codes are points of eight values: one struct per type; and what
// IQ2 shares with them. Layouts as in backend/dequantize_codebooks.h. Internal linkage on purpose.
//
// 32-bit lane l of a register stands for points 2 l and 2 l + 1, the values 16 l to 16 l + 15
// (layout super_plain): it has one scale.
#pragma once

#include <type_traits>

#include "backend/cpu/avx512/gemv_codebooks.h"

namespace hokku::cpu {
namespace {

// ---- table look-ups ----------------------------------------------------------------------------

/// The points of a grid as it stores them, two bits a value; and as bytes, of which byte j has the
/// two bits of value j from bit kLow on and those of value 4 + j from bit kHigh on.
template <size_t kSize, int kLowBit, int kHighBit>
struct PointTable {
    static constexpr size_t kEntries = kSize;
    static constexpr int kLow = kLowBit, kHigh = kHighBit;
    alignas(64) uint16_t words[kSize];
    alignas(64) uint32_t bytes[kSize];
};
struct PointTables {
    PointTable<2048, 3, 6> iq1_s;
};
PointTables point_tables;  // Filled once, before any kernel can be called.

template <size_t kSize, int kLow, int kHigh>
void fill_point_table(const uint16_t (&grid)[kSize], PointTable<kSize, kLow, kHigh>& table) {
    for (size_t i = 0; i < kSize; ++i) {
        table.words[i] = grid[i];
        table.bytes[i] = 0;
        for (int j = 0; j < 4; ++j) {
            const uint32_t low = grid[i] >> (2 * j) & 3, high = grid[i] >> (2 * j + 8) & 3;
            table.bytes[i] |= (low << kLow | high << kHigh) << (8 * j);
        }
    }
}

void fill_point_tables() {
    fill_point_table(blocks::kIq1SGrid, point_tables.iq1_s);
}

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

/// Where byte j of each 32-bit lane begins in its 64-bit lane: at bit `first + step * j` of its own
/// half.
constexpr int64_t fields_of_half(int first, int step) {
    uint64_t places = 0;
    for (int j = 0; j < 8; ++j)
        places |= static_cast<uint64_t>((first + step * (j % 4) + j / 4 * 32) & 63) << (8 * j);
    return static_cast<int64_t>(places);
}
template <int kFirst, int kStep>
HOKKU_INLINE __m512i fields(__m512i x) {
    return _mm512_multishift_epi64_epi8(_mm512_set1_epi64(fields_of_half(kFirst, kStep)), x);
}

/// a where bits of the mask are clear, b where they are set.
HOKKU_INLINE __m512i select(__m512i a, __m512i b, int8_t byte_mask) {
    return _mm512_ternarylogic_epi64(a, b, _mm512_set1_epi8(byte_mask), 0xd8);
}

/// Whether points are gathered from memory or looked up by permutations of registers.
enum class LookUp { gather, permute };

/// 16 numbers of a table. A gather waits for what its register had before, unless that is zero
/// anew. Compilers leave the zero out where they see that nothing of it stays, or copy one that
/// they keep, which takes as long as other work.
HOKKU_INLINE __m512i gather(const uint32_t* table, __m512i index) {
    __mmask16 all = 0xffff;
    __asm__("" : "+Yk"(all));
    __m512i zero;
    __asm__("vpxord %0, %0, %0" : "=v"(zero) : "v"(index));
    return _mm512_mask_i32gather_epi32(zero, all, index, table, 4);
}

/// The same from what look_up_words found.
template <class Table>
HOKKU_INLINE void spread_points(__m512i words, __m512i (&points)[2]) {
    constexpr int kLow = Table::kLow, kHigh = Table::kHigh;
    constexpr auto kMask = static_cast<int8_t>(3 << kHigh);
    points[0] = select(fields<-kLow, 2>(words), fields<8 - kHigh, 2>(words), kMask);
    points[1] = select(fields<16 - kLow, 2>(words), fields<24 - kHigh, 2>(words), kMask);
}

/// A block whose points are found. One register of it is read once for all steps, as reads of 64
/// bytes across cache lines are dear: compilers like to repeat them.
struct FoundPoints {
    const uint8_t* p;
    __m512i read, points[2];
};

/// Of kCount rows that lie stream_bytes apart.
template <LookUp kLookUp, class Type, uint32_t kCount>
HOKKU_INLINE void find_points(const uint8_t* first, size_t stream_bytes,
                              FoundPoints (&found)[kCount]) {
    using Table = std::remove_cvref_t<decltype(Type::kTable)>;
    for (uint32_t s = 0; s < kCount; ++s) {
        found[s].p = first + s * stream_bytes;
        found[s].read = Type::read(found[s].p);
        __asm__("" : "+v"(found[s].read));
        Type::index(found[s].p, found[s].read, found[s].points);
        if constexpr (kLookUp == LookUp::gather) {
            for (__m512i& x : found[s].points) x = gather(Type::kTable.bytes, x);
        }
    }
    if constexpr (kLookUp == LookUp::permute) {
        __m512i words[kCount];
        for (uint32_t s = 0; s < kCount; ++s)
            words[s] =
                _mm512_or_si512(found[s].points[0], _mm512_slli_epi32(found[s].points[1], 16));
        look_up_words<Table::kEntries>(Type::kTable.words, words);
        for (uint32_t s = 0; s < kCount; ++s) spread_points<Table>(words[s], found[s].points);
    }
}

HOKKU_INLINE uint64_t load_short(const uint8_t* p) {
    uint16_t value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

/// d of the blocks of kCount rows (one or four) that lie stream_bytes apart: in memory, from where
/// they are spread at no cost, or in a register where gathers follow. Those wait for stores of
/// numbers that come late (a fifth of the time of IQ1_S).
template <bool kInMemory>
class RowScales {
  public:
    template <class Type, uint32_t kCount>
    HOKKU_INLINE void load(const uint8_t* first, size_t stream_bytes) {
        const auto bits = [&](uint32_t s) HOKKU_LAMBDA {
            return static_cast<int>(Type::d_bits(first + s * stream_bytes));
        };
        __m128i halves = _mm_cvtsi32_si128(bits(0));
        if constexpr (kCount == 4) {
            halves = _mm_insert_epi16(halves, bits(1), 1);
            halves = _mm_insert_epi16(halves, bits(2), 2);
            halves = _mm_insert_epi16(halves, bits(3), 3);
        }
        scales_ = _mm_cvtph_ps(halves);
        if constexpr (kInMemory) {
            _mm_store_ps(memory_, scales_);
            __asm__("" : "+m"(memory_));
        }
    }
    /// That of row s in all lanes.
    [[nodiscard]] HOKKU_INLINE __m512 of(uint32_t s) const {
        if constexpr (kInMemory) return _mm512_set1_ps(memory_[s]);
        return _mm512_permutexvar_ps(_mm512_set1_epi32(static_cast<int>(s)),
                                     _mm512_castps128_ps512(scales_));
    }

  private:
    __m128 scales_ = _mm_setzero_ps();
    alignas(16) float memory_[kInMemory ? 4 : 1] = {};
};

// ---- scales ------------------------------------------------------------------------------------

/// table[i] times d for the four lowest bits of each lane.
HOKKU_INLINE __m512 look_up_scales(const float (&table)[16], __m512i index, __m512 d) {
    return _mm512_mul_ps(_mm512_permutexvar_ps(index, _mm512_load_ps(table)), d);
}
/// (i + 1/2) / 4
alignas(64) constexpr float kIq2Scales[16] = {0.125f, 0.375f, 0.625f, 0.875f, 1.125f, 1.375f,
                                              1.625f, 1.875f, 2.125f, 2.375f, 2.625f, 2.875f,
                                              3.125f, 3.375f, 3.625f, 3.875f};
/// (2 i + 1) / 8 for the three lowest bits.
alignas(64) constexpr float kIq1Scales[16] = {0.125f, 0.375f, 0.625f, 0.875f, 1.125f, 1.375f,
                                              1.625f, 1.875f, 0.125f, 0.375f, 0.625f, 0.875f,
                                              1.125f, 1.375f, 1.625f, 1.875f};

HOKKU_INLINE int64_t load_long(const uint8_t* p) {
    int64_t word;
    std::memcpy(&word, p, sizeof word);
    return word;
}
HOKKU_INLINE __m512i splat_long(const uint8_t* p) {
    return _mm512_set1_epi64(load_long(p));
}
/// The 16 nibbles of eight bytes.
HOKKU_INLINE __m512 nibble_scales(const uint8_t* p, __m512 d) {
    const __m512i nibbles = _mm512_multishift_epi64_epi8(
        _mm512_set_epi64(0x3c00000038, 0x3400000030, 0x2c00000028, 0x2400000020, 0x1c00000018,
                         0x1400000010, 0x0c00000008, 0x0400000000),
        splat_long(p));
    return look_up_scales(kIq2Scales, nibbles, d);
}

// ---- IQ1: values -1, 0, 1, moved by +-1/8; counted in eighths with zero point 9 ----------------

/// `delta` is 0 in bytes that move down, 2 in those that move up.
HOKKU_INLINE void set_iq1_codes(__m512i points, __m512i delta, __m512i& low, __m512i& high) {
    const __m512i bits = _mm512_set1_epi8(0x18), moved = _mm512_srli_epi32(points, 3);
    low = _mm512_ternarylogic_epi64(points, delta, bits, 0xec);  // points & bits | delta
    high = _mm512_ternarylogic_epi64(moved, delta, bits, 0xec);
}

/// Indices of 11 bits: eight from bits 0 and 8 of each 32-bit lane on, three from bits kLower
/// (in the upper lane of 64 bits kUpper) and kDistance bits behind them on.
template <int kLower, int kUpper, int kDistance>
HOKKU_INLINE void index_by_bits(__m512i x, __m512i (&index)[2]) {
    constexpr uint64_t kLowerHalf = kLower << 8, kUpperHalf = 32 | (32 + kUpper) << 8;
    constexpr uint64_t kPlaces = kLowerHalf | kUpperHalf << 32;
    constexpr uint64_t kNext = 8 | kDistance << 8;
    const __m512i bits = _mm512_set1_epi32(2047);
    index[0] = _mm512_and_si512(bits, _mm512_maskz_multishift_epi64_epi8(
                                          0x3333333333333333, _mm512_set1_epi64(kPlaces), x));
    index[1] = _mm512_and_si512(
        bits, _mm512_maskz_multishift_epi64_epi8(
                  0x3333333333333333, _mm512_set1_epi64(kPlaces + (kNext | kNext << 32)), x));
}

struct StepIq1S : SuperBlock<50, VectorLayout::super_plain, 9> {
    HOKKU_INLINE static uint64_t d_bits(const uint8_t* p) { return load_short(p); }
    static constexpr const auto& kTable = point_tables.iq1_s;
    /// The codes of both points and the word of all 32 values.
    HOKKU_INLINE static __m512i read(const uint8_t* p) {
        const __m512i places =
            _mm512_set_epi32(0x31302120, 0x31301f1e, 0x2f2e1d1c, 0x2f2e1b1a, 0x2d2c1918, 0x2d2c1716,
                             0x2b2a1514, 0x2b2a1312, 0x29281110, 0x29280f0e, 0x27260d0c, 0x27260b0a,
                             0x25240908, 0x25240706, 0x23220504, 0x23220302);
        return _mm512_permutexvar_epi8(places, load_bytes(p));
    }
    HOKKU_INLINE static void index(const uint8_t*, __m512i x, __m512i (&index)[2]) {
        index_by_bits<16, 22, 3>(x, index);
    }
    HOKKU_INLINE static void finish(const FoundPoints& found, __m512 d, Weights<4>& w) {
        const __m512i delta =
            _mm512_andnot_si512(_mm512_srai_epi32(found.read, 31), _mm512_set1_epi8(2));
        set_iq1_codes(found.points[0], delta, w.codes[0], w.codes[1]);
        set_iq1_codes(found.points[1], delta, w.codes[2], w.codes[3]);
        w.scales = look_up_scales(kIq1Scales, _mm512_srli_epi32(found.read, 28), d);
    }
};

struct StepIq1M : SuperBlock<56, VectorLayout::super_plain, 9> {
    HOKKU_INLINE static uint64_t d_bits(const uint8_t* p) {
        uint64_t words;
        std::memcpy(&words, p + 48, sizeof words);
        return _pext_u64(words, 0xf000f000f000f000);
    }
    static constexpr const auto& kTable = point_tables.iq1_s;
    /// The codes of both points and their nibbles.
    HOKKU_INLINE static __m512i read(const uint8_t* p) {
        const __m512i places =
            _mm512_set_epi32(0x2f2f1f1e, 0x2e2e1d1c, 0x2d2d1b1a, 0x2c2c1918, 0x2b2b1716, 0x2a2a1514,
                             0x29291312, 0x28281110, 0x27270f0e, 0x26260d0c, 0x25250b0a, 0x24240908,
                             0x23230706, 0x22220504, 0x21210302, 0x20200100);
        return _mm512_permutexvar_epi8(places, load_bytes(p));
    }
    HOKKU_INLINE static void index(const uint8_t*, __m512i x, __m512i (&index)[2]) {
        index_by_bits<16, 16, 4>(x, index);
    }
    HOKKU_INLINE static void finish(const FoundPoints& found, __m512 d, Weights<4>& w) {
        // The upper bit of each nibble comes to bit 1 of four bytes.
        const __m512i two = _mm512_set1_epi8(2);
        const __m512i down[2] = {fields<18, 0>(found.read), fields<22, 0>(found.read)};
        for (int g = 0; g < 2; ++g)
            set_iq1_codes(found.points[g], _mm512_andnot_si512(down[g], two), w.codes[2 * g],
                          w.codes[2 * g + 1]);
        const __m512i scales = _mm512_multishift_epi64_epi8(
            _mm512_set_epi64(0x3900000036, 0x3300000030, 0x2900000026, 0x2300000020, 0x1900000016,
                             0x1300000010, 0x0900000006, 0x0300000000),
            splat_long(found.p + 48));
        w.scales = look_up_scales(kIq1Scales, scales, d);
    }
};

}  // namespace
}  // namespace hokku::cpu
