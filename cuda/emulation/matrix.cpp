// SPDX-License-Identifier: Apache-2.0
// The matrix operations of a warp. Which lane holds which element follows the fragment tables of
// the PTX ISA (section "Warp Level Matrix Multiply-Accumulate Instructions"); with g = lane / 4 and
// t = lane % 4:
//   m16n8k32.s8    a[i], byte j: row g + 8 (i % 2), column 4 t + j + 16 (i / 2)
//                  b[i], byte j: row 4 t + j + 16 i, column g
//   m16n8k16.f16   a[i], half j: row g + 8 (i % 2), column 2 t + j + 8 (i / 2)
//                  b[i], half j: row 2 t + j + 8 i, column g
//   both           d[i]: row g + 8 (i / 2), column 2 t + i % 2
//   ldmatrix       register m of lane l: row l / 4 of matrix m, columns 2 (l % 4) and the next;
//                  the rows of matrix m lie where lanes 8 m .. 8 m + 7 point
#include <bit>
#include <cstring>

#include "emulation/runtime.h"
#include "emulation/scheduler.h"

namespace hokku::emulation {

namespace {

constexpr uint32_t kAll = 0xffffffffu;

template <class Sum>
struct MmaInput {
    uint32_t a[4], b[2];
    Sum c[4];
};

/// A and B as whole matrices of K columns and rows; read(word, part) takes a word apart.
template <size_t K, class Element, class Sum, class Read>
void multiply(const WarpCall* const* lanes, Read read) {
    constexpr uint32_t kParts = K / 8;  // Elements of one word: four bytes or two halves.
    Element a[16][K], b[K][8];
    for (uint32_t lane = 0; lane < 32; ++lane) {
        const auto& in = *static_cast<const MmaInput<Sum>*>(lanes[lane]->in);
        const uint32_t g = lane / 4, t = lane % 4;
        for (uint32_t j = 0; j < kParts; ++j) {
            for (uint32_t i = 0; i < 4; ++i) {
                a[g + 8 * (i % 2)][kParts * t + j + K / 2 * (i / 2)] = read(in.a[i], j);
            }
            for (uint32_t i = 0; i < 2; ++i) b[kParts * t + j + K / 2 * i][g] = read(in.b[i], j);
        }
    }
    for (uint32_t lane = 0; lane < 32; ++lane) {
        const auto& in = *static_cast<const MmaInput<Sum>*>(lanes[lane]->in);
        Sum out[4];
        for (uint32_t i = 0; i < 4; ++i) {
            const uint32_t row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
            Element sum = static_cast<Element>(in.c[i]);
            for (uint32_t k = 0; k < K; ++k) sum += a[row][k] * b[k][column];
            out[i] = static_cast<Sum>(sum);
        }
        std::memcpy(lanes[lane]->out, out, sizeof out);
    }
}

void combine_s8(const WarpCall* const* lanes, uint32_t) {
    // Sums wrap around, as in registers.
    multiply<32, uint32_t, int32_t>(lanes, [](uint32_t word, uint32_t part) {
        return static_cast<uint32_t>(static_cast<int8_t>(word >> (8 * part)));
    });
}

void combine_f16(const WarpCall* const* lanes, uint32_t) {
    multiply<16, double, float>(lanes, [](uint32_t word, uint32_t part) {
        return double{half_bits_to_float(static_cast<uint16_t>(word >> (16 * part)))};
    });
}

void combine_bf16(const WarpCall* const* lanes, uint32_t) {
    multiply<16, double, float>(lanes, [](uint32_t word, uint32_t part) {
        return double{std::bit_cast<float>(word >> (16 * part) << 16)};
    });
}

template <class Sum>
void multiply_in_warp(Sum* d, const uint32_t* a, const uint32_t* b, WarpCall::Combine combine,
                      std::source_location where) {
    const IgnoreAccesses ignore;
    MmaInput<Sum> in;
    std::memcpy(in.a, a, sizeof in.a);
    std::memcpy(in.b, b, sizeof in.b);
    std::memcpy(in.c, d, sizeof in.c);
    current_scheduler().collective(
        {.combine = combine, .mask = kAll, .in = &in, .out = d, .where = where});
}

template <uint32_t kMatrices, bool kIsTransposed>
void combine_load(const WarpCall* const* lanes, uint32_t) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
        uint32_t registers[kMatrices];
        for (uint32_t m = 0; m < kMatrices; ++m) {
            uint16_t halves[2];
            for (uint32_t j = 0; j < 2; ++j) {
                uint32_t row = lane / 4, column = lane % 4 * 2 + j;
                if (kIsTransposed) std::swap(row, column);
                const auto* source = static_cast<const std::byte*>(lanes[8 * m + row]->in);
                std::memcpy(&halves[j], source + 2 * column, 2);
            }
            registers[m] = halves[0] | static_cast<uint32_t>(halves[1]) << 16;
        }
        std::memcpy(lanes[lane]->out, registers, sizeof registers);
    }
}

}  // namespace

void mma_s8(int32_t* d, const uint32_t* a, const uint32_t* b, std::source_location where) {
    multiply_in_warp(d, a, b, combine_s8, where);
}

void mma_f16(float* d, const uint32_t* a, const uint32_t* b, std::source_location where) {
    multiply_in_warp(d, a, b, combine_f16, where);
}

void mma_bf16(float* d, const uint32_t* a, const uint32_t* b, std::source_location where) {
    multiply_in_warp(d, a, b, combine_bf16, where);
}

void load_matrix(uint32_t* registers, const void* row, uint32_t num_matrices, bool is_transposed,
                 std::source_location where) {
    const IgnoreAccesses ignore;
    if (place_thread() % 32 < 8 * num_matrices) check_shared(row, 16, 16);
    constexpr WarpCall::Combine kCombines[3][2] = {{combine_load<1, false>, combine_load<1, true>},
                                                   {combine_load<2, false>, combine_load<2, true>},
                                                   {combine_load<4, false>, combine_load<4, true>}};
    const auto combine = kCombines[num_matrices / 2][is_transposed ? 1 : 0];
    current_scheduler().collective(
        {.combine = combine, .mask = kAll, .in = row, .out = registers, .where = where});
}

}  // namespace hokku::emulation
