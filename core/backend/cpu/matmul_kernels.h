// SPDX-License-Identifier: Apache-2.0
// MatmulKernels: the inner loops behind matmul() for one instruction set. Plain data, so that
// kernel files need no other header of ours.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hokku::cpu {

/// A few weight rows as float32 against all rows of x.
struct DotCall {
    const float* weights = nullptr;  ///< [num_weights][n], contiguous.
    uint32_t num_weights = 0;        ///< 1..kDotWeights
    const float* x = nullptr;        ///< [num_rows][n]
    size_t x_stride = 0;
    uint32_t num_rows = 0;
    size_t n = 0;
    float* out = nullptr;  ///< out[row * out_stride + weight]
    size_t out_stride = 0;
};
inline constexpr uint32_t kDotWeights = 4;

struct MatmulKernels {
    /// The path of every weight type: rows are dequantised exactly, then multiplied.
    void (*dot_rows)(const DotCall& call);
};

}  // namespace hokku::cpu
