// SPDX-License-Identifier: Apache-2.0
// A few rows of x (decode): the weights are read in place, once for all, by far the most of the
// time.
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

/// Weight rows in place; the rows of x are in the scratch vectors already.
void multiply_in_place(const Product& product, const MatmulTarget& target, const GemvKernel& gemv,
                       const Lane::Range& range) {
    const WeightMatrix& weight = *target.weight;
    GemvCall call{.row_stride = weight.row_stride,
                  .n = weight.cols,
                  .num_vectors = product.num_rows,
                  .vectors = product.scratch.vectors,
                  .residuals = product.is_fine ? product.scratch.residuals : nullptr,
                  .x = product.x,
                  .x_stride = product.x_stride,
                  .out_stride = target.out_stride,
                  .reads_ahead = product.kernels.reads_ahead};
    const uint32_t safe_end = std::clamp(num_safe_rows(weight), range.begin, range.end);
    if (safe_end > range.begin) {
        call.weights = row_of(weight, range.begin);
        call.num_rows = safe_end - range.begin;
        call.out = product.out(target) + range.begin;
        gemv.run(call);
    }
    call.weights = product.scratch.row_copy;
    call.num_rows = 1;
    for (uint32_t row = safe_end; row < range.end; ++row) {
        std::memcpy(product.scratch.row_copy, row_of(weight, row), weight.row_bytes());
        call.out = product.out(target) + row;
        gemv.run(call);
    }
    add_bias(product, target, range.begin, range.end);
}

void prepare_vectors(const Product& product, size_t n, const GemvKernel& gemv) {
    for (uint32_t row = 0; row < product.num_rows; ++row)
        product.kernels.prepare_vector(product.x + row * product.x_stride, n, gemv.layout,
                                       gemv.zero_point, product.scratch.vectors[row],
                                       product.is_fine ? &product.scratch.residuals[row] : nullptr);
}

}  // namespace

// x is quantised by each lane for itself, which costs less than a barrier.
void multiply_vectors(const Product& product, std::span<const MatmulTarget> targets) {
    const GemvKernel* prepared = nullptr;
    for (const MatmulTarget& target : targets) {
        const GemvKernel& gemv = product.kernels.gemv[static_cast<uint32_t>(target.weight->type)];
        if (!gemv.run) continue;
        const bool is_ready =
            prepared && prepared->layout == gemv.layout && prepared->zero_point == gemv.zero_point;
        if (!is_ready && gemv.layout != VectorLayout::floats) {
            prepare_vectors(product, target.weight->cols, gemv);
            prepared = &gemv;
        }
        multiply_in_place(product, target, gemv, vector_share(product.lane, target.weight->rows));
    }
}

namespace {

const GemvKernel& gemv_of(const KernelTable& kernels, const MatmulTarget& target) {
    return kernels.matmul->gemv[static_cast<uint32_t>(target.weight->type)];
}

Product product_of(const Lane& lane, const KernelTable& kernels, MatmulScratch& scratch,
                   const MatmulInput& input, Precision precision) {
    return {lane, *kernels.matmul, scratch.state().lanes[lane.index], input.x, input.stride,
            0,    input.num_rows,  precision == Precision::fine};
}

}  // namespace

ChosenRows::ChosenRows(const Lane& lane, const KernelTable& kernels, MatmulScratch& scratch,
                       const MatmulInput& input, const MatmulTarget& target, Precision precision)
    : lane_(lane),
      kernels_(kernels),
      scratch_(scratch),
      input_(input),
      target_(target),
      precision_(precision) {
    const GemvKernel& gemv = gemv_of(kernels, target);
    if (gemv.layout != VectorLayout::floats)
        prepare_vectors(product_of(lane, kernels, scratch, input, precision), target.weight->cols,
                        gemv);
}

void ChosenRows::multiply(Lane::Range rows) const {
    multiply_in_place(product_of(lane_, kernels_, scratch_, input_, precision_), target_,
                      gemv_of(kernels_, target_), rows);
}

}  // namespace hokku::cpu
