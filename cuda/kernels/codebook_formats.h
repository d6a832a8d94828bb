// SPDX-License-Identifier: Apache-2.0
// Formats of rare types, as gemv_formats.h: points of a codebook (IQ1, IQ2, IQ3), steps of FP4 with
// scales of 16 (NVFP4), and codes of two bits with one scale (TQ, Q1_0, Q2_0). They are unpacked
// before they are multiplied. weights/repack.h says how they lie.
#pragma once

#include "kernels/gemv_formats.h"

namespace hokku::cuda {

/// For formats that have nothing quicker than to unpack.
template <class Format, class Load>
HOKKU_DEVICE float add_unpacked(float sum, const Load& w, const ActivationGroup& x) {
    uint32_t codes[8];
    Format::unpack(w, codes);
    const GroupFactors factors = Format::factors(w);
    int32_t dots[2] = {0, 0};
    HOKKU_UNROLL
    for (uint32_t i = 0; i < 8; ++i) dots[i / 4] = dot_word(codes[i], x.codes[i], dots[i / 4]);
    const float value = Format::kHasHalves
                            ? fma_f(factors.scale[0], static_cast<float>(dots[0]),
                                    factors.scale[1] * static_cast<float>(dots[1]))
                            : factors.scale[0] * static_cast<float>(dots[0] + dots[1]);
    return fma_f(x.scale, value, sum);
}

/// The eighth sign of each byte makes the number of minuses even.
HOKKU_DEVICE uint32_t even_signs(uint32_t sevens) {
    uint32_t parity = sevens ^ (sevens >> 4 & 0x0f0f0f0fu);
    parity ^= parity >> 2 & 0x3f3f3f3fu;
    parity ^= parity >> 1;
    return sevens | (parity & 0x01010101u) << 7;
}

/// Four fields of seven bits as bytes.
HOKKU_DEVICE uint32_t spread_sevens(uint32_t bits) {
    return (bits & 0x7fu) | (bits << 1 & 0x7f00u) | (bits << 2 & 0x7f0000u) |
           (bits << 3 & 0x7f000000u);
}

/// Negates those of four magnitudes, none of which is zero, whose bit is set.
HOKKU_DEVICE uint32_t apply_signs(uint32_t magnitudes, uint32_t four_bits) {
    const uint32_t ones = (four_bits & 15u) * 0x00204081u & 0x01010101u;
    return (magnitudes ^ ones * 255u) + ones;
}

/// Points of eight values, 8 bytes each in the table, by four codes; `signs` holds a byte for each.
HOKKU_DEVICE void unpack_points(const void* table, const uint32_t (&points)[4], uint32_t signs,
                                uint32_t (&codes)[8]) {
    HOKKU_UNROLL
    for (uint32_t i = 0; i < 4; ++i) {
        const Words2 point = load8(static_cast<const uint8_t*>(table) + points[i] * 8);
        codes[2 * i] = apply_signs(point.w[0], signs >> (8 * i));
        codes[2 * i + 1] = apply_signs(point.w[1], signs >> (8 * i + 4));
    }
}

/// What most of them read: 8 bytes of codes, d of 256 values and the pointer to the codebook.
struct PointLoad {
    Words2 codes;
    uint32_t super;
    const void* table;
};
HOKKU_DEVICE PointLoad load_points(const WeightPlanes& w, uint64_t row, uint32_t group) {
    PointLoad out;
    out.codes = load8_once(w.codes + (row * w.groups + group) * 8);
    out.super = w.supers[row * (w.groups / 8) + group / 8];
    out.table = w.table;
    return out;
}

struct FormatIQ2XXS {
    static constexpr bool kHasHalves = false, kHasOffset = false;
    static constexpr uint32_t kCodeBytes = 8;  // Of a group.
    using Load = PointLoad;
    static HOKKU_DEVICE Load load(const WeightPlanes& w, uint64_t row, uint32_t group) {
        return load_points(w, row, group);
    }
    static HOKKU_DEVICE void unpack(const Load& w, uint32_t (&codes)[8]) {
        const uint32_t word = w.codes.w[0];
        const uint32_t points[4] = {word & 255u, word >> 8 & 255u, word >> 16 & 255u, word >> 24};
        unpack_points(w.table, points, even_signs(spread_sevens(w.codes.w[1])), codes);
    }
    static HOKKU_DEVICE GroupFactors factors(const Load& w) {
        const auto scale = static_cast<float>(2 * (w.codes.w[1] >> 28) + 1);
        return same_factors(lower_half(w.super) * scale * 0.125f);
    }
    static HOKKU_DEVICE float add(float sum, const Load& w, const ActivationGroup& x) {
        return add_unpacked<FormatIQ2XXS>(sum, w, x);
    }
};

/// d (2 n + 1) / 8 of both nibbles of a byte.
HOKKU_DEVICE GroupFactors nibble_factors(uint32_t super, uint32_t nibbles) {
    const float d = lower_half(super) * 0.125f;
    return {{d * static_cast<float>(2 * (nibbles & 15u) + 1),
             d * static_cast<float>(2 * (nibbles >> 4 & 15u) + 1)},
            {0.0f, 0.0f}};
}

struct FormatIQ2XS {
    static constexpr bool kHasHalves = true, kHasOffset = false;
    static constexpr uint32_t kCodeBytes = 8;  // Of a group.
    struct Load {
        PointLoad points;
        uint8_t scales;
    };
    static HOKKU_DEVICE Load load(const WeightPlanes& w, uint64_t row, uint32_t group) {
        return {load_points(w, row, group),
                static_cast<const uint8_t*>(w.scales)[row * w.groups + group]};
    }
    static HOKKU_DEVICE void unpack(const Load& w, uint32_t (&codes)[8]) {
        const uint32_t a = w.points.codes.w[0], b = w.points.codes.w[1];
        const uint32_t points[4] = {a & 511u, a >> 16 & 511u, b & 511u, b >> 16 & 511u};
        const uint32_t signs =
            (a >> 9 & 127u) | (a >> 25) << 8 | (b >> 9 & 127u) << 16 | (b >> 25) << 24;
        unpack_points(w.points.table, points, even_signs(signs), codes);
    }
    static HOKKU_DEVICE GroupFactors factors(const Load& w) {
        return nibble_factors(w.points.super, w.scales);
    }
    static HOKKU_DEVICE float add(float sum, const Load& w, const ActivationGroup& x) {
        return add_unpacked<FormatIQ2XS>(sum, w, x);
    }
};

struct FormatIQ2S {
    static constexpr bool kHasHalves = true, kHasOffset = false;
    static constexpr uint32_t kCodeBytes = 8;  // Of a group.
    struct Load {
        PointLoad points;
        uint16_t high_and_scales;
    };
    static HOKKU_DEVICE Load load(const WeightPlanes& w, uint64_t row, uint32_t group) {
        return {load_points(w, row, group),
                static_cast<const uint16_t*>(w.scales)[row * w.groups + group]};
    }
    static HOKKU_DEVICE void unpack(const Load& w, uint32_t (&codes)[8]) {
        uint32_t points[4];
        HOKKU_UNROLL
        for (uint32_t i = 0; i < 4; ++i) {
            points[i] =
                (w.points.codes.w[0] >> (8 * i) & 255u) | (w.high_and_scales >> (2 * i) & 3u) << 8;
        }
        unpack_points(w.points.table, points, w.points.codes.w[1], codes);
    }
    static HOKKU_DEVICE GroupFactors factors(const Load& w) {
        return nibble_factors(w.points.super, w.high_and_scales >> 8);
    }
    static HOKKU_DEVICE float add(float sum, const Load& w, const ActivationGroup& x) {
        return add_unpacked<FormatIQ2S>(sum, w, x);
    }
};

/// Points of four values, a word each, by eight codes of a byte and perhaps a ninth bit.
HOKKU_DEVICE void unpack_quads(const PointLoad& w, uint32_t ninth_bits, uint32_t signs,
                               uint32_t (&codes)[8]) {
    HOKKU_UNROLL
    for (uint32_t i = 0; i < 8; ++i) {
        const uint32_t point = (w.codes.w[i / 4] >> (8 * (i % 4)) & 255u) | (ninth_bits >> i & 1u)
                                                                                << 8;
        codes[i] = apply_signs(static_cast<const uint32_t*>(w.table)[point], signs >> (4 * i));
    }
}

struct FormatIQ3XXS {
    static constexpr bool kHasHalves = false, kHasOffset = false;
    static constexpr uint32_t kCodeBytes = 8;  // Of a group.
    struct Load {
        PointLoad points;
        uint32_t signs;
    };
    static HOKKU_DEVICE Load load(const WeightPlanes& w, uint64_t row, uint32_t group) {
        return {load_points(w, row, group), w.high[row * w.groups + group]};
    }
    static HOKKU_DEVICE void unpack(const Load& w, uint32_t (&codes)[8]) {
        unpack_quads(w.points, 0, even_signs(spread_sevens(w.signs)), codes);
    }
    static HOKKU_DEVICE GroupFactors factors(const Load& w) {
        const auto scale = static_cast<float>(2 * (w.signs >> 28) + 1);
        return same_factors(lower_half(w.points.super) * scale * 0.25f);
    }
    static HOKKU_DEVICE float add(float sum, const Load& w, const ActivationGroup& x) {
        return add_unpacked<FormatIQ3XXS>(sum, w, x);
    }
};

struct FormatIQ3S {
    static constexpr bool kHasHalves = false, kHasOffset = false;
    static constexpr uint32_t kCodeBytes = 8;  // Of a group.
    struct Load {
        PointLoad points;
        uint32_t signs;
        uint16_t ninth_and_scale;
    };
    static HOKKU_DEVICE Load load(const WeightPlanes& w, uint64_t row, uint32_t group) {
        const uint64_t place = row * w.groups + group;
        return {load_points(w, row, group), w.high[place],
                static_cast<const uint16_t*>(w.scales)[place]};
    }
    static HOKKU_DEVICE void unpack(const Load& w, uint32_t (&codes)[8]) {
        unpack_quads(w.points, w.ninth_and_scale & 255u, w.signs, codes);
    }
    static HOKKU_DEVICE GroupFactors factors(const Load& w) {
        const auto scale = static_cast<float>(2 * (w.ninth_and_scale >> 8) + 1);
        return same_factors(lower_half(w.points.super) * scale);
    }
    static HOKKU_DEVICE float add(float sum, const Load& w, const ActivationGroup& x) {
        return add_unpacked<FormatIQ3S>(sum, w, x);
    }
};

/// Four points of eight values -1, 0, 1, shifted by an eighth: codes are eight times the value. The
/// table holds 8 (value + 1). Of point i the upper bits and the sign of its shift are bits 4 i ..
/// 4 i + 3 of `high`.
HOKKU_DEVICE void unpack_shifted(const PointLoad& w, uint32_t high, uint32_t (&codes)[8]) {
    HOKKU_UNROLL
    for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t bits = high >> (4 * i);
        const uint32_t point = (w.codes.w[0] >> (8 * i) & 255u) | (bits & 7u) << 8;
        const Words2 values = load8(static_cast<const uint8_t*>(w.table) + point * 8);
        const uint32_t zero = (bits & 8u) != 0 ? 0x09090909u : 0x07070707u;
        codes[2 * i] = ((values.w[0] | 0x80808080u) - zero) ^ 0x80808080u;
        codes[2 * i + 1] = ((values.w[1] | 0x80808080u) - zero) ^ 0x80808080u;
    }
}

