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

/// Writes a group's codes of `bits` bits into the planes.
void write_codes(const Group& group, uint32_t bits, std::byte* codes, std::byte* high) {
    if (bits == 8) {
        std::memcpy(codes, group.codes, 32);
        return;
    }
    uint32_t words[2] = {0, 0};
    for (uint32_t i = 0; i < 16; ++i) {
        codes[i] = static_cast<std::byte>((group.codes[i] & 15) | (group.codes[i + 16] & 15) << 4);
    }
    for (uint32_t i = 0; i < 32; ++i) {
        const uint32_t above = group.codes[i] >> 4, word = i / 4, byte = i % 4;
        if (bits == 5) words[0] |= (above & 1u) << (8 * byte + word);
        if (bits == 6) words[i / 16] |= (above & 3u) << (8 * byte + 2 * (word % 4));
    }
    if (bits == 5) std::memcpy(high, words, 4);
    if (bits == 6) std::memcpy(high, words, 8);
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
