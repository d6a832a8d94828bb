// SPDX-License-Identifier: Apache-2.0
// Decoders of the block types whose codes index a codebook (IQ, FP4) or are ternary or binary.
// As dequantize_blocks.h: layouts of the GGUF format, internal linkage on purpose.
#pragma once

#include <cstdint>

#include "backend/codebooks.h"
#include "backend/dequantize_blocks.h"
#include "backend/e4m3.h"

namespace hokku::blocks {
namespace {

/// Eight signs as stored in seven bits: the eighth makes the number of minuses even.
inline uint32_t even_signs(uint32_t seven_bits) {
    uint32_t parity = seven_bits ^ seven_bits >> 4;
    parity ^= parity >> 2;
    parity ^= parity >> 1;
    return seven_bits | (parity & 1) << 7;
}

/// 1 or -1 by bit j. Arithmetic instead of choices lets compilers decode eight values at once.
inline float sign_of(uint32_t signs, int j) {
    return static_cast<float>(1 - 2 * static_cast<int>(signs >> j & 1));
}

/// Eight values of an IQ2 grid point, times scale and signs. The magnitudes 8, 25, 43 are
/// 8 + 17 c + (c / 2).
inline void decode_iq2_point(uint32_t point, uint32_t signs, float scale, float* out) {
    for (int j = 0; j < 8; ++j) {
        const int code = static_cast<int>(point >> (2 * j) & 3);
        out[j] = scale * static_cast<float>(8 + 17 * code + (code >> 1)) * sign_of(signs, j);
    }
}

/// f16 d; of each 32 values: u8 grid_codes[4]; u32 with four 7-bit signs and a 4-bit scale on top.
struct IQ2_XXS {
    static constexpr uint32_t kValues = 256, kBytes = 66;
    static void decode(const uint8_t* b, float* out) {
        const float d = load_half(b);
        for (int g = 0; g < 8; ++g) {
            const uint8_t* codes = b + 2 + 8 * g;
            const uint32_t word = load_u32(codes + 4);
            const float scale = d * (0.5f + static_cast<float>(word >> 28)) * 0.25f;
            for (int k = 0; k < 4; ++k) {
                decode_iq2_point(kIq2XxsGrid[codes[k]], even_signs(word >> (7 * k) & 127), scale,
                                 out + 32 * g + 8 * k);
            }
        }
    }
};

/// f16 d; u16 words[32] (9-bit grid code, 7-bit signs), 8 values each; u8 scales[8], a nibble per
/// 16 values.
struct IQ2_XS {
    static constexpr uint32_t kValues = 256, kBytes = 74;
    static void decode(const uint8_t* b, float* out) {
        const float d = load_half(b);
        for (int k = 0; k < 32; ++k) {
            const uint32_t word = load_u16(b + 2 + 2 * k);
            const int nibble = b[66 + k / 4] >> (k / 2 % 2 * 4) & 15;
            const float scale = d * (0.5f + static_cast<float>(nibble)) * 0.25f;
            decode_iq2_point(kIq2XsGrid[word & 511], even_signs(word >> 9), scale, out + 8 * k);
        }
    }
};

/// f16 d; u8 grid_codes[32]; u8 signs[32]; u8 high_bits[8] (two bits per code); u8 scales[8].
struct IQ2_S {
    static constexpr uint32_t kValues = 256, kBytes = 82;
    static void decode(const uint8_t* b, float* out) {
        const float d = load_half(b);
        for (int k = 0; k < 32; ++k) {
            const int high = b[66 + k / 4] >> (k % 4 * 2) & 3;
            const int nibble = b[74 + k / 4] >> (k / 2 % 2 * 4) & 15;
            const float scale = d * (0.5f + static_cast<float>(nibble)) * 0.25f;
            decode_iq2_point(kIq2SGrid[b[2 + k] | high << 8], b[34 + k], scale, out + 8 * k);
        }
    }
};

/// f16 d; u8 grid_codes[64], 4 values each; u32 words[8] per 32 values as in IQ2_XXS. The
/// magnitudes 4, 12, .. 52, 62 are 8 c + 4, and 2 more for the last.
struct IQ3_XXS {
    static constexpr uint32_t kValues = 256, kBytes = 98;
    static void decode(const uint8_t* b, float* out) {
        const float d = load_half(b);
        for (int k = 0; k < 32; ++k) {
            const uint32_t word = load_u32(b + 66 + k / 4 * 4);
            const float scale = d * (0.5f + static_cast<float>(word >> 28)) * 0.5f;
            const uint32_t signs = even_signs(word >> (k % 4 * 7) & 127);
            const uint32_t points =
                kIq3XxsGrid[b[2 + 2 * k]] | static_cast<uint32_t>(kIq3XxsGrid[b[3 + 2 * k]]) << 16;
            for (int j = 0; j < 8; ++j) {
                const int code = static_cast<int>(points >> (4 * j) & 7);
                const int magnitude = 8 * code + 4 + ((code + 1) >> 3) * 2;
                out[8 * k + j] = scale * static_cast<float>(magnitude) * sign_of(signs, j);
            }
        }
    }
};

/// f16 d; u8 grid_codes[64]; u8 ninth_bits[8]; u8 signs[32]; u8 scales[4], a nibble per 32 values.
struct IQ3_S {
    static constexpr uint32_t kValues = 256, kBytes = 110;
    static void decode(const uint8_t* b, float* out) {
        const float d = load_half(b);
        for (int k = 0; k < 32; ++k) {
            const int nibble = b[106 + k / 8] >> (k / 4 % 2 * 4) & 15;
            const float scale = d * static_cast<float>(1 + 2 * nibble);
            const int ninth = b[66 + k / 4] >> (k % 4 * 2);
            const uint32_t first = kIq3SGrid[b[2 + 2 * k] | (ninth & 1) << 8];
            const uint32_t second = kIq3SGrid[b[3 + 2 * k] | (ninth >> 1 & 1) << 8];
            const uint32_t points = first | second << 16, signs = b[74 + k];
            for (int j = 0; j < 8; ++j) {
                const int magnitude = 2 * static_cast<int>(points >> (4 * j) & 7) + 1;
                out[8 * k + j] = scale * static_cast<float>(magnitude) * sign_of(signs, j);
            }
        }
    }
};

/// Eight values of an IQ1 grid point, shifted by +-1/8.
inline void decode_iq1_point(uint32_t point, bool minus, float scale, float* out) {
    const float delta = minus ? -0.125f : 0.125f;
    for (int j = 0; j < 8; ++j) {
        out[j] = scale * (static_cast<float>(static_cast<int>(point >> (2 * j) & 3) - 1) + delta);
    }
}

/// f16 d; u8 grid_codes[32]; u16 words[8] per 32 values: three upper bits for each of 4 codes, a
/// 3-bit scale, the sign of the shift.
struct IQ1_S {
    static constexpr uint32_t kValues = 256, kBytes = 50;
    static void decode(const uint8_t* b, float* out) {
        const float d = load_half(b);
        for (int k = 0; k < 32; ++k) {
            const uint32_t word = load_u16(b + 34 + k / 4 * 2);
            const float scale = d * static_cast<float>(2 * (word >> 12 & 7) + 1);
            const uint32_t code = b[2 + k] | (word >> (k % 4 * 3) & 7) << 8;
            decode_iq1_point(kIq1SGrid[code], word >> 15, scale, out + 8 * k);
        }
    }
};

/// u8 grid_codes[32]; u8 nibbles[16] (three upper bits of a code, sign of its shift);
/// u16 scales[4]: four 3-bit scales each (16 values), and four bits of the f16 d on top.
struct IQ1_M {
    static constexpr uint32_t kValues = 256, kBytes = 56;
    static void decode(const uint8_t* b, float* out) {
        uint32_t d_bits = 0;
        for (int i = 0; i < 4; ++i) d_bits |= uint32_t{load_u16(b + 48 + 2 * i)} >> 12 << (4 * i);
        const float d = half_to_float(static_cast<uint16_t>(d_bits));
        for (int k = 0; k < 32; ++k) {
            const int three_bits = load_u16(b + 48 + k / 8 * 2) >> (k / 2 % 4 * 3) & 7;
            const float scale = d * static_cast<float>(2 * three_bits + 1);
            const uint32_t nibble = b[32 + k / 2] >> (k % 2 * 4) & 15;
            const uint32_t code = b[k] | (nibble & 7) << 8;
            decode_iq1_point(kIq1SGrid[code], nibble >> 3, scale, out + 8 * k);
        }
    }
};

/// Steps of IQ4_NL and IQ4_XS.
constexpr int8_t kIq4Steps[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                  1,    13,   25,  38,  53,  69,  89,  113};
/// Twice the values of FP4 E2M1. Source: OCP Microscaling Formats 1.0, 5.3.3.
constexpr int8_t kFp4Steps[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/// Codes of 2 * kHalf values: low nibbles are the first half of them.
template <int kHalf>
inline void decode_nibbles(const uint8_t* codes, const int8_t (&steps)[16], float scale,
                           float* out) {
    for (int j = 0; j < kHalf; ++j) {
        out[j] = scale * static_cast<float>(steps[codes[j] & 15]);
        out[j + kHalf] = scale * static_cast<float>(steps[codes[j] >> 4]);
    }
}

/// f16 d; u8 codes[16].
struct IQ4_NL {
    static constexpr uint32_t kValues = 32, kBytes = 18;
    static void decode(const uint8_t* b, float* out) {
        decode_nibbles<16>(b + 2, kIq4Steps, load_half(b), out);
    }
};

/// f16 d; u16 scales_high (two bits per 32 values); u8 scales_low[4] (nibbles); u8 codes[128].
struct IQ4_XS {
    static constexpr uint32_t kValues = 256, kBytes = 136;
    static void decode(const uint8_t* b, float* out) {
        const float d = load_half(b);
        const int high = load_u16(b + 2);
        for (int g = 0; g < 8; ++g) {
            const int scale =
                ((b[4 + g / 2] >> (g % 2 * 4) & 15) | (high >> (2 * g) & 3) << 4) - 32;
            decode_nibbles<16>(b + 8 + 16 * g, kIq4Steps, d * static_cast<float>(scale),
                               out + 32 * g);
        }
    }
};

/// u8 exponent (E8M0: 2^(e - 127)); u8 codes[16]. The scale carries the half of the doubled steps.
struct MXFP4 {
    static constexpr uint32_t kValues = 32, kBytes = 17;
    static void decode(const uint8_t* b, float* out) {
        const uint32_t e = b[0];
        // 2^(e - 128) is subnormal in float32 for e < 2.
        const float scale = float_from_bits(e < 2 ? 0x00200000u << e : (e - 1) << 23);
        decode_nibbles<16>(b + 1, kFp4Steps, scale, out);
    }
};

/// u8 scales[4] (E4M3, per 16 values); u8 codes[32], 8 bytes per 16 values.
struct NVFP4 {
    static constexpr uint32_t kValues = 64, kBytes = 36;
    static void decode(const uint8_t* b, float* out) {
        for (int g = 0; g < 4; ++g) {
            decode_nibbles<8>(b + 4 + 8 * g, kFp4Steps, half_of_e4m3(b[g]), out + 16 * g);
        }
    }
};

/// One of the base-3 digits of a byte that stores ceil(256 digits / 243): multiplying by 3^n
/// modulo 256 moves digit n to the front.
inline float ternary_digit(uint8_t byte, uint32_t power_of_three) {
    const uint32_t moved = byte * power_of_three & 255;
    return static_cast<float>(static_cast<int>(moved * 3 >> 8) - 1);
}

/// u8 codes[48] (5 digits each: 32 bytes for 160 values, then 16 for 80); u8 last[4] (4 digits
/// each); f16 d.
struct TQ1_0 {
    static constexpr uint32_t kValues = 256, kBytes = 54;
    static void decode(const uint8_t* b, float* out) {
        const float d = load_half(b + 52);
        constexpr uint32_t kPowers[5] = {1, 3, 9, 27, 81};
        for (int n = 0; n < 5; ++n) {
            for (int j = 0; j < 32; ++j) *out++ = ternary_digit(b[j], kPowers[n]) * d;
        }
        for (int n = 0; n < 5; ++n) {
            for (int j = 32; j < 48; ++j) *out++ = ternary_digit(b[j], kPowers[n]) * d;
        }
        for (int n = 0; n < 4; ++n) {
            for (int j = 48; j < 52; ++j) *out++ = ternary_digit(b[j], kPowers[n]) * d;
        }
    }
};

/// u8 codes[64] (two bits each, of 32 bytes the lowest bits are 32 values, and so on); f16 d.
struct TQ2_0 {
    static constexpr uint32_t kValues = 256, kBytes = 66;
    static void decode(const uint8_t* b, float* out) {
        const float d = load_half(b + 64);
        for (int i = 0; i < 256; ++i) {
            const int code = b[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
            out[i] = static_cast<float>(code - 1) * d;
        }
    }
};

/// f16 d; u8 bits[16]: bit i set means d, clear means -d.
struct Q1_0 {
    static constexpr uint32_t kValues = 128, kBytes = 18;
    static void decode(const uint8_t* b, float* out) {
        const float d = load_half(b);
        for (int i = 0; i < 128; ++i) out[i] = b[2 + i / 8] >> (i % 8) & 1 ? d : -d;
    }
};

/// f16 d; u8 codes[16], two bits each, lowest first. value = (code - 1) d.
struct Q2_0 {
    static constexpr uint32_t kValues = 64, kBytes = 18;
    static void decode(const uint8_t* b, float* out) {
        const float d = load_half(b);
        for (int i = 0; i < 64; ++i) {
            out[i] = static_cast<float>((b[2 + i / 4] >> (i % 4 * 2) & 3) - 1) * d;
        }
    }
};

}  // namespace
}  // namespace hokku::blocks