/// Of IQ1_S and IQ1_M. The second word of the codes: high bits of four points; scales of three bits
/// from bit 16 and 19 on.
struct FormatIQ1 {
    static constexpr bool kHasHalves = true, kHasOffset = false;
    static constexpr uint32_t kCodeBytes = 8;  // Of a group.
    using Load = PointLoad;
    static HOKKU_DEVICE Load load(const WeightPlanes& w, uint64_t row, uint32_t group) {
        return load_points(w, row, group);
    }
    static HOKKU_DEVICE void unpack(const Load& w, uint32_t (&codes)[8]) {
        unpack_shifted(w, w.codes.w[1], codes);
    }
    static HOKKU_DEVICE GroupFactors factors(const Load& w) {
        const float d = lower_half(w.super) * 0.125f;
        return {{d * static_cast<float>(2 * (w.codes.w[1] >> 16 & 7u) + 1),
                 d * static_cast<float>(2 * (w.codes.w[1] >> 19 & 7u) + 1)},
                {0.0f, 0.0f}};
    }
    static HOKKU_DEVICE float add(float sum, const Load& w, const ActivationGroup& x) {
        return add_unpacked<FormatIQ1>(sum, w, x);
    }
};

/// The half of the scale of each 16 values as f16: an E4M3 number fits.
struct FormatNVFP4 {
    static constexpr bool kHasHalves = true, kHasOffset = false;
    static constexpr uint32_t kCodeBytes = 16;  // Of a group.
    struct Load {
        Words4 codes;
        uint32_t scales;
    };
    static HOKKU_DEVICE Load load(const WeightPlanes& w, uint64_t row, uint32_t group) {
        const uint64_t place = row * w.groups + group;
        Load out;
        out.codes = load16_once(w.codes + place * 16);
        out.scales = static_cast<const uint32_t*>(w.scales)[place];
        return out;
    }
    static HOKKU_DEVICE void unpack(const Load& w, uint32_t (&codes)[8]) {
        unpack_table<TableFp4>(w.codes, codes);
    }
    static HOKKU_DEVICE GroupFactors factors(const Load& w) {
        return {{lower_half(w.scales), upper_half(w.scales)}, {0.0f, 0.0f}};
    }
    static HOKKU_DEVICE float add(float sum, const Load& w, const ActivationGroup& x) {
        return add_unpacked<FormatNVFP4>(sum, w, x);
    }
};

