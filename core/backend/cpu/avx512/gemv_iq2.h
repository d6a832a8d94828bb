// SPDX-License-Identifier: Apache-2.0
// Steps super-blocks of IQ2, whose codes are points of eight values and signs: one struct per type.
// Layouts as in backend/dequantize_codebooks.h. Internal linkage on purpose.
//
// The points of two rows are looked up together, 64 of them: one register has the lower bytes of
// the points as the grids store them, four values of two bits each, another their upper bytes.
// From these, each row takes a register of 16 lanes: byte 0 and 1 of lane l are the first halves of
// points 2 l and 2 l + 1, byte 2 and 3 their second halves (layout super_points). A lane has one
// scale.
#pragma once

#include <bit>
#include <type_traits>

#include "backend/cpu/avx512/gemv_points.h"

namespace hokku::cpu {
namespace {

template <size_t kSize>
struct PlaneTable {
    static constexpr size_t kEntries = kSize;
    alignas(64) uint8_t lower[kSize], upper[kSize];
};
/// Grids are in order of size, so that upper bytes change seldom (those of IQ2_S 80 times): entry i
/// is values[number of changes up to i], counted for each eight entries (`before`) and within them
/// (`changes`: bits 0 to 5 and 7 for the second to the eighth).
struct RankedPlane {
    alignas(64) uint8_t before[128], changes[128], values[128];
};
struct Iq2Tables {
    PlaneTable<256> iq2_xxs;
    PlaneTable<512> iq2_xs;
    PlaneTable<1024> iq2_s;
    RankedPlane iq2_s_upper;
    /// Bits of `changes` up to an index; and how many of bits 0 to 5 are set.
    alignas(64) uint8_t up_to[64], num_bits[64];
    /// 64 + value, by bits 0, 1 (code) and 4 (sign); and by bits 2, 3 and 5.
    alignas(64) uint8_t first_codes[64], second_codes[64];
};
Iq2Tables iq2_tables;  // Filled once, before any kernel can be called.

template <size_t kSize>
void fill_plane_table(const uint16_t (&grid)[kSize], PlaneTable<kSize>& table) {
    for (size_t i = 0; i < kSize; ++i) {
        table.lower[i] = static_cast<uint8_t>(grid[i]);
        table.upper[i] = static_cast<uint8_t>(grid[i] >> 8);
    }
}

void fill_ranked_plane(const uint8_t (&plane)[1024], RankedPlane& ranked) {
    uint32_t rank = 0;
    for (uint32_t i = 0; i < 1024; ++i) {
        const bool is_change = i > 0 && plane[i] != plane[i - 1];
        if (is_change) ++rank;
        ranked.values[rank] = plane[i];
        if (i % 8 == 0) {
            ranked.before[i / 8] = static_cast<uint8_t>(rank);
        } else if (is_change) {
            ranked.changes[i / 8] |= static_cast<uint8_t>(i % 8 == 7 ? 0x80 : 1 << (i % 8 - 1));
        }
    }
}

void fill_iq2_tables() {
    fill_plane_table(blocks::kIq2XxsGrid, iq2_tables.iq2_xxs);
    fill_plane_table(blocks::kIq2XsGrid, iq2_tables.iq2_xs);
    fill_plane_table(blocks::kIq2SGrid, iq2_tables.iq2_s);
    fill_ranked_plane(iq2_tables.iq2_s.upper, iq2_tables.iq2_s_upper);
    for (uint32_t i = 0; i < 64; ++i) {
        iq2_tables.up_to[i] = static_cast<uint8_t>(i % 8 == 7 ? 0xff : (1 << i % 8) - 1);
        iq2_tables.num_bits[i] = static_cast<uint8_t>(std::popcount(i));
    }
    constexpr uint8_t kMagnitudes[4] = {8, 25, 43, 0};
    const auto code = [&](uint32_t point, bool is_minus) {
        const uint8_t magnitude = kMagnitudes[point & 3];
        return static_cast<uint8_t>(64 + (is_minus ? -magnitude : magnitude));
    };
    for (uint32_t i = 0; i < 64; ++i) {
        iq2_tables.first_codes[i] = code(i, i & 16);
        iq2_tables.second_codes[i] = code(i >> 2, i & 32);
    }
}

// ---- look-ups ----------------------------------------------------------------------------------

/// Of a row. `signs`: bits 4 to 7 of each byte are those of the four values that the byte has.
struct FoundIq2 {
    const uint8_t* p;
    __m512i points, signs;
};

/// What is looked up for two rows together: in each 128 bits eight points of the first row, then
/// eight of the second. Of the signs bits 4 to 7 count: those of first halves, of second halves.
struct Iq2Pair {
    __m512i index;
    IndexBits bits;
    __m512i signs[2];
    __m512i eighths = {};  ///< Where needed: see look_up_ranked.
};

/// Upper bytes of 1024 entries; the lowest seven bits of `eighths` are those of an index from its
/// third bit on.
HOKKU_INLINE __m512i look_up_ranked(const RankedPlane& t, __m512i index, __m512i eighths,
                                    __mmask64 tenth_bits) {
    const auto look_up = [](const uint8_t* table, __m512i i, __mmask64 upper_half) HOKKU_LAMBDA {
        const __m512i lower = _mm512_permutexvar_epi8(i, load_bytes(table));
        return _mm512_mask_permutexvar_epi8(lower, upper_half, i, load_bytes(table + 64));
    };
    const __m512i changes =
        _mm512_and_si512(look_up(t.changes, eighths, tenth_bits),
                         _mm512_permutexvar_epi8(index, load_bytes(iq2_tables.up_to)));
    __m512i rank =
        _mm512_add_epi8(look_up(t.before, eighths, tenth_bits),
                        _mm512_permutexvar_epi8(changes, load_bytes(iq2_tables.num_bits)));
    rank = _mm512_mask_add_epi8(rank, _mm512_movepi8_mask(changes), rank, _mm512_set1_epi8(1));
    return look_up(t.values, rank, seventh_bits(rank));
}

/// Of two rows that lie stream_bytes apart, or of one.
template <class Type, uint32_t kCount>
HOKKU_INLINE void find_iq2(const uint8_t* first, size_t stream_bytes, FoundIq2 (&found)[kCount]) {
    constexpr size_t kEntries = std::remove_cvref_t<decltype(Type::kTable)>::kEntries;
    const uint8_t* second = kCount == 2 ? first + stream_bytes : first;
    Iq2Pair pair = Type::find_pair(first, second);
    const IndexBits lower_bits = bits_of_bytes(pair.index);
    pair.bits.of[0] = lower_bits.of[0];
    pair.bits.of[1] = lower_bits.of[1];
    const __m512i lower = look_up_bytes<kEntries>(Type::kTable.lower, pair.index, pair.bits);
    const __m512i upper = Type::upper_bytes(pair);
    found[0] = {first, _mm512_unpacklo_epi16(lower, upper),
                _mm512_unpacklo_epi16(pair.signs[0], pair.signs[1])};
    if constexpr (kCount == 2) {
        found[1] = {second, _mm512_unpackhi_epi16(lower, upper),
                    _mm512_unpackhi_epi16(pair.signs[0], pair.signs[1])};
    }
}

HOKKU_INLINE void set_iq2_codes(const FoundIq2& found, Weights<4>& w) {
    constexpr int8_t kSigns = 0x30;
    const __m512i front = select(found.points, found.signs, kSigns);
    const __m512i back =
        select(_mm512_srli_epi16(found.points, 4), _mm512_srli_epi16(found.signs, 2), kSigns);
    const __m512i first = load_bytes(iq2_tables.first_codes);
    const __m512i second = load_bytes(iq2_tables.second_codes);
    w.codes[0] = _mm512_permutexvar_epi8(front, first);
    w.codes[1] = _mm512_permutexvar_epi8(front, second);
    w.codes[2] = _mm512_permutexvar_epi8(back, first);
    w.codes[3] = _mm512_permutexvar_epi8(back, second);
}

// ---- types -------------------------------------------------------------------------------------

template <int kBlockBytes>
struct Iq2Block : SuperBlock<kBlockBytes, VectorLayout::super_points, 64> {
    HOKKU_INLINE static uint64_t d_bits(const uint8_t* p) { return load_short(p); }
};

struct StepIq2Xxs : Iq2Block<66> {
    static constexpr const auto& kTable = iq2_tables.iq2_xxs;
    /// Of each eight bytes the first four are codes, the others four times seven bits and a scale.
    HOKKU_INLINE static Iq2Pair find_pair(const uint8_t* first, const uint8_t* second) {
        const __m512 a = _mm512_loadu_ps(first + 2), b = _mm512_loadu_ps(second + 2);
        const __m512i words = _mm512_castps_si512(_mm512_shuffle_ps(a, b, 0xdd));
        const __m512i seven_bits =
            _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x352e2720150e0700), words);
        const __m512i index = _mm512_castps_si512(_mm512_shuffle_ps(a, b, 0x88));
        return {
            index,
            {},
            {map_bits(seven_bits, 0x0000000001020408), map_bits(seven_bits, 0x000000001020407f)}};
    }
    HOKKU_INLINE static __m512i upper_bytes(const Iq2Pair& pair) {
        return look_up_bytes<256>(kTable.upper, pair.index, pair.bits);
    }
    HOKKU_INLINE static __m512 scales(const uint8_t* p, __m512 d) {
        const __m512i nibbles =
            _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x0000003c0000003c), load_bytes(p + 2));
        return look_up_scales(kIq2Scales, nibbles, d);
    }
};

