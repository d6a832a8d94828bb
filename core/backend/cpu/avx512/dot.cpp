// SPDX-License-Identifier: Apache-2.0
// The float32 path that every weight type has: decoders compiled for this instruction set, and
// products of a few decoded rows with all rows of x.
#include "backend/cpu/avx512/simd.h"
#include "backend/cpu/avx512/tables.h"
#include "backend/cpu/matmul_kernels.h"
#include "backend/dequantize_codebooks.h"
#include "gguf/tensor_type.h"

namespace hokku::cpu {

namespace {

/// kWeights weight rows times kRows rows of x.
template <size_t kWeights, size_t kRows>
void dot_tile(const float* w, const float* x, size_t x_stride, size_t n, float* out,
              size_t out_stride) {
    __m512 sums[kRows][kWeights];
    for (auto& row : sums) {
        for (__m512& sum : row) sum = _mm512_setzero_ps();
    }
    const auto step = [&](size_t i, __mmask16 lanes) HOKKU_LAMBDA {
        __m512 xs[kRows];
#pragma GCC unroll 8
        for (size_t r = 0; r < kRows; ++r) {
            xs[r] = _mm512_maskz_loadu_ps(lanes, x + r * x_stride + i);
        }
#pragma GCC unroll 8
        for (size_t k = 0; k < kWeights; ++k) {
            const __m512 weight = _mm512_maskz_loadu_ps(lanes, w + k * n + i);
#pragma GCC unroll 8
            for (size_t r = 0; r < kRows; ++r) {
                sums[r][k] = _mm512_fmadd_ps(weight, xs[r], sums[r][k]);
            }
        }
    };
    size_t i = 0;
    for (; i + 16 <= n; i += 16) step(i, 0xffff);
    if (i < n) step(i, first_lanes(n - i));
    for (size_t r = 0; r < kRows; ++r) {
        for (size_t k = 0; k < kWeights; ++k) {
            out[r * out_stride + k] = _mm512_reduce_add_ps(sums[r][k]);
        }
    }
}

template <size_t kWeights>
void dot_weights(const DotCall& call, size_t first) {
    constexpr uint32_t kRows = 3;
    const float* w = call.weights + first * call.n;
    uint32_t row = 0;
    for (; row + kRows <= call.num_rows; row += kRows) {
        dot_tile<kWeights, kRows>(w, call.x + row * call.x_stride, call.x_stride, call.n,
                                  call.out + row * call.out_stride + first, call.out_stride);
    }
    for (; row < call.num_rows; ++row) {
        dot_tile<kWeights, 1>(w, call.x + row * call.x_stride, call.x_stride, call.n,
                              call.out + row * call.out_stride + first, call.out_stride);
    }
}

void dot_rows(const DotCall& call) {
    if (call.num_weights == kDotWeights) return dot_weights<kDotWeights>(call, 0);
    for (size_t first = 0; first < call.num_weights; ++first) dot_weights<1>(call, first);
}

template <class Block>
void decode_row(const uint8_t* src, size_t n, float* dst) {
    for (size_t i = 0; i < n; i += Block::kValues, src += Block::kBytes) {
        Block::decode(src, dst + i);
    }
}

}  // namespace

void fill_avx512_dot(MatmulKernels& table) {
    table.dot_rows = dot_rows;
    const auto set = [&table](TensorType type, MatmulKernels::DecodeRow decode) {
        table.decode[static_cast<uint32_t>(type)] = decode;
    };
    set(TensorType::q2_k, decode_row<blocks::Q2_K>);
    set(TensorType::iq1_m, decode_row<blocks::IQ1_M>);
    set(TensorType::iq1_s, decode_row<blocks::IQ1_S>);
    set(TensorType::iq2_s, decode_row<blocks::IQ2_S>);
    set(TensorType::iq2_xs, decode_row<blocks::IQ2_XS>);
    set(TensorType::iq2_xxs, decode_row<blocks::IQ2_XXS>);
    set(TensorType::iq3_s, decode_row<blocks::IQ3_S>);
    set(TensorType::iq3_xxs, decode_row<blocks::IQ3_XXS>);
    set(TensorType::nvfp4, decode_row<blocks::NVFP4>);
    set(TensorType::q1_0, decode_row<blocks::Q1_0>);
    set(TensorType::q2_0, decode_row<blocks::Q2_0>);
    set(TensorType::tq1_0, decode_row<blocks::TQ1_0>);
    set(TensorType::tq2_0, decode_row<blocks::TQ2_0>);
}

}  // namespace hokku::cpu
