// SPDX-License-Identifier: Apache-2.0
// Weight blocks as signed codes in the order of the values, with float32 scales and minima:
// value = scale * code + min. One struct per type; layouts as in backend/dequantize_blocks.h.
// Internal linkage on purpose.
#pragma once

#include <arm_neon.h>

#include <cstdint>
#include <cstring>

#include "backend/cpu/simd/inline.h"
#include "backend/half.h"

namespace hokku::cpu {
namespace {

/// 32 values.
struct Codes {
    int8x16_t front, back;
};
/// Of a super-block: one for each 32 values, or one for each 16.
struct SuperScales {
    float32x4_t scales[4], mins[4];
};

HOKKU_INLINE uint32_t load_word(const uint8_t* p) {
    uint32_t value;
    std::memcpy(&value, p, sizeof value);
    return value;
}
HOKKU_INLINE float load_half_float(const uint8_t* p) {
    __fp16 value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

HOKKU_INLINE uint8x16_t keep_bits(uint8x16_t x, uint8_t bits) {
    return vandq_u8(x, vdupq_n_u8(bits));
}
HOKKU_INLINE uint8x16_t shift_right(uint8x16_t x, int count) {
    return vshlq_u8(x, vdupq_n_s8(static_cast<int8_t>(-count)));
}
HOKKU_INLINE int8x16_t subtract(uint8x16_t x, int8_t zero_point) {
    return vsubq_s8(vreinterpretq_s8_u8(x), vdupq_n_s8(zero_point));
}

/// Low nibbles of 16 bytes, then their high nibbles.
struct Nibbles {
    uint8x16_t low, high;
};
HOKKU_INLINE Nibbles load_nibbles(const uint8_t* p) {
    const uint8x16_t x = vld1q_u8(p);
    return {keep_bits(x, 15), vshrq_n_u8(x, 4)};
}
HOKKU_INLINE Codes subtract(const Nibbles& x, int8_t zero_point) {
    return {subtract(x.low, zero_point), subtract(x.high, zero_point)};
}
/// Adds 16 where the bit is set: bit j of value j.
HOKKU_INLINE Nibbles with_fifth_bits(const Nibbles& x, uint32_t bits) {
    const uint8x16_t one_each = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const auto bytes = [bits](int first) HOKKU_LAMBDA {
        return vcombine_u8(vdup_n_u8(static_cast<uint8_t>(bits >> first)),
                           vdup_n_u8(static_cast<uint8_t>(bits >> (first + 8))));
    };
    const uint8x16_t low = vtstq_u8(bytes(0), one_each), high = vtstq_u8(bytes(16), one_each);
    return {vorrq_u8(x.low, keep_bits(low, 16)), vorrq_u8(x.high, keep_bits(high, 16))};
}
HOKKU_INLINE Codes look_up(int8x16_t table, const Nibbles& x) {
    return {vqtbl1q_s8(table, x.low), vqtbl1q_s8(table, x.high)};
}
HOKKU_INLINE Codes iq4_steps(const Nibbles& x) {
    return look_up(
        int8x16_t{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}, x);
}

// --- Types of 32 values --------------------------------------------------------------------------

struct BlockQ4_0 {
    static constexpr size_t kBytes = 18;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static Codes codes(const uint8_t* p) { return subtract(load_nibbles(p + 2), 8); }
    HOKKU_INLINE static float scale(const uint8_t* p) { return load_half_float(p); }
};

struct BlockQ4_1 {
    static constexpr size_t kBytes = 20;
    static constexpr bool kHasMin = true;
    HOKKU_INLINE static Codes codes(const uint8_t* p) { return subtract(load_nibbles(p + 4), 0); }
    HOKKU_INLINE static float scale(const uint8_t* p) { return load_half_float(p); }
    HOKKU_INLINE static float min(const uint8_t* p) { return load_half_float(p + 2); }
};

struct BlockQ5_0 {
    static constexpr size_t kBytes = 22;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static Codes codes(const uint8_t* p) {
        return subtract(with_fifth_bits(load_nibbles(p + 6), load_word(p + 2)), 16);
    }
    HOKKU_INLINE static float scale(const uint8_t* p) { return load_half_float(p); }
};

struct BlockQ5_1 {
    static constexpr size_t kBytes = 24;
    static constexpr bool kHasMin = true;
    HOKKU_INLINE static Codes codes(const uint8_t* p) {
        return subtract(with_fifth_bits(load_nibbles(p + 8), load_word(p + 4)), 0);
    }
    HOKKU_INLINE static float scale(const uint8_t* p) { return load_half_float(p); }
    HOKKU_INLINE static float min(const uint8_t* p) { return load_half_float(p + 2); }
};

struct BlockQ8_0 {
    static constexpr size_t kBytes = 34;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static Codes codes(const uint8_t* p) {
        return {vreinterpretq_s8_u8(vld1q_u8(p + 2)), vreinterpretq_s8_u8(vld1q_u8(p + 18))};
    }
    HOKKU_INLINE static float scale(const uint8_t* p) { return load_half_float(p); }
};

struct BlockIq4Nl {
    static constexpr size_t kBytes = 18;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static Codes codes(const uint8_t* p) { return iq4_steps(load_nibbles(p + 2)); }
    HOKKU_INLINE static float scale(const uint8_t* p) { return load_half_float(p); }
};

struct BlockMxfp4 {
    static constexpr size_t kBytes = 17;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static Codes codes(const uint8_t* p) {  // Twice the values.
        return look_up(int8x16_t{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12},
                       load_nibbles(p + 1));
    }
    HOKKU_INLINE static float scale(const uint8_t* p) {
        const uint32_t e = *p;  // 2^(e - 128), subnormal for e < 2.
        return float_from_bits(e < 2 ? 0x00200000u << e : (e - 1) << 23);
    }
};

// --- Super-blocks of 256 values: codes of sub-block j of 8 ---------------------------------------

HOKKU_INLINE float32x4_t to_floats(uint16x4_t x) {
    return vcvtq_f32_u32(vmovl_u16(x));
}
HOKKU_INLINE float32x4_t to_floats(int16x4_t x) {
    return vcvtq_f32_s32(vmovl_s16(x));
}
/// out[i] = factor * bytes[i]
HOKKU_INLINE void scale_bytes(uint8x8_t bytes, float factor, float32x4_t* out) {
    const uint16x8_t wide = vmovl_u8(bytes);
    out[0] = vmulq_n_f32(to_floats(vget_low_u16(wide)), factor);
    out[1] = vmulq_n_f32(to_floats(vget_high_u16(wide)), factor);
}
HOKKU_INLINE void scale_bytes(int8x8_t bytes, float factor, float32x4_t* out) {
    const int16x8_t wide = vmovl_s8(bytes);
    out[0] = vmulq_n_f32(to_floats(vget_low_s16(wide)), factor);
    out[1] = vmulq_n_f32(to_floats(vget_high_s16(wide)), factor);
}
HOKKU_INLINE void scale_bytes(int8x16_t bytes, float factor, float32x4_t* out) {
    scale_bytes(vget_low_s8(bytes), factor, out);
    scale_bytes(vget_high_s8(bytes), factor, out + 2);
}

/// The packed scales and minima of Q4_K and Q5_K.
HOKKU_INLINE SuperScales read_q4_k_scales(const uint8_t* p) {
    const uint32_t a = load_word(p + 4), b = load_word(p + 8), c = load_word(p + 12);
    const uint64_t upper_scales = (c & 0x0f0f0f0fu) | (a >> 2 & 0x30303030u);
    const uint64_t upper_mins = (c >> 4 & 0x0f0f0f0fu) | (b >> 2 & 0x30303030u);
    SuperScales s;
    scale_bytes(vcreate_u8((a & 0x3f3f3f3fu) | upper_scales << 32), load_half_float(p), s.scales);
    scale_bytes(vcreate_u8((b & 0x3f3f3f3fu) | upper_mins << 32), -load_half_float(p + 2), s.mins);
    return s;
}

struct BlockQ4_K {
    static constexpr size_t kBytes = 144, kScaleValues = 32;
    static constexpr bool kHasMin = true;
    HOKKU_INLINE static SuperScales scales(const uint8_t* p) { return read_q4_k_scales(p); }
    HOKKU_INLINE static Codes codes(const uint8_t* p, int j) {
        const uint8_t* x = p + 16 + 32 * (j / 2);
        const auto part = [j](const uint8_t* bytes) HOKKU_LAMBDA {
            return vreinterpretq_s8_u8(keep_bits(shift_right(vld1q_u8(bytes), j % 2 * 4), 15));
        };
        return {part(x), part(x + 16)};
    }
};

struct BlockQ5_K {
    static constexpr size_t kBytes = 176, kScaleValues = 32;
    static constexpr bool kHasMin = true;
    HOKKU_INLINE static SuperScales scales(const uint8_t* p) { return read_q4_k_scales(p); }
    HOKKU_INLINE static Codes codes(const uint8_t* p, int j) {
        const auto part = [p, j](int first) HOKKU_LAMBDA {
            const uint8x16_t x = vld1q_u8(p + 48 + 32 * (j / 2) + first);
            const uint8x16_t fifth = keep_bits(shift_right(vld1q_u8(p + 16 + first), j), 1);
            return vreinterpretq_s8_u8(
                vorrq_u8(keep_bits(shift_right(x, j % 2 * 4), 15), vshlq_n_u8(fifth, 4)));
        };
        return {part(0), part(16)};
    }
};

struct BlockQ6_K {
    static constexpr size_t kBytes = 210, kScaleValues = 16;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static SuperScales scales(const uint8_t* p) {
        SuperScales s;
        scale_bytes(vreinterpretq_s8_u8(vld1q_u8(p + 192)), load_half_float(p + 208), s.scales);
        return s;
    }
    HOKKU_INLINE static Codes codes(const uint8_t* p, int j) {
        const auto part = [p, j](int first) HOKKU_LAMBDA {
            const uint8x16_t low = vld1q_u8(p + 64 * (j / 4) + 32 * (j % 2) + first);
            const uint8x16_t high = vld1q_u8(p + 128 + 32 * (j / 4) + first);
            return subtract(vorrq_u8(keep_bits(shift_right(low, j % 4 / 2 * 4), 15),
                                     vshlq_n_u8(keep_bits(shift_right(high, j % 4 * 2), 3), 4)),
                            32);
        };
        return {part(0), part(16)};
    }
};

struct BlockQ3_K {
    static constexpr size_t kBytes = 110, kScaleValues = 16;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static SuperScales scales(const uint8_t* p) {
        const uint32_t a = load_word(p + 96), b = load_word(p + 100), c = load_word(p + 104);
        constexpr uint32_t kLow = 0x0f0f0f0f, kHigh = 0x30303030;
        const uint32x4_t words = {(a & kLow) | (c << 4 & kHigh), (b & kLow) | (c << 2 & kHigh),
                                  (a >> 4 & kLow) | (c & kHigh),
                                  (b >> 4 & kLow) | (c >> 2 & kHigh)};
        SuperScales s;
        scale_bytes(subtract(vreinterpretq_u8_u32(words), 32), load_half_float(p + 108), s.scales);
        return s;
    }
    HOKKU_INLINE static Codes codes(const uint8_t* p, int j) {
        const auto part = [p, j](int first) HOKKU_LAMBDA {
            const uint8x16_t x = vld1q_u8(p + 32 + 32 * (j / 4) + first);
            const uint8x16_t third = keep_bits(shift_right(vld1q_u8(p + first), j), 1);
            return subtract(vorrq_u8(keep_bits(shift_right(x, j % 4 * 2), 3), vshlq_n_u8(third, 2)),
                            4);
        };
        return {part(0), part(16)};
    }
};

struct BlockQ2_K {
    static constexpr size_t kBytes = 84, kScaleValues = 16;
    static constexpr bool kHasMin = true;
    HOKKU_INLINE static SuperScales scales(const uint8_t* p) {
        const Nibbles x = load_nibbles(p);
        SuperScales s;
        scale_bytes(vreinterpretq_s8_u8(x.low), load_half_float(p + 80), s.scales);
        scale_bytes(vreinterpretq_s8_u8(x.high), -load_half_float(p + 82), s.mins);
        return s;
    }
    HOKKU_INLINE static Codes codes(const uint8_t* p, int j) {
        const auto part = [p, j](int first) HOKKU_LAMBDA {
            const uint8x16_t x = vld1q_u8(p + 16 + 32 * (j / 4) + first);
            return vreinterpretq_s8_u8(keep_bits(shift_right(x, j % 4 * 2), 3));
        };
        return {part(0), part(16)};
    }
};

struct BlockIq4Xs {
    static constexpr size_t kBytes = 136, kScaleValues = 32;
    static constexpr bool kHasMin = false;
    HOKKU_INLINE static SuperScales scales(const uint8_t* p) {
        const uint32_t low = load_word(p + 4), high = load_word(p) >> 16;
        int8_t bytes[8];
        for (int j = 0; j < 8; ++j)
            bytes[j] = static_cast<int8_t>(
                static_cast<int>((low >> (4 * j) & 15) | (high >> (2 * j) & 3) << 4) - 32);
        SuperScales s;
        scale_bytes(vld1_s8(bytes), load_half_float(p), s.scales);
        return s;
    }
    HOKKU_INLINE static Codes codes(const uint8_t* p, int j) {
        return iq4_steps(load_nibbles(p + 8 + 16 * j));
    }
};

}  // namespace
}  // namespace hokku::cpu
