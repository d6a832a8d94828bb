// SPDX-License-Identifier: Apache-2.0
// How a lane reads and multiplies one group of 32 weights in each repacked format
// (weights/repack.h says how they lie). Load brings a group into registers, so that many loads are
// in flight; add() multiplies it by a group of activations. unpack() and factors() say what the
// weights are: value i = codes[i] * scale + offset, with two of each where halves differ.
#pragma once

#include "device/device.h"
#include "kernels/params.h"

namespace hokku::cuda {

/// A group of activations: words 0..3 are values 0..15, words 4..7 the others.
struct ActivationGroup {
    uint32_t codes[8];
    float scale;
    int32_t sums[2];
};

HOKKU_DEVICE ActivationGroup load_activations(const QuantizedVectors& x, uint64_t place) {
    const Words4 low = load16(x.codes + place * kGroup);
    const Words4 high = load16(x.codes + place * kGroup + 16);
    const GroupScale scale = x.scales[place];
    ActivationGroup out;
    HOKKU_UNROLL
    for (uint32_t i = 0; i < 4; ++i) {
        out.codes[i] = low.w[i];
        out.codes[4 + i] = high.w[i];
    }
    out.scale = scale.scale;
    out.sums[0] = scale.sums[0];
    out.sums[1] = scale.sums[1];
    return out;
}

/// Of a group's halves; equal where the format knows one of the whole.
struct GroupFactors {
    float scale[2], offset[2];
};

HOKKU_DEVICE GroupFactors same_factors(float scale, float offset = 0.0f) {
    return {{scale, scale}, {offset, offset}};
}

HOKKU_DEVICE int32_t dot_word(uint32_t a, uint32_t b, int32_t sum) {
    return dot4(static_cast<int32_t>(a), static_cast<int32_t>(b), sum);
}

HOKKU_DEVICE float upper_half(uint32_t halves) {
    return half_to_float(static_cast<uint16_t>(halves >> 16));
}
HOKKU_DEVICE float lower_half(uint32_t halves) {
    return half_to_float(static_cast<uint16_t>(halves));
}

/// Dot products of the two halves of a group whose codes are nibbles with perhaps more bits above:
/// high(w) gives those of word w, at their place.
template <class High>
HOKKU_DEVICE void dot_nibbles(const Words4& codes, const ActivationGroup& x, int32_t (&dots)[2],
                              High high) {
    dots[0] = 0;
    dots[1] = 0;
    HOKKU_UNROLL
    for (uint32_t w = 0; w < 4; ++w) {
        const uint32_t low = codes.w[w] & 0x0f0f0f0fu, up = codes.w[w] >> 4 & 0x0f0f0f0fu;
        dots[0] = dot_word(low | high(w), x.codes[w], dots[0]);
        dots[1] = dot_word(up | high(w + 4), x.codes[w + 4], dots[1]);
    }
}

HOKKU_DEVICE uint32_t no_high_bits(uint32_t) {
    return 0;
}

HOKKU_DEVICE uint32_t fifth_bits(uint32_t high, uint32_t word) {
    return (high >> word & 0x01010101u) << 4;
}

/// Subtracts kZero of each of four bytes below 128.
template <uint32_t kZero>
HOKKU_DEVICE uint32_t subtract_zero(uint32_t codes) {
    return ((codes | 0x80808080u) - kZero * 0x01010101u) ^ 0x80808080u;
}

/// The codes that dot_nibbles would multiply, less kZero.
template <uint32_t kZero, class High>
HOKKU_DEVICE void unpack_nibbles(const Words4& codes, uint32_t (&out)[8], High high) {
    HOKKU_UNROLL
    for (uint32_t w = 0; w < 4; ++w) {
        const uint32_t low = (codes.w[w] & 0x0f0f0f0fu) | high(w);
        const uint32_t up = (codes.w[w] >> 4 & 0x0f0f0f0fu) | high(w + 4);
        out[w] = kZero == 0 ? low : subtract_zero<kZero>(low);
        out[w + 4] = kZero == 0 ? up : subtract_zero<kZero>(up);
    }
}

/// d, dmin of 256 values; scale and minimum of 32.
template <bool kHasFifthBit>
struct SuperScaleFormat {
    static constexpr bool kHasHalves = false, kHasOffset = true;
    static constexpr uint32_t kCodeBytes = 16;  // Of a group.
    struct Load {
        Words4 codes;
        uint32_t high, super;
        uint16_t scales;
    };
    static HOKKU_DEVICE Load load(const WeightPlanes& w, uint64_t row, uint32_t group) {
        const uint64_t place = row * w.groups + group;
        Load out;
        out.codes = load16_once(w.codes + place * 16);
        out.high = kHasFifthBit ? w.high[place] : 0;
        out.scales = static_cast<const uint16_t*>(w.scales)[place];
        out.super = w.supers[row * (w.groups / 8) + group / 8];
        return out;
    }
    static HOKKU_DEVICE float add(float sum, const Load& w, const ActivationGroup& x) {
        int32_t dots[2];
        if (kHasFifthBit) {
            dot_nibbles(w.codes, x, dots, [&](uint32_t i) { return fifth_bits(w.high, i); });
        } else {
            dot_nibbles(w.codes, x, dots, no_high_bits);
        }
        const float scale = lower_half(w.super) * static_cast<float>(w.scales & 255u);
        const float min = upper_half(w.super) * static_cast<float>(w.scales >> 8);
        const float dot = static_cast<float>(dots[0] + dots[1]);
        const float total = static_cast<float>(x.sums[0] + x.sums[1]);
        return fma_f(x.scale, scale * dot - min * total, sum);
    }
    static HOKKU_DEVICE void unpack(const Load& w, uint32_t (&codes)[8]) {
        unpack_nibbles<0>(w.codes, codes,
                          [&](uint32_t i) { return kHasFifthBit ? fifth_bits(w.high, i) : 0; });
    }
    static HOKKU_DEVICE GroupFactors factors(const Load& w) {
        return same_factors(lower_half(w.super) * static_cast<float>(w.scales & 255u),
                            -upper_half(w.super) * static_cast<float>(w.scales >> 8));
    }
};
using FormatQ4K = SuperScaleFormat<false>;
using FormatQ5K = SuperScaleFormat<true>;

/// d of 256 values; a signed scale for each 16; codes of six bits, 32 means zero.
struct FormatQ6K {
    static constexpr bool kHasHalves = true, kHasOffset = false;
    static constexpr uint32_t kCodeBytes = 16;  // Of a group.
    struct Load {
        Words4 codes;
        uint32_t high[2], super;
        uint16_t scales;
    };
    static HOKKU_DEVICE Load load(const WeightPlanes& w, uint64_t row, uint32_t group) {
        const uint64_t place = row * w.groups + group;
        Load out;
        out.codes = load16_once(w.codes + place * 16);
        out.high[0] = w.high[place * 2];
        out.high[1] = w.high[place * 2 + 1];
        out.scales = static_cast<const uint16_t*>(w.scales)[place];
        out.super = w.supers[row * (w.groups / 8) + group / 8];
        return out;
    }
    static HOKKU_DEVICE float add(float sum, const Load& w, const ActivationGroup& x) {
        int32_t dots[2];
        dot_nibbles(w.codes, x, dots, [&](uint32_t i) {
            return (w.high[i / 4] >> (2 * (i % 4)) & 0x03030303u) << 4;
        });
        const int32_t scale0 = static_cast<int8_t>(w.scales & 255u);
        const int32_t scale1 = static_cast<int8_t>(w.scales >> 8);
        const int32_t dot =
            scale0 * (dots[0] - 32 * x.sums[0]) + scale1 * (dots[1] - 32 * x.sums[1]);
        return fma_f(x.scale * lower_half(w.super), static_cast<float>(dot), sum);
    }
    static HOKKU_DEVICE void unpack(const Load& w, uint32_t (&codes)[8]) {
        unpack_nibbles<32>(w.codes, codes, [&](uint32_t i) {
            return (w.high[i / 4] >> (2 * (i % 4)) & 0x03030303u) << 4;
        });
    }
    static HOKKU_DEVICE GroupFactors factors(const Load& w) {
        const float d = lower_half(w.super);
        return {{d * static_cast<float>(static_cast<int8_t>(w.scales & 255u)),
                 d * static_cast<float>(static_cast<int8_t>(w.scales >> 8))},
                {0.0f, 0.0f}};
    }
};

/// One scale of 32; kZero is the code of zero.
template <bool kHasFifthBit, int32_t kZero>
struct ScaleFormat {
    static constexpr bool kHasHalves = false, kHasOffset = false;
    static constexpr uint32_t kCodeBytes = 16;  // Of a group.
    struct Load {
        Words4 codes;
        uint32_t high;
        uint16_t scale;
    };
    static HOKKU_DEVICE Load load(const WeightPlanes& w, uint64_t row, uint32_t group) {
        const uint64_t place = row * w.groups + group;
        Load out;
        out.codes = load16_once(w.codes + place * 16);
        out.high = kHasFifthBit ? w.high[place] : 0;
        out.scale = static_cast<const uint16_t*>(w.scales)[place];
        return out;
    }
    static HOKKU_DEVICE float add(float sum, const Load& w, const ActivationGroup& x) {
        int32_t dots[2];
        if (kHasFifthBit) {
            dot_nibbles(w.codes, x, dots, [&](uint32_t i) { return fifth_bits(w.high, i); });
        } else {
            dot_nibbles(w.codes, x, dots, no_high_bits);
        }
        const int32_t dot = dots[0] + dots[1] - kZero * (x.sums[0] + x.sums[1]);
        return fma_f(x.scale * half_to_float(w.scale), static_cast<float>(dot), sum);
    }
    static HOKKU_DEVICE void unpack(const Load& w, uint32_t (&codes)[8]) {
        unpack_nibbles<kZero>(w.codes, codes,
                              [&](uint32_t i) { return kHasFifthBit ? fifth_bits(w.high, i) : 0; });
    }
    static HOKKU_DEVICE GroupFactors factors(const Load& w) {
        return same_factors(half_to_float(w.scale));
    }
};
using FormatQ4_0 = ScaleFormat<false, 8>;
using FormatQ5_0 = ScaleFormat<true, 16>;

/// A scale and an offset of 32.
template <bool kHasFifthBit>
struct ScaleOffsetFormat {
    static constexpr bool kHasHalves = false, kHasOffset = true;
    static constexpr uint32_t kCodeBytes = 16;  // Of a group.
    struct Load {
        Words4 codes;
        uint32_t high, scales;
    };
    static HOKKU_DEVICE Load load(const WeightPlanes& w, uint64_t row, uint32_t group) {
        const uint64_t place = row * w.groups + group;
        Load out;
        out.codes = load16_once(w.codes + place * 16);
        out.high = kHasFifthBit ? w.high[place] : 0;
        out.scales = static_cast<const uint32_t*>(w.scales)[place];
        return out;
    }
    static HOKKU_DEVICE float add(float sum, const Load& w, const ActivationGroup& x) {
        int32_t dots[2];
        if (kHasFifthBit) {
            dot_nibbles(w.codes, x, dots, [&](uint32_t i) { return fifth_bits(w.high, i); });
        } else {
            dot_nibbles(w.codes, x, dots, no_high_bits);
        }
        const float dot = static_cast<float>(dots[0] + dots[1]);
        const float total = static_cast<float>(x.sums[0] + x.sums[1]);
        return fma_f(x.scale, lower_half(w.scales) * dot + upper_half(w.scales) * total, sum);
    }
    static HOKKU_DEVICE void unpack(const Load& w, uint32_t (&codes)[8]) {
        unpack_nibbles<0>(w.codes, codes,
                          [&](uint32_t i) { return kHasFifthBit ? fifth_bits(w.high, i) : 0; });
    }
    static HOKKU_DEVICE GroupFactors factors(const Load& w) {
        return same_factors(lower_half(w.scales), upper_half(w.scales));
    }
};
using FormatQ4_1 = ScaleOffsetFormat<false>;
using FormatQ5_1 = ScaleOffsetFormat<true>;

/// Codes of eight bits, one scale of 32.
struct FormatQ8_0 {
    static constexpr bool kHasHalves = false, kHasOffset = false;
    static constexpr uint32_t kCodeBytes = 32;  // Of a group.
    struct Load {
        Words4 low, high;
        uint16_t scale;
    };
    static HOKKU_DEVICE Load load(const WeightPlanes& w, uint64_t row, uint32_t group) {
        const uint64_t place = row * w.groups + group;
        Load out;
        out.low = load16_once(w.codes + place * 32);
        out.high = load16_once(w.codes + place * 32 + 16);
        out.scale = static_cast<const uint16_t*>(w.scales)[place];
        return out;
    }
    static HOKKU_DEVICE float add(float sum, const Load& w, const ActivationGroup& x) {
        int32_t dot = 0;
        HOKKU_UNROLL
        for (uint32_t i = 0; i < 4; ++i) {
            dot = dot_word(w.low.w[i], x.codes[i], dot);
            dot = dot_word(w.high.w[i], x.codes[i + 4], dot);
        }
        return fma_f(x.scale * half_to_float(w.scale), static_cast<float>(dot), sum);
    }
    static HOKKU_DEVICE void unpack(const Load& w, uint32_t (&codes)[8]) {
        HOKKU_UNROLL
        for (uint32_t i = 0; i < 4; ++i) {
            codes[i] = w.low.w[i];
            codes[i + 4] = w.high.w[i];
        }
    }
    static HOKKU_DEVICE GroupFactors factors(const Load& w) {
        return same_factors(half_to_float(w.scale));
    }
};

/// Codes of two or three bits; of each half a scale and, with two bits, a minimum.
HOKKU_DEVICE uint32_t pairs_of(const Words2& codes, uint32_t word) {
    return codes.w[word / 4] >> (2 * (word % 4)) & 0x03030303u;
}

struct FormatQ2K {
    static constexpr bool kHasHalves = true, kHasOffset = true;
    static constexpr uint32_t kCodeBytes = 8;  // Of a group.
    struct Load {
        Words2 codes;
        uint32_t super;
        uint16_t scales;
    };
    static HOKKU_DEVICE Load load(const WeightPlanes& w, uint64_t row, uint32_t group) {
        const uint64_t place = row * w.groups + group;
        Load out;
        out.codes = load8_once(w.codes + place * 8);
        out.scales = static_cast<const uint16_t*>(w.scales)[place];
        out.super = w.supers[row * (w.groups / 8) + group / 8];
        return out;
    }
    static HOKKU_DEVICE float add(float sum, const Load& w, const ActivationGroup& x) {
        int32_t scaled = 0, minima = 0;
        HOKKU_UNROLL
        for (uint32_t h = 0; h < 2; ++h) {
            int32_t dot = 0;
            HOKKU_UNROLL
            for (uint32_t i = 0; i < 4; ++i) {
                dot = dot_word(pairs_of(w.codes, 4 * h + i), x.codes[4 * h + i], dot);
            }
            scaled += static_cast<int32_t>(w.scales >> (8 * h) & 15) * dot;
            minima += static_cast<int32_t>(w.scales >> (8 * h + 4) & 15) * x.sums[h];
        }
        const float value = lower_half(w.super) * static_cast<float>(scaled) -
                            upper_half(w.super) * static_cast<float>(minima);
        return fma_f(x.scale, value, sum);
    }
    static HOKKU_DEVICE void unpack(const Load& w, uint32_t (&codes)[8]) {
        HOKKU_UNROLL
        for (uint32_t i = 0; i < 8; ++i) codes[i] = pairs_of(w.codes, i);
    }
    static HOKKU_DEVICE GroupFactors factors(const Load& w) {
        const float d = lower_half(w.super), dmin = upper_half(w.super);
        return {
            {d * static_cast<float>(w.scales & 15u), d * static_cast<float>(w.scales >> 8 & 15)},
            {-dmin * static_cast<float>(w.scales >> 4 & 15),
             -dmin * static_cast<float>(w.scales >> 12)}};
    }
};

/// The code of zero is 4.
struct FormatQ3K {
    static constexpr bool kHasHalves = true, kHasOffset = false;
    static constexpr uint32_t kCodeBytes = 8;  // Of a group.
    struct Load {
        Words2 codes;
        uint32_t high, super;
        uint16_t scales;
    };
    static HOKKU_DEVICE Load load(const WeightPlanes& w, uint64_t row, uint32_t group) {
        const uint64_t place = row * w.groups + group;
        Load out;
        out.codes = load8_once(w.codes + place * 8);
        out.high = w.high[place];
        out.scales = static_cast<const uint16_t*>(w.scales)[place];
        out.super = w.supers[row * (w.groups / 8) + group / 8];
        return out;
    }
    static HOKKU_DEVICE float add(float sum, const Load& w, const ActivationGroup& x) {
        int32_t scaled = 0;
        HOKKU_UNROLL
        for (uint32_t h = 0; h < 2; ++h) {
            int32_t dot = -4 * x.sums[h];
            HOKKU_UNROLL
            for (uint32_t i = 0; i < 4; ++i) {
                const uint32_t word = 4 * h + i;
                const uint32_t high = (w.high >> word & 0x01010101u) << 2;
                dot = dot_word(pairs_of(w.codes, word) | high, x.codes[word], dot);
            }
            scaled += static_cast<int8_t>(w.scales >> (8 * h) & 255) * dot;
        }
        return fma_f(x.scale * lower_half(w.super), static_cast<float>(scaled), sum);
    }
    static HOKKU_DEVICE void unpack(const Load& w, uint32_t (&codes)[8]) {
        HOKKU_UNROLL
        for (uint32_t i = 0; i < 8; ++i) {
            codes[i] = subtract_zero<4>(pairs_of(w.codes, i) | (w.high >> i & 0x01010101u) << 2);
        }
    }
    static HOKKU_DEVICE GroupFactors factors(const Load& w) {
        const float d = lower_half(w.super);
        return {{d * static_cast<float>(static_cast<int8_t>(w.scales & 255u)),
                 d * static_cast<float>(static_cast<int8_t>(w.scales >> 8))},
                {0.0f, 0.0f}};
    }
};

/// The values that the codes 0 to 15 stand for, four in a word.
struct TableIQ4 {  // Source: ggml-common.h, kvalues_iq4nl.
    static constexpr uint32_t kWords[4] = {0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u};
};
struct TableFp4 {  // Twice the values of E2M1. Source: OCP Microscaling Formats 1.0, 5.3.3.
    static constexpr uint32_t kWords[4] = {0x03020100u, 0x0c080604u, 0xfdfeff00u, 0xf4f8fafcu};
};

/// The values of the four codes in the lower half of a word.
template <class Table>
HOKKU_DEVICE uint32_t look_up(uint32_t nibbles) {
    constexpr uint32_t a = Table::kWords[0], b = Table::kWords[1];
    constexpr uint32_t c = Table::kWords[2], d = Table::kWords[3];
    const uint32_t low = permute_bytes(a, b, nibbles), high = permute_bytes(c, d, nibbles);
    // Byte i of `low`, or of `high` where the code has its upper bit.
    return permute_bytes(low, high, 0x3210u | (nibbles & 0x8888u) >> 1);
}

template <class Table>
HOKKU_DEVICE void unpack_table(const Words4& codes, uint32_t (&out)[8]) {
    HOKKU_UNROLL
    for (uint32_t i = 0; i < 4; ++i) {
        out[2 * i] = look_up<Table>(codes.w[i]);
        out[2 * i + 1] = look_up<Table>(codes.w[i] >> 16);
    }
}

template <class Table>
HOKKU_DEVICE int32_t dot_table(const Words4& codes, const ActivationGroup& x) {
    int32_t dot = 0;
    HOKKU_UNROLL
    for (uint32_t i = 0; i < 4; ++i) {
        dot = dot_word(look_up<Table>(codes.w[i]), x.codes[2 * i], dot);
        dot = dot_word(look_up<Table>(codes.w[i] >> 16), x.codes[2 * i + 1], dot);
    }
    return dot;
}

/// The scale is a float32 that the host made of the exponent; it has the half of the steps.
struct FormatMXFP4 {
    static constexpr bool kHasHalves = false, kHasOffset = false;
    static constexpr uint32_t kCodeBytes = 16;  // Of a group.
    struct Load {
        Words4 codes;
        float scale;
    };
    static HOKKU_DEVICE Load load(const WeightPlanes& w, uint64_t row, uint32_t group) {
        const uint64_t place = row * w.groups + group;
        Load out;
        out.codes = load16_once(w.codes + place * 16);
        out.scale = static_cast<const float*>(w.scales)[place];
        return out;
    }
    static HOKKU_DEVICE float add(float sum, const Load& w, const ActivationGroup& x) {
        return fma_f(x.scale * w.scale, static_cast<float>(dot_table<TableFp4>(w.codes, x)), sum);
    }
    static HOKKU_DEVICE void unpack(const Load& w, uint32_t (&codes)[8]) {
        unpack_table<TableFp4>(w.codes, codes);
    }
    static HOKKU_DEVICE GroupFactors factors(const Load& w) { return same_factors(w.scale); }
};

struct FormatIQ4NL {
    static constexpr bool kHasHalves = false, kHasOffset = false;
    static constexpr uint32_t kCodeBytes = 16;  // Of a group.
    struct Load {
        Words4 codes;
        uint16_t scale;
    };
    static HOKKU_DEVICE Load load(const WeightPlanes& w, uint64_t row, uint32_t group) {
        const uint64_t place = row * w.groups + group;
        Load out;
        out.codes = load16_once(w.codes + place * 16);
        out.scale = static_cast<const uint16_t*>(w.scales)[place];
        return out;
    }
    static HOKKU_DEVICE float add(float sum, const Load& w, const ActivationGroup& x) {
        return fma_f(x.scale * half_to_float(w.scale),
                     static_cast<float>(dot_table<TableIQ4>(w.codes, x)), sum);
    }
    static HOKKU_DEVICE void unpack(const Load& w, uint32_t (&codes)[8]) {
        unpack_table<TableIQ4>(w.codes, codes);
    }
    static HOKKU_DEVICE GroupFactors factors(const Load& w) {
        return same_factors(half_to_float(w.scale));
    }
};

struct FormatIQ4XS {
    static constexpr bool kHasHalves = false, kHasOffset = false;
    static constexpr uint32_t kCodeBytes = 16;  // Of a group.
    struct Load {
        Words4 codes;
        uint32_t super;
        uint16_t scale;
    };
    static HOKKU_DEVICE Load load(const WeightPlanes& w, uint64_t row, uint32_t group) {
        const uint64_t place = row * w.groups + group;
        Load out;
        out.codes = load16_once(w.codes + place * 16);
        out.scale = static_cast<const uint16_t*>(w.scales)[place];
        out.super = w.supers[row * (w.groups / 8) + group / 8];
        return out;
    }
    static HOKKU_DEVICE float add(float sum, const Load& w, const ActivationGroup& x) {
        const int32_t scaled =
            static_cast<int8_t>(w.scale & 255u) * dot_table<TableIQ4>(w.codes, x);
        return fma_f(x.scale * lower_half(w.super), static_cast<float>(scaled), sum);
    }
    static HOKKU_DEVICE void unpack(const Load& w, uint32_t (&codes)[8]) {
        unpack_table<TableIQ4>(w.codes, codes);
    }
    static HOKKU_DEVICE GroupFactors factors(const Load& w) {
        return same_factors(lower_half(w.super) *
                            static_cast<float>(static_cast<int8_t>(w.scale & 255u)));
    }
};

}  // namespace hokku::cuda
