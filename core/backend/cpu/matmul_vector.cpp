// SPDX-License-Identifier: Apache-2.0
// One row of x (decode): the weights are read in place, once, by far the most of the time.
#include <algorithm>
#include <cstring>

#include "backend/cpu/matmul_paths.h"

namespace hokku::cpu {

namespace {

/// Rows from the front that a kernel may read without passing the end of the last row.
uint32_t num_safe_rows(const WeightMatrix& weight) {
    const size_t unsafe = (kRowOverread + weight.row_stride - 1) / weight.row_stride;
    return weight.rows - static_cast<uint32_t>(std::min<size_t>(unsafe, weight.rows));
}

/// This lane's weight rows in place, one row of x, which is in the scratch vector already.
void multiply_in_place(const Product& product, const MatmulTarget& target, const GemvKernel& gemv) {
    const WeightMatrix& weight = *target.weight;
    const Lane::Range range = vector_share(product.lane, weight.rows);
    GemvCall call{.row_stride = weight.row_stride,
                  .n = weight.cols,
                  .vector = &product.scratch.vector,
                  .residual = product.is_fine ? &product.scratch.residual : nullptr,
                  .x = product.x};
    const uint32_t safe_end = std::clamp(num_safe_rows(weight), range.begin, range.end);
    if (safe_end > range.begin) {
        call.weights = row_of(weight, range.begin);
        call.num_rows = safe_end - range.begin;
        call.out = target.out + range.begin;
        gemv.run(call);
    }
    call.weights = product.scratch.row_copy;
    call.num_rows = 1;
    for (uint32_t row = safe_end; row < range.end; ++row) {
        std::memcpy(product.scratch.row_copy, row_of(weight, row), weight.row_bytes());
        call.out = target.out + row;
        gemv.run(call);
    }
    add_bias(product, target, range.begin, range.end);
}

}  // namespace

// x is quantised by each lane for itself, which costs less than a barrier.
void multiply_vector(const Product& product, std::span<const MatmulTarget> targets) {
    const GemvKernel* prepared = nullptr;
    for (const MatmulTarget& target : targets) {
        const GemvKernel& gemv = product.kernels.gemv[static_cast<uint32_t>(target.weight->type)];
        if (!gemv.run) {
            multiply_floats(product, target);
            continue;
        }
        const bool is_ready =
            prepared && prepared->layout == gemv.layout && prepared->zero_point == gemv.zero_point;
        if (!is_ready && gemv.layout != VectorLayout::floats) {
            product.kernels.prepare_vector(product.x, target.weight->cols, gemv.layout,
                                           gemv.zero_point, product.scratch.vector,
                                           product.is_fine ? &product.scratch.residual : nullptr);
            prepared = &gemv;
        }
        multiply_in_place(product, target, gemv);
    }
}

}  // namespace hokku::cpu
