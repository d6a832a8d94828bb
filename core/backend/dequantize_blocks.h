// SPDX-License-Identifier: Apache-2.0
// One decoder per block type: a block of the file to float32 values. Layouts as in the GGUF
// format (ggml-common.h names the fields); QK_K = 256 values per super-block. Internal linkage on
// purpose: kernel files built with extra instruction set flags include this header too.
#pragma once

#include <cstdint>
#include <cstring>

#include "backend/half.h"

namespace hokku::blocks {
namespace {

inline uint16_t load_u16(const uint8_t* p) {
    uint16_t value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

inline uint32_t load_u32(const uint8_t* p) {
    uint32_t value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

inline float load_half(const uint8_t* p) {
    return half_to_float(load_u16(p));
}

struct F32 {
    static constexpr uint32_t kValues = 1, kBytes = 4;
    static void decode(const uint8_t* b, float* out) { std::memcpy(out, b, 4); }
};

struct F16 {
    static constexpr uint32_t kValues = 1, kBytes = 2;
    static void decode(const uint8_t* b, float* out) { *out = load_half(b); }
};

struct BF16 {
    static constexpr uint32_t kValues = 1, kBytes = 2;
    static void decode(const uint8_t* b, float* out) { *out = bfloat_to_float(load_u16(b)); }
};

// Legacy blocks of 32 values: byte j of the codes holds value j in its low nibble and value
// j + 16 in its high nibble.

/// f16 d; u8 codes[16]. value = (code - 8) d.
struct Q4_0 {
    static constexpr uint32_t kValues = 32, kBytes = 18;
    static void decode(const uint8_t* b, float* out) {
        const float d = load_half(b);
        for (int j = 0; j < 16; ++j) {
            out[j] = static_cast<float>((b[2 + j] & 15) - 8) * d;
            out[j + 16] = static_cast<float>((b[2 + j] >> 4) - 8) * d;
        }
    }
};

/// f16 d, m; u8 codes[16]. value = code d + m.
struct Q4_1 {
    static constexpr uint32_t kValues = 32, kBytes = 20;
    static void decode(const uint8_t* b, float* out) {
        const float d = load_half(b), m = load_half(b + 2);
        for (int j = 0; j < 16; ++j) {
            out[j] = static_cast<float>(b[4 + j] & 15) * d + m;
            out[j + 16] = static_cast<float>(b[4 + j] >> 4) * d + m;
        }
    }
};

/// f16 d; u32 fifth_bits (bit j of value j); u8 codes[16]. value = (code - 16) d.
struct Q5_0 {
    static constexpr uint32_t kValues = 32, kBytes = 22;
    static void decode(const uint8_t* b, float* out) {
        const float d = load_half(b);
        const uint32_t high = load_u32(b + 2);
        for (int j = 0; j < 16; ++j) {
            const int low_code = (b[6 + j] & 15) | static_cast<int>((high >> j & 1) << 4);
            const int high_code = (b[6 + j] >> 4) | static_cast<int>((high >> (j + 16) & 1) << 4);
            out[j] = static_cast<float>(low_code - 16) * d;
            out[j + 16] = static_cast<float>(high_code - 16) * d;
        }
    }
};

/// f16 d, m; u32 fifth_bits; u8 codes[16]. value = code d + m.
struct Q5_1 {
    static constexpr uint32_t kValues = 32, kBytes = 24;
    static void decode(const uint8_t* b, float* out) {
        const float d = load_half(b), m = load_half(b + 2);
        const uint32_t high = load_u32(b + 4);
        for (int j = 0; j < 16; ++j) {
            const int low_code = (b[8 + j] & 15) | static_cast<int>((high >> j & 1) << 4);
            const int high_code = (b[8 + j] >> 4) | static_cast<int>((high >> (j + 16) & 1) << 4);
            out[j] = static_cast<float>(low_code) * d + m;
            out[j + 16] = static_cast<float>(high_code) * d + m;
        }
    }
};

/// f16 d; s8 codes[32]. value = code d.
struct Q8_0 {
    static constexpr uint32_t kValues = 32, kBytes = 34;
    static void decode(const uint8_t* b, float* out) {
        const float d = load_half(b);
        for (int j = 0; j < 32; ++j) {
            out[j] = static_cast<float>(static_cast<int8_t>(b[2 + j])) * d;
        }
    }
};

/// u8 scales[16] (low nibble scale, high nibble min, one per 16 values); u8 codes[64]; f16 d, dmin.
/// Byte l of each 32-byte half holds, two bits each, values l, l + 32, l + 64, l + 96 of its 128.
struct Q2_K {
    static constexpr uint32_t kValues = 256, kBytes = 84;
    static void decode(const uint8_t* b, float* out) {
        const uint8_t* codes = b + 16;
        const float d = load_half(b + 80), dmin = load_half(b + 82);
        for (int i = 0; i < 256; ++i) {
            const int scale = b[i / 16];
            const int code = codes[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
            out[i] = d * static_cast<float>(scale & 15) * static_cast<float>(code) -
                     dmin * static_cast<float>(scale >> 4);
        }
    }
};

/// Sixteen 6-bit numbers in 12 bytes: byte j (< 8) holds the low nibbles of j and j + 8, byte
/// 8 + j the upper two bits of j, j + 4, j + 8, j + 12.
inline int q3_k_scale(const uint8_t* scales, int j) {
    const int low = scales[j % 8] >> (j / 8 * 4) & 15;
    const int high = scales[8 + j % 4] >> (j / 4 * 2) & 3;
    return (low | high << 4) - 32;
}

/// u8 high_bits[32] (bit i / 32 of byte i % 32 clear: subtract 4); u8 codes[64] as Q2_K;
/// u8 scales[12]; f16 d.
struct Q3_K {
    static constexpr uint32_t kValues = 256, kBytes = 110;
    static void decode(const uint8_t* b, float* out) {
        const uint8_t* codes = b + 32;
        const uint8_t* scales = b + 96;
        const float d = load_half(b + 108);
        for (int j = 0; j < 16; ++j) {
            const float scale = d * static_cast<float>(q3_k_scale(scales, j));
            for (int i = j * 16; i < j * 16 + 16; ++i) {
                const int code = codes[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
                const int offset = b[i % 32] >> (i / 32) & 1 ? 0 : 4;
                out[i] = scale * static_cast<float>(code - offset);
            }
        }
    }
};

struct ScaleAndMin {
    int scale, min;
};

/// Eight 6-bit scales and mins in 12 bytes: 0..3 in the low six bits of bytes j and j + 4;
/// 4..7 in the nibbles of byte j + 4 with their upper bits at the top of bytes j - 4 and j.
inline ScaleAndMin q4_k_scale(const uint8_t* scales, int j) {
    if (j < 4) return {scales[j] & 63, scales[j + 4] & 63};
    return {(scales[j + 4] & 15) | (scales[j - 4] >> 6) << 4,
            (scales[j + 4] >> 4) | (scales[j] >> 6) << 4};
}

/// f16 d, dmin; u8 scales[12]; u8 codes[128]: of each 32 bytes the low nibbles are 32 values, the
/// high nibbles the next 32. value = d scale code - dmin min.
struct Q4_K {
    static constexpr uint32_t kValues = 256, kBytes = 144;
    static void decode(const uint8_t* b, float* out) {
        const float d = load_half(b), dmin = load_half(b + 2);
        const uint8_t* codes = b + 16;
        for (int j = 0; j < 8; ++j) {
            const ScaleAndMin s = q4_k_scale(b + 4, j);
            const float scale = d * static_cast<float>(s.scale);
            const float min = dmin * static_cast<float>(s.min);
            for (int l = 0; l < 32; ++l) {
                const int code = codes[j / 2 * 32 + l] >> (j % 2 * 4) & 15;
                out[j * 32 + l] = scale * static_cast<float>(code) - min;
            }
        }
    }
};

/// f16 d, dmin; u8 scales[12]; u8 fifth_bits[32] (bit j of byte l: value 32 j + l); u8 codes[128]
/// as Q4_K.
struct Q5_K {
    static constexpr uint32_t kValues = 256, kBytes = 176;
    static void decode(const uint8_t* b, float* out) {
        const float d = load_half(b), dmin = load_half(b + 2);
        const uint8_t* high = b + 16;
        const uint8_t* codes = b + 48;
        for (int j = 0; j < 8; ++j) {
            const ScaleAndMin s = q4_k_scale(b + 4, j);
            const float scale = d * static_cast<float>(s.scale);
            const float min = dmin * static_cast<float>(s.min);
            for (int l = 0; l < 32; ++l) {
                const int code = (codes[j / 2 * 32 + l] >> (j % 2 * 4) & 15) | (high[l] >> j & 1)
                                                                                   << 4;
                out[j * 32 + l] = scale * static_cast<float>(code) - min;
            }
        }
    }
};

/// u8 low[128]; u8 high[64]; s8 scales[16] (per 16 values); f16 d. Of each half (128 values): byte
/// l of low holds values l and l + 64, byte l % 32 of high two bits each of l, l + 32, l + 64,
/// l + 96. value = d scale (code - 32).
struct Q6_K {
    static constexpr uint32_t kValues = 256, kBytes = 210;
    static void decode(const uint8_t* b, float* out) {
        const float d = load_half(b + 208);
        for (int j = 0; j < 16; ++j) {
            const float scale = d * static_cast<float>(static_cast<int8_t>(b[192 + j]));
            for (int i = j * 16; i < j * 16 + 16; ++i) {
                const int half = i / 128, r = i % 128;
                const int low = b[half * 64 + r % 64] >> (r / 64 * 4) & 15;
                const int high = b[128 + half * 32 + r % 32] >> (r / 32 * 2) & 3;
                out[i] = scale * static_cast<float>((low | high << 4) - 32);
            }
        }
    }
};

}  // namespace
}  // namespace hokku::blocks
