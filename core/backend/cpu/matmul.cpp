// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/matmul.h"

#include <algorithm>
#include <string>

#include "backend/cpu/matmul_kernels.h"
#include "backend/dequantize.h"
#include "base/aligned_buffer.h"

namespace hokku::cpu {

struct MatmulScratch::State {
    MatmulLimits limits;
    AlignedBuffer buffer;
    float* rows = nullptr;  ///< [num_lanes][kDotWeights][max_in]: dequantised weight rows.
    size_t lane_floats = 0;

    void lay_out(BufferLayout& layout) {
        lane_floats = (size_t{kDotWeights} * limits.max_in + 63) / 64 * 64;
        rows = layout.take<float>(limits.num_lanes * lane_floats);
    }
};

MatmulScratch::MatmulScratch(std::unique_ptr<State> state) : state_(std::move(state)) {}
MatmulScratch::MatmulScratch(MatmulScratch&&) noexcept = default;
MatmulScratch& MatmulScratch::operator=(MatmulScratch&&) noexcept = default;
MatmulScratch::~MatmulScratch() = default;
size_t MatmulScratch::bytes() const {
    return state_->buffer.size_bytes();
}

Result<MatmulScratch> MatmulScratch::create(const MatmulLimits& limits) {
    auto state = std::make_unique<State>();
    state->limits = limits;
    BufferLayout sizes;
    state->lay_out(sizes);
    state->buffer = AlignedBuffer(sizes.used_bytes());
    if (!state->buffer.data()) {
        return Error{ErrorCode::out_of_memory, "no memory for the scratch of matrix products",
                     "CPU backend", std::to_string(sizes.used_bytes()) + " bytes"};
    }
    BufferLayout layout(state->buffer.data());
    state->lay_out(layout);
    return MatmulScratch(std::move(state));
}

namespace {

/// Exact product of one target: this lane's weight rows, a few at a time.
void multiply_exact(const Lane& lane, const KernelTable& kernels, float* weight_rows,
                    const float* x, size_t x_stride, uint32_t num_rows,
                    const MatmulTarget& target) {
    const WeightMatrix& weight = *target.weight;
    const Lane::Range range = lane.share(weight.rows, kDotWeights);
    for (uint32_t first = range.begin; first < range.end; first += kDotWeights) {
        const uint32_t count = std::min(kDotWeights, range.end - first);
        for (uint32_t i = 0; i < count; ++i) {
            dequantize_row(weight.type, weight.data + (size_t{first} + i) * weight.row_bytes,
                           weight.cols, weight_rows + size_t{i} * weight.cols);
        }
        float* out = target.out + first;
        kernels.matmul->dot_rows({.weights = weight_rows,
                                  .num_weights = count,
                                  .x = x,
                                  .x_stride = x_stride,
                                  .num_rows = num_rows,
                                  .n = weight.cols,
                                  .out = out,
                                  .out_stride = target.out_stride});
        if (!target.bias) continue;
        for (uint32_t row = 0; row < num_rows; ++row) {
            for (uint32_t i = 0; i < count; ++i) {
                out[row * target.out_stride + i] += target.bias[first + i];
            }
        }
    }
}

}  // namespace

void matmul(const Lane& lane, const KernelTable& kernels, MatmulScratch& scratch, const float* x,
            size_t x_stride, uint32_t num_rows, std::span<const MatmulTarget> targets) {
    MatmulScratch::State& state = scratch.state();
    float* weight_rows = state.rows + lane.index * state.lane_floats;
    for (const MatmulTarget& target : targets) {
        multiply_exact(lane, kernels, weight_rows, x, x_stride, num_rows, target);
    }
}

}  // namespace hokku::cpu