struct StepIq2Xs : Iq2Block<74> {
    static constexpr const auto& kTable = iq2_tables.iq2_xs;
    /// Words of nine bits of code and seven of signs.
    HOKKU_INLINE static Iq2Pair find_pair(const uint8_t* first, const uint8_t* second) {
        const __m512i a = load_bytes(first + 2), b = load_bytes(second + 2);
        const __m512i byte = _mm512_set1_epi16(255);
        const __m512i upper = _mm512_packus_epi16(_mm512_srli_epi16(a, 8), _mm512_srli_epi16(b, 8));
        return {_mm512_packus_epi16(_mm512_and_si512(a, byte), _mm512_and_si512(b, byte)),
                {{0, 0, _mm512_test_epi8_mask(upper, _mm512_set1_epi8(1)), 0}},
                {map_bits(upper, 0x0000000002040810), map_bits(upper, 0x00000000204080fe)}};
    }
    HOKKU_INLINE static __m512i upper_bytes(const Iq2Pair& pair) {
        return look_up_bytes<512>(kTable.upper, pair.index, pair.bits);
    }
    HOKKU_INLINE static __m512 scales(const uint8_t* p, __m512 d) {
        return nibble_scales(p + 66, d);
    }
};

struct StepIq2S : Iq2Block<82> {
    static constexpr const auto& kTable = iq2_tables.iq2_s;
    HOKKU_INLINE static Iq2Pair find_pair(const uint8_t* first, const uint8_t* second) {
        // Eight bytes of the one, eight of the other; 32 bytes of codes are before those of signs.
        const __m512i places = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0);
        const __m512i a = load_bytes(first + 2), b = load_bytes(second + 2);
        const __m512i index = _mm512_permutex2var_epi64(a, places, b);
        const __m512i signs =
            _mm512_permutex2var_epi64(a, _mm512_add_epi64(places, _mm512_set1_epi64(4)), b);
        // Bits 9 and 8 of each index become bits 7 and 6 of a byte.
        const __m512i bits =
            _mm512_mask_set1_epi64(splat_long(first + 66), 0xaa, load_long(second + 66));
        const __m512i upper = _mm512_multishift_epi64_epi8(
            _mm512_set_epi64(0x38363432302e2c2a, 0x38363432302e2c2a, 0x28262422201e1c1a,
                             0x28262422201e1c1a, 0x18161412100e0c0a, 0x18161412100e0c0a,
                             0x08060402003e3c3a, 0x08060402003e3c3a),
            bits);
        return {index,
                {{0, 0, seventh_bits(upper), _mm512_movepi8_mask(upper)}},
                {_mm512_slli_epi16(signs, 4), signs},
                select(_mm512_srli_epi16(index, 3), _mm512_srli_epi16(upper, 1), 0x20)};
    }
    HOKKU_INLINE static __m512i upper_bytes(const Iq2Pair& pair) {
        return look_up_ranked(iq2_tables.iq2_s_upper, pair.index, pair.eighths, pair.bits.of[3]);
    }
    HOKKU_INLINE static __m512 scales(const uint8_t* p, __m512 d) {
        return nibble_scales(p + 74, d);
    }
};

}  // namespace
}  // namespace hokku::cpu
