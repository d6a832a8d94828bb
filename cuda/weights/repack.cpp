// SPDX-License-Identifier: Apache-2.0
#include "weights/repack.h"

#include <algorithm>
#include <cstring>

namespace hokku::cuda {

namespace {

constexpr uint32_t kGroup = 32, kSuper = 8;  // Values of a group, groups of a super-block.

/// One group with its codes taken apart.
struct Group {
    uint8_t codes[32] = {};
    uint8_t scales[4] = {};  ///< As many as the plane holds.
};

/// Two bits of each value, from bit `shift` of its code on: a word of each half.
void write_pairs(const Group& group, uint32_t shift, std::byte* out) {
    uint32_t words[2] = {0, 0};
    for (uint32_t i = 0; i < 32; ++i) {
        const uint32_t bits = group.codes[i] >> shift & 3u;
        words[i / 16] |= bits << (8 * (i % 4) + 2 * (i / 4 % 4));
    }
    std::memcpy(out, words, sizeof words);
}

/// One bit of each value.
void write_bits(const Group& group, uint32_t shift, std::byte* out) {
    uint32_t word = 0;
    for (uint32_t i = 0; i < 32; ++i) {
        word |= (group.codes[i] >> shift & 1u) << (8 * (i % 4) + i / 4);
    }
    std::memcpy(out, &word, sizeof word);
}

/// How many bits a code has, or kTable: nibbles in the order of the values, to look up.
constexpr uint32_t kTable = 0;

/// Writes a group's codes into the planes.
void write_codes(const Group& group, uint32_t bits, std::byte* codes, std::byte* high) {
    if (bits == 8) {
        std::memcpy(codes, group.codes, 32);
        return;
    }
    if (bits == 2 || bits == 3) {
        write_pairs(group, 0, codes);
        if (bits == 3) write_bits(group, 2, high);
        return;
    }
    if (bits == kTable) {
        for (uint32_t i = 0; i < 16; ++i) {
            codes[i] = static_cast<std::byte>(group.codes[2 * i] | group.codes[2 * i + 1] << 4);
        }
        return;
    }
    for (uint32_t i = 0; i < 16; ++i) {
        codes[i] = static_cast<std::byte>((group.codes[i] & 15) | (group.codes[i + 16] & 15) << 4);
    }
    if (bits == 5) write_bits(group, 4, high);
    if (bits == 6) write_pairs(group, 4, high);
}

/// Scale and minimum of sub-block j (0..7) of Q4_K and Q5_K.
void read_k_scales(const uint8_t* packed, uint32_t j, uint8_t* out) {
    if (j < 4) {
        out[0] = packed[j] & 63;
        out[1] = packed[j + 4] & 63;
        return;
    }
    out[0] = static_cast<uint8_t>((packed[j + 4] & 15) | (packed[j - 4] >> 6) << 4);
    out[1] = static_cast<uint8_t>((packed[j + 4] >> 4) | (packed[j] >> 6) << 4);
}

// The block layouts are those of core/backend/dequantize_blocks.h. Each reader takes group j out of
// a block, or the block's super scales.

void read_q4_k(const uint8_t* b, uint32_t j, Group& out) {
    read_k_scales(b + 4, j, out.scales);
    for (uint32_t i = 0; i < 32; ++i) out.codes[i] = b[16 + j / 2 * 32 + i] >> (j % 2 * 4) & 15;
}

void read_q5_k(const uint8_t* b, uint32_t j, Group& out) {
    read_k_scales(b + 4, j, out.scales);
    for (uint32_t i = 0; i < 32; ++i) {
        const int low = b[48 + j / 2 * 32 + i] >> (j % 2 * 4) & 15;
        out.codes[i] = static_cast<uint8_t>(low | (b[16 + i] >> j & 1) << 4);
    }
}

void read_q6_k(const uint8_t* b, uint32_t j, Group& out) {
    out.scales[0] = b[192 + 2 * j];
    out.scales[1] = b[192 + 2 * j + 1];
    for (uint32_t i = 0; i < 32; ++i) {
        const uint32_t value = 32 * j + i, half = value / 128, r = value % 128;
        const int low = b[half * 64 + r % 64] >> (r / 64 * 4) & 15;
        const int high = b[128 + half * 32 + r % 32] >> (r / 32 * 2) & 3;
        out.codes[i] = static_cast<uint8_t>(low | high << 4);
    }
}

void read_q8_0(const uint8_t* b, uint32_t, Group& out) {
    std::memcpy(out.scales, b, 2);
    std::memcpy(out.codes, b + 2, 32);
}

void read_nibbles(const uint8_t* codes, Group& out) {
    for (uint32_t i = 0; i < 16; ++i) {
        out.codes[i] = codes[i] & 15;
        out.codes[i + 16] = codes[i] >> 4;
    }
}

void read_q4_0(const uint8_t* b, uint32_t, Group& out) {
    std::memcpy(out.scales, b, 2);
    read_nibbles(b + 2, out);
}

void read_q4_1(const uint8_t* b, uint32_t, Group& out) {
    std::memcpy(out.scales, b, 4);
    read_nibbles(b + 4, out);
}

void add_fifth_bits(const uint8_t* bits, Group& out) {
    for (uint32_t i = 0; i < 32; ++i) {
        out.codes[i] = static_cast<uint8_t>(out.codes[i] | (bits[i / 8] >> (i % 8) & 1) << 4);
    }
}

void read_q5_0(const uint8_t* b, uint32_t, Group& out) {
    std::memcpy(out.scales, b, 2);
    read_nibbles(b + 6, out);
    add_fifth_bits(b + 2, out);
}

void read_q5_1(const uint8_t* b, uint32_t, Group& out) {
    std::memcpy(out.scales, b, 4);
    read_nibbles(b + 8, out);
    add_fifth_bits(b + 4, out);
}

void read_q2_k(const uint8_t* b, uint32_t j, Group& out) {
    out.scales[0] = b[2 * j];
    out.scales[1] = b[2 * j + 1];
    for (uint32_t i = 0; i < 32; ++i) {
        out.codes[i] = b[16 + j / 4 * 32 + i] >> (j % 4 * 2) & 3;
    }
}

/// Scale j of sixteen, with 32 for zero.
uint8_t q3_k_scale(const uint8_t* packed, uint32_t j) {
    const int low = packed[j % 8] >> (j / 8 * 4) & 15;
    const int high = packed[8 + j % 4] >> (j / 4 * 2) & 3;
    return static_cast<uint8_t>((low | high << 4) - 32);
}

void read_q3_k(const uint8_t* b, uint32_t j, Group& out) {
    out.scales[0] = q3_k_scale(b + 96, 2 * j);
    out.scales[1] = q3_k_scale(b + 96, 2 * j + 1);
    for (uint32_t i = 0; i < 32; ++i) {
        const int low = b[32 + j / 4 * 32 + i] >> (j % 4 * 2) & 3;
        out.codes[i] = static_cast<uint8_t>(low | (b[i] >> j & 1) << 2);
    }
}

void read_iq4_nl(const uint8_t* b, uint32_t, Group& out) {
    std::memcpy(out.scales, b, 2);
    read_nibbles(b + 2, out);
}

/// u8 exponent e: 2^(e - 127), of which the half is stored as float32.
void read_mxfp4(const uint8_t* b, uint32_t, Group& out) {
    const uint32_t e = b[0];
    const uint32_t bits = e < 2 ? 0x00200000u << e : (e - 1) << 23;  // Subnormal below 2.
    std::memcpy(out.scales, &bits, sizeof bits);
    read_nibbles(b + 1, out);
}

/// f16 d; u16 upper bits of eight scales; u8 lower[4]; u8 codes[128].
void read_iq4_xs(const uint8_t* b, uint32_t j, Group& out) {
    uint16_t upper;
    std::memcpy(&upper, b + 2, 2);
    const int low = b[4 + j / 2] >> (j % 2 * 4) & 15;
    const int high = upper >> (2 * j) & 3;
    out.scales[0] = static_cast<uint8_t>((low | high << 4) - 32);
    read_nibbles(b + 8 + 16 * j, out);
}

struct Format {
    TensorType type;
    uint32_t bits;
    PlaneSizes sizes;
    void (*read)(const uint8_t* block, uint32_t group, Group& out);
    int super_offset;      ///< In a block; -1: none.
    uint32_t super_bytes;  ///< Of the four of the plane.
};

constexpr Format kFormats[] = {
    {TensorType::q4_k, 4, {16, 0, 2, 4}, read_q4_k, 0, 4},
    {TensorType::q5_k, 5, {16, 4, 2, 4}, read_q5_k, 0, 4},
    {TensorType::q6_k, 6, {16, 8, 2, 4}, read_q6_k, 208, 2},
    {TensorType::q8_0, 8, {32, 0, 2, 0}, read_q8_0, -1, 0},
    {TensorType::q4_0, 4, {16, 0, 2, 0}, read_q4_0, -1, 0},
    {TensorType::q4_1, 4, {16, 0, 4, 0}, read_q4_1, -1, 0},
    {TensorType::q5_0, 5, {16, 4, 2, 0}, read_q5_0, -1, 0},
    {TensorType::q5_1, 5, {16, 4, 4, 0}, read_q5_1, -1, 0},
    {TensorType::q2_k, 2, {8, 0, 2, 4}, read_q2_k, 80, 4},
    {TensorType::q3_k, 3, {8, 4, 2, 4}, read_q3_k, 108, 2},
    {TensorType::iq4_nl, kTable, {16, 0, 2, 0}, read_iq4_nl, -1, 0},
    {TensorType::iq4_xs, kTable, {16, 0, 2, 4}, read_iq4_xs, 0, 2},
    {TensorType::mxfp4, kTable, {16, 0, 4, 0}, read_mxfp4, -1, 0},
};

const Format* find_format(TensorType type) {
    for (const Format& format : kFormats) {
        if (format.type == type) return &format;
    }
    return nullptr;
}

}  // namespace

bool can_repack(TensorType type) {
    return find_format(type) != nullptr;
}

PlaneSizes plane_sizes(TensorType type) {
    const Format* format = find_format(type);
    return format != nullptr ? format->sizes : PlaneSizes{};
}

PlaneLayout plane_layout(TensorType type, uint32_t rows, uint32_t cols) {
    const PlaneSizes sizes = plane_sizes(type);
    const size_t groups = size_t{rows} * (cols / kGroup);
    PlaneLayout layout;
    const auto place = [&](size_t bytes) {
        const size_t at = layout.bytes;
        layout.bytes += (bytes + 255) / 256 * 256;
        return at;
    };
    layout.codes = place(groups * sizes.codes);
    layout.high = place(groups * sizes.high);
    layout.scales = place(groups * sizes.scales);
    layout.supers = place(groups / kSuper * sizes.supers);
    return layout;
}

void repack_rows(TensorType type, const std::byte* src, size_t row_stride, uint32_t rows,
                 uint32_t cols, const PlaneSpans& out) {
    const Format& format = *find_format(type);
    const TensorTypeTraits& traits = traits_of(type);
    const uint32_t groups_of_block = traits.block_values / kGroup;
    std::byte* codes = out.codes.data();
    std::byte* high = out.high.data();
    std::byte* scales = out.scales.data();
    std::byte* supers = out.supers.data();
    for (uint32_t row = 0; row < rows; ++row) {
        const auto* block = reinterpret_cast<const uint8_t*>(src + row * row_stride);
        for (uint32_t i = 0; i < cols / traits.block_values; ++i, block += traits.block_bytes) {
            for (uint32_t j = 0; j < groups_of_block; ++j) {
                Group group;
                format.read(block, j, group);
                write_codes(group, format.bits, codes, high);
                std::memcpy(scales, group.scales, format.sizes.scales);
                codes += format.sizes.codes;
                high += format.sizes.high;
                scales += format.sizes.scales;
            }
            if (format.super_offset >= 0) {
                uint8_t super[4] = {};
                std::memcpy(super, block + format.super_offset, format.super_bytes);
                std::memcpy(supers, super, sizeof super);
                supers += sizeof super;
            }
        }
    }
}

}  // namespace hokku::cuda
