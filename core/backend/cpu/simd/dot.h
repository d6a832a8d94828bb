// SPDX-License-Identifier: Apache-2.0
// The float32 path that every weight type has: decoders compiled for the instruction set, and
// products of a few decoded rows with all rows of x. Internal linkage on purpose.
#pragma once

#include "backend/cpu/matmul_kernels.h"
#include "backend/cpu/simd/for_lanes.h"
#include "backend/dequantize_codebooks.h"
#include "gguf/tensor_type.h"

namespace hokku::cpu {
namespace {

// Weight rows and rows of x whose sums are in registers together.
constexpr size_t kTileWeights = kNumRegisters == 32 ? 8 : 4, kTileRows = 3;

/// kWeights weight rows times kRows rows of x. All loops over `sums` are unrolled: one that is not
/// would keep them in memory.
template <size_t kWeights, size_t kRows>
void dot_tile(const DotCall& call, size_t first_weight, size_t first_row) {
    const size_t n = call.n, x_stride = call.x_stride;
    const float* w = call.weights + first_weight * n;
    const float* x = call.x + first_row * x_stride;
    Floats sums[kRows][kWeights];
#pragma GCC unroll 8
    for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
        for (size_t k = 0; k < kWeights; ++k) sums[r][k] = zero();
    }
    for_lanes(n, [&](size_t i, auto lanes) HOKKU_LAMBDA {
        Floats xs[kRows];
#pragma GCC unroll 8
        for (size_t r = 0; r < kRows; ++r) xs[r] = load(x + r * x_stride + i, lanes);
#pragma GCC unroll 8
        for (size_t k = 0; k < kWeights; ++k) {
            const Floats weight = load(w + k * n + i, lanes);
#pragma GCC unroll 8
            for (size_t r = 0; r < kRows; ++r) sums[r][k] = mul_add(weight, xs[r], sums[r][k]);
        }
    });
    float* out = call.out + first_row * call.out_stride + first_weight;
#pragma GCC unroll 8
    for (size_t r = 0; r < kRows; ++r, out += call.out_stride) {
#pragma GCC unroll 8
        for (size_t k = 0; k < kWeights; ++k) {
            out[k] = sum_of_lanes(sums[r][k]) + (call.accumulate ? out[k] : 0.0f);
        }
    }
}

template <size_t kWeights>
void dot_weights(const DotCall& call, size_t first) {
    size_t row = 0;
    for (; row + kTileRows <= call.num_rows; row += kTileRows) {
        dot_tile<kWeights, kTileRows>(call, first, row);
    }
    for (; row < call.num_rows; ++row) dot_tile<kWeights, 1>(call, first, row);
}

void dot_rows(const DotCall& call) {
    size_t first = 0;
    for (; first + kTileWeights <= call.num_weights; first += kTileWeights) {
        dot_weights<kTileWeights>(call, first);
    }
    for (; first < call.num_weights; ++first) dot_weights<1>(call, first);
}

template <class Block>
void decode_row(const uint8_t* src, size_t n, float* dst) {
    for (size_t i = 0; i < n; i += Block::kValues, src += Block::kBytes) {
        Block::decode(src, dst + i);
    }
}

void fill_dot(MatmulKernels& table) {
    table.dot_rows = dot_rows;
    const auto set = [&table](TensorType type, MatmulKernels::DecodeRow decode) {
        table.decode[static_cast<uint32_t>(type)] = decode;
    };
    set(TensorType::f16, decode_row<blocks::F16>);
    set(TensorType::bf16, decode_row<blocks::BF16>);
    set(TensorType::q4_0, decode_row<blocks::Q4_0>);
    set(TensorType::q4_1, decode_row<blocks::Q4_1>);
    set(TensorType::q5_0, decode_row<blocks::Q5_0>);
    set(TensorType::q5_1, decode_row<blocks::Q5_1>);
    set(TensorType::q8_0, decode_row<blocks::Q8_0>);
    set(TensorType::q2_k, decode_row<blocks::Q2_K>);
    set(TensorType::q3_k, decode_row<blocks::Q3_K>);
    set(TensorType::q4_k, decode_row<blocks::Q4_K>);
    set(TensorType::q5_k, decode_row<blocks::Q5_K>);
    set(TensorType::q6_k, decode_row<blocks::Q6_K>);
    set(TensorType::iq1_m, decode_row<blocks::IQ1_M>);
    set(TensorType::iq1_s, decode_row<blocks::IQ1_S>);
    set(TensorType::iq2_s, decode_row<blocks::IQ2_S>);
    set(TensorType::iq2_xs, decode_row<blocks::IQ2_XS>);
    set(TensorType::iq2_xxs, decode_row<blocks::IQ2_XXS>);
    set(TensorType::iq3_s, decode_row<blocks::IQ3_S>);
    set(TensorType::iq3_xxs, decode_row<blocks::IQ3_XXS>);
    set(TensorType::iq4_nl, decode_row<blocks::IQ4_NL>);
    set(TensorType::iq4_xs, decode_row<blocks::IQ4_XS>);
    set(TensorType::mxfp4, decode_row<blocks::MXFP4>);
    set(TensorType::nvfp4, decode_row<blocks::NVFP4>);
    set(TensorType::q1_0, decode_row<blocks::Q1_0>);
    set(TensorType::q2_0, decode_row<blocks::Q2_0>);
    set(TensorType::tq1_0, decode_row<blocks::TQ1_0>);
    set(TensorType::tq2_0, decode_row<blocks::TQ2_0>);
}

}  // namespace
}  // namespace hokku::cpu