/// Codes of two bits of which 1 means zero; d of 256 values, or of the group.
template <bool kIsSuper>
struct PairFormat {
    static constexpr bool kHasHalves = false, kHasOffset = false;
    static constexpr uint32_t kCodeBytes = 8;  // Of a group.
    struct Load {
        Words2 codes;
        uint32_t scale;
    };
    static HOKKU_DEVICE Load load(const WeightPlanes& w, uint64_t row, uint32_t group) {
        const uint64_t place = row * w.groups + group;
        Load out;
        out.codes = load8_once(w.codes + place * 8);
        out.scale = kIsSuper ? w.supers[row * (w.groups / 8) + group / 8]
                             : static_cast<const uint16_t*>(w.scales)[place];
        return out;
    }
    static HOKKU_DEVICE void unpack(const Load& w, uint32_t (&codes)[8]) {
        HOKKU_UNROLL
        for (uint32_t i = 0; i < 8; ++i) codes[i] = subtract_zero<1>(pairs_of(w.codes, i));
    }
    static HOKKU_DEVICE GroupFactors factors(const Load& w) {
        return same_factors(lower_half(w.scale));
    }
    static HOKKU_DEVICE float add(float sum, const Load& w, const ActivationGroup& x) {
        return add_unpacked<PairFormat>(sum, w, x);
    }
};
using FormatTQ = PairFormat<true>;
using FormatQ2_0 = PairFormat<false>;

}  // namespace hokku::cuda
