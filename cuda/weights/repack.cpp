// SPDX-License-Identifier: Apache-2.0
#include "weights/repack.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "backend/codebooks.h"

namespace hokku::cuda {

namespace {

constexpr uint32_t kGroup = 32, kSuper = 8;  // Values of a group, groups of a super-block.

/// One group with its codes taken apart.
struct Group {
    uint8_t codes[32] = {};
    uint8_t scales[4] = {};  ///< As many as the plane holds.
    uint8_t high[4] = {};    ///< Of kBytes.
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
/// Codes that are bytes already, eight of a group.
constexpr uint32_t kBytes = 1;

/// Writes a group's codes into the planes.
void write_codes(const Group& group, uint32_t bits, std::byte* codes, std::byte* high) {
    if (bits == 8) {
        std::memcpy(codes, group.codes, 32);
        return;
    }
    if (bits == kBytes) {
        std::memcpy(codes, group.codes, 8);
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

uint32_t load_u16(const uint8_t* p) {
    return p[0] | uint32_t{p[1]} << 8;
}

/// Copies codes of rare types as the file has them.
void put(Group& out, uint32_t at, const uint8_t* from, uint32_t bytes) {
    std::memcpy(out.codes + at, from, bytes);
}

void read_iq2_xxs(const uint8_t* b, uint32_t j, Group& out) {
    put(out, 0, b + 2 + 8 * j, 8);
}

void read_iq2_xs(const uint8_t* b, uint32_t j, Group& out) {
    put(out, 0, b + 2 + 8 * j, 8);
    out.scales[0] = b[66 + j];
}

void read_iq2_s(const uint8_t* b, uint32_t j, Group& out) {
    put(out, 0, b + 2 + 4 * j, 4);
    put(out, 4, b + 34 + 4 * j, 4);
    out.scales[0] = b[66 + j];
    out.scales[1] = b[74 + j];
}

void read_iq3_xxs(const uint8_t* b, uint32_t j, Group& out) {
    put(out, 0, b + 2 + 8 * j, 8);
    std::memcpy(out.high, b + 66 + 4 * j, 4);
}

void read_iq3_s(const uint8_t* b, uint32_t j, Group& out) {
    put(out, 0, b + 2 + 8 * j, 8);
    std::memcpy(out.high, b + 74 + 4 * j, 4);
    out.scales[0] = b[66 + j];
    out.scales[1] = b[106 + j / 2] >> (j % 2 * 4) & 15;
}

void write_iq1(const uint8_t* points, uint32_t nibbles, uint32_t scale0, uint32_t scale1,
               Group& out) {
    put(out, 0, points, 4);
    const uint32_t word = nibbles | scale0 << 16 | scale1 << 19;
    std::memcpy(out.codes + 4, &word, 4);
}

void read_iq1_s(const uint8_t* b, uint32_t j, Group& out) {
    const uint32_t word = load_u16(b + 34 + 2 * j), scale = word >> 12 & 7;
    uint32_t nibbles = 0;
    for (uint32_t k = 0; k < 4; ++k) {
        nibbles |= ((word >> (3 * k) & 7) | (word >> 15) << 3) << (4 * k);
    }
    write_iq1(b + 2 + 4 * j, nibbles, scale, scale, out);
}

void read_iq1_m(const uint8_t* b, uint32_t j, Group& out) {
    const uint32_t scales = load_u16(b + 48 + j / 2 * 2) >> (j % 2 * 6);
    write_iq1(b + 4 * j, load_u16(b + 32 + 2 * j), scales & 7, scales >> 3 & 7, out);
}

/// Half of an unsigned E4M3 number (bias 7; 0x7f is no number and counts as 0) as f16.
uint16_t half_of_e4m3(uint32_t code) {
    if (code == 0x7f) return 0;
    const uint32_t exponent = code >> 3 & 15, mantissa = code & 7;
    if (exponent > 0) return static_cast<uint16_t>((exponent + 7) << 10 | mantissa << 7);
    // mantissa 2^-10: 16 times the subnormal steps of 2^-24, from 2^-14 on a normal number.
    constexpr uint16_t kSubnormals[8] = {0x0000, 0x1400, 0x1800, 0x1a00,
                                         0x1c00, 0x1d00, 0x1e00, 0x1f00};
    return kSubnormals[mantissa];
}

void read_nvfp4(const uint8_t* b, uint32_t j, Group& out) {
    for (uint32_t h = 0; h < 2; ++h) {
        const uint16_t scale = half_of_e4m3(b[2 * j + h] & 0x7fu);
        std::memcpy(out.scales + 2 * h, &scale, 2);
        const uint8_t* codes = b + 4 + 8 * (2 * j + h);
        for (uint32_t i = 0; i < 8; ++i) {
            out.codes[16 * h + i] = codes[i] & 15;
            out.codes[16 * h + 8 + i] = codes[i] >> 4;
        }
    }
}

/// Digit n of a byte that stores ceil(256 digits / 243) in base 3.
uint8_t ternary_digit(uint32_t byte, uint32_t n) {
    constexpr uint32_t kPowers[5] = {1, 3, 9, 27, 81};
    return static_cast<uint8_t>((byte * kPowers[n] & 255) * 3 >> 8);
}

void read_tq1_0(const uint8_t* b, uint32_t j, Group& out) {
    for (uint32_t i = 0; i < 32; ++i) {
        const uint32_t at = 32 * j + i;
        if (at < 160) {
            out.codes[i] = ternary_digit(b[at % 32], at / 32);
        } else if (at < 240) {
            out.codes[i] = ternary_digit(b[32 + (at - 160) % 16], (at - 160) / 16);
        } else {
            out.codes[i] = ternary_digit(b[48 + (at - 240) % 4], (at - 240) / 4);
        }
    }
}

void read_tq2_0(const uint8_t* b, uint32_t j, Group& out) {
    for (uint32_t i = 0; i < 32; ++i) {
        out.codes[i] = b[j / 4 * 32 + i] >> (j % 4 * 2) & 3;
    }
}

void read_q2_0(const uint8_t* b, uint32_t j, Group& out) {
    std::memcpy(out.scales, b, 2);
    for (uint32_t i = 0; i < 32; ++i) out.codes[i] = b[2 + 8 * j + i / 4] >> (i % 4 * 2) & 3;
}

/// Bit set: d, else -d.
void read_q1_0(const uint8_t* b, uint32_t j, Group& out) {
    std::memcpy(out.scales, b, 2);
    for (uint32_t i = 0; i < 32; ++i) {
        out.codes[i] = static_cast<uint8_t>((b[2 + 4 * j + i / 8] >> (i % 8) & 1) * 2);
    }
}

/// d of IQ1_M: four bits on top of each of four words.
uint16_t iq1_m_d(const uint8_t* b) {
    uint32_t d = 0;
    for (uint32_t i = 0; i < 4; ++i) d |= load_u16(b + 48 + 2 * i) >> 12 << (4 * i);
    return static_cast<uint16_t>(d);
}

/// A codebook: points of `values` magnitudes, packed in `bits` each.
struct Codebook {
    const uint16_t* points = nullptr;
    uint32_t num_points = 0, values = 0, bits = 0;
    uint8_t (*magnitude)(uint32_t code) = nullptr;
};

uint8_t iq2_magnitude(uint32_t code) {
    return static_cast<uint8_t>(8 + 17 * code + code / 2);
}
uint8_t iq3_xxs_magnitude(uint32_t code) {
    return static_cast<uint8_t>(8 * code + 4 + (code == 7 ? 2 : 0));
}
uint8_t iq3_s_magnitude(uint32_t code) {
    return static_cast<uint8_t>(2 * code + 1);
}
uint8_t iq1_magnitude(uint32_t code) {  // The code is the value plus one.
    return static_cast<uint8_t>(8 * code);
}

Codebook codebook_of(TensorType type) {
    switch (type) {
        case TensorType::iq2_xxs:
            return {blocks::kIq2XxsGrid, 256, 8, 2, iq2_magnitude};
        case TensorType::iq2_xs:
            return {blocks::kIq2XsGrid, 512, 8, 2, iq2_magnitude};
        case TensorType::iq2_s:
            return {blocks::kIq2SGrid, 1024, 8, 2, iq2_magnitude};
        case TensorType::iq3_xxs:
            return {blocks::kIq3XxsGrid, 256, 4, 4, iq3_xxs_magnitude};
        case TensorType::iq3_s:
            return {blocks::kIq3SGrid, 512, 4, 4, iq3_s_magnitude};
        case TensorType::iq1_s:
        case TensorType::iq1_m:
            return {blocks::kIq1SGrid, 2048, 8, 2, iq1_magnitude};
        default:
            return {};
    }
}

struct Format {
    TensorType type;
    std::string_view name;  ///< Of its kernels.
    uint32_t bits;
    PlaneSizes sizes;
    void (*read)(const uint8_t* block, uint32_t group, Group& out);
    int super_offset;      ///< In a block; -1: none.
    uint32_t super_bytes;  ///< Of the four of the plane.
};

constexpr Format kFormats[] = {
    {TensorType::q4_k, "q4_k", 4, {16, 0, 2, 4}, read_q4_k, 0, 4},
    {TensorType::q5_k, "q5_k", 5, {16, 4, 2, 4}, read_q5_k, 0, 4},
    {TensorType::q6_k, "q6_k", 6, {16, 8, 2, 4}, read_q6_k, 208, 2},
    {TensorType::q8_0, "q8_0", 8, {32, 0, 2, 0}, read_q8_0, -1, 0},
    {TensorType::q4_0, "q4_0", 4, {16, 0, 2, 0}, read_q4_0, -1, 0},
    {TensorType::q4_1, "q4_1", 4, {16, 0, 4, 0}, read_q4_1, -1, 0},
    {TensorType::q5_0, "q5_0", 5, {16, 4, 2, 0}, read_q5_0, -1, 0},
    {TensorType::q5_1, "q5_1", 5, {16, 4, 4, 0}, read_q5_1, -1, 0},
    {TensorType::q2_k, "q2_k", 2, {8, 0, 2, 4}, read_q2_k, 80, 4},
    {TensorType::q3_k, "q3_k", 3, {8, 4, 2, 4}, read_q3_k, 108, 2},
    {TensorType::iq4_nl, "iq4_nl", kTable, {16, 0, 2, 0}, read_iq4_nl, -1, 0},
    {TensorType::iq4_xs, "iq4_xs", kTable, {16, 0, 2, 4}, read_iq4_xs, 0, 2},
    {TensorType::mxfp4, "mxfp4", kTable, {16, 0, 4, 0}, read_mxfp4, -1, 0},
    {TensorType::iq2_xxs, "iq2_xxs", kBytes, {8, 0, 0, 4}, read_iq2_xxs, 0, 2},
    {TensorType::iq2_xs, "iq2_xs", kBytes, {8, 0, 1, 4}, read_iq2_xs, 0, 2},
    {TensorType::iq2_s, "iq2_s", kBytes, {8, 0, 2, 4}, read_iq2_s, 0, 2},
    {TensorType::iq3_xxs, "iq3_xxs", kBytes, {8, 4, 0, 4}, read_iq3_xxs, 0, 2},
    {TensorType::iq3_s, "iq3_s", kBytes, {8, 4, 2, 4}, read_iq3_s, 0, 2},
    {TensorType::iq1_s, "iq1", kBytes, {8, 0, 0, 4}, read_iq1_s, 0, 2},
    {TensorType::iq1_m, "iq1", kBytes, {8, 0, 0, 4}, read_iq1_m, 0, 2},
    {TensorType::nvfp4, "nvfp4", kTable, {16, 0, 4, 0}, read_nvfp4, -1, 0},
    {TensorType::tq1_0, "tq", 2, {8, 0, 0, 4}, read_tq1_0, 52, 2},
    {TensorType::tq2_0, "tq", 2, {8, 0, 0, 4}, read_tq2_0, 64, 2},
    {TensorType::q2_0, "q2_0", 2, {8, 0, 2, 0}, read_q2_0, -1, 0},
    {TensorType::q1_0, "q2_0", 2, {8, 0, 2, 0}, read_q1_0, -1, 0},
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

std::string_view kernel_format(TensorType type) {
    const Format* format = find_format(type);
    return format != nullptr ? format->name : std::string_view{};
}

bool has_every_kernel(TensorType type) {
    const Format* format = find_format(type);
    constexpr std::string_view kRare[] = {"nvfp4", "tq", "q2_0"};
    return format != nullptr && format->bits != kBytes &&
           std::find(std::begin(kRare), std::end(kRare), format->name) == std::end(kRare);
}

size_t table_bytes(TensorType type) {
    const Codebook codebook = codebook_of(type);
    return size_t{codebook.num_points} * codebook.values;
}

void write_table(TensorType type, std::span<std::byte> out) {
    const Codebook codebook = codebook_of(type);
    for (uint32_t i = 0; i < out.size(); ++i) {
        const uint32_t point = codebook.points[i / codebook.values];
        const uint32_t shift = i % codebook.values * codebook.bits;
        out[i] = static_cast<std::byte>(
            codebook.magnitude(point >> shift & ((1u << codebook.bits) - 1)));
    }
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
    layout.table = place(table_bytes(type));
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
                if (format.bits == kBytes) std::memcpy(high, group.high, format.sizes.high);
                std::memcpy(scales, group.scales, format.sizes.scales);
                codes += format.sizes.codes;
                high += format.sizes.high;
                scales += format.sizes.scales;
            }
            if (format.super_offset >= 0) {
                uint8_t super[4] = {};
                std::memcpy(super, block + format.super_offset, format.super_bytes);
                if (type == TensorType::iq1_m) {
                    const uint16_t d = iq1_m_d(block);
                    std::memcpy(super, &d, sizeof d);
                }
                std::memcpy(supers, super, sizeof super);
                supers += sizeof super;
            }
        }
    }
}

}  // namespace hokku::cuda
