// SPDX-License-Identifier: Apache-2.0
// Products of the rows of prompts by cuBLAS. Weights of f32 are multiplied as they are. With halves
// and bfloats both sides have that type, so that rows become the sum of two of them: the products
// are exact to some twenty bits, and nothing overflows.
#include "plugin/gpu_forward.h"

namespace hokku::cuda {

bool GpuForward::is_by_library(const GpuMatrix& matrix) const {
    if (blas_ == nullptr) return false;
    if (!matrix.is_float) return products_ == PrefillProducts::reference;
    return matrix.type != TensorType::bf16 || gpu_.info().architecture >= 80;
}

void GpuForward::multiply_by_library(const GpuStep& step, const GpuMatrix& matrix,
                                     const QuantizedVectors& x, const Output& output) {
    const GpuBuffers& buffers = step.buffers;
    const auto rows = static_cast<int32_t>(matrix.rows), cols = static_cast<int32_t>(matrix.cols);
    const uint32_t x_stride = x.groups * kGroup;
    BlasProduct product{.w = matrix.data, .rows = rows, .cols = cols};
    const bool is_f32 = matrix.type == TensorType::f32, is_bf16 = matrix.type == TensorType::bf16;
    if (!matrix.is_float) {
        launcher_.launch(matrix.dequantize,
                         {.grid_x = matrix.rows,
                          .grid_y = ceil_div(matrix.planes.groups, 128),
                          .num_threads = 128},
                         DequantizeParams{matrix.planes, buffers.blas_weights});
        product.w = buffers.blas_weights;
    }
    // As the reference one half is enough, and all rows are one product.
    uint16_t* low = matrix.is_float ? buffers.blas_low : nullptr;
    if (!is_f32) {
        launcher_.launch(is_bf16 ? split_rows_bf16_ : split_rows_f16_,
                         {.grid_x = x.num_vectors, .num_threads = 256},
                         SplitRowsParams{x.values, buffers.blas_high, low, buffers.blas_scales,
                                         matrix.cols, x_stride});
    }
    product.in_type = is_f32 ? BlasType::f32 : is_bf16 ? BlasType::bf16 : BlasType::f16;
    // A sum with the residual stream needs what is finished first.
    float* y = output.residual != nullptr ? buffers.delta : output.out;
    const uint32_t stride = output.residual != nullptr ? matrix.rows : output.stride;
    product.y_stride = static_cast<int32_t>(stride);
    const uint32_t num_rows = matrix.is_float ? kBlasRows : x.num_vectors;
    product.vectors = static_cast<int32_t>(num_rows);
    for (uint32_t first = 0; first < x.num_vectors; first += num_rows) {
        product.y = y + size_t{first} * stride;
        product.x_stride = is_f32 ? static_cast<int32_t>(x_stride) : cols;
        product.factor = 1.0f;
        product.accumulate = false;
        product.x = x.values + size_t{first} * x_stride;
        if (!is_f32) product.x = buffers.blas_high + size_t{first} * matrix.cols;
        launcher_.multiply(*blas_, product);
        if (is_f32 || low == nullptr) continue;
        product.x = low + size_t{first} * matrix.cols;
        product.factor = is_bf16 ? 1.0f : 1.0f / kLowFactor;
        product.accumulate = true;
        launcher_.multiply(*blas_, product);
    }
    const float* scales = is_f32 || is_bf16 ? nullptr : buffers.blas_scales;
    if (scales == nullptr && matrix.bias == nullptr && output.residual == nullptr) return;
    launcher_.launch(
        finish_rows_,
        {.grid_x = ceil_div(matrix.rows, 1024), .grid_y = x.num_vectors, .num_threads = 256},
        FinishRowsParams{y, scales, matrix.bias, output.residual, output.out, matrix.rows, stride,
                         output.stride});
}

}  // namespace hokku::cuda
