// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/matmul.h"

#include <algorithm>
#include <string>
#include <utility>

#include "backend/cpu/matmul_paths.h"
#include "base/round_up.h"

namespace hokku::cpu {

namespace {

GemvVector take_vector(BufferLayout& layout, size_t max_in) {
    const size_t bytes = gemv_part_bytes(max_in);
    GemvVector vector;
    vector.codes = layout.take<int8_t>(4 * bytes);
    if (!vector.codes) return vector;
    vector.scales = reinterpret_cast<float*>(vector.codes + bytes);
    vector.starts = reinterpret_cast<int32_t*>(vector.codes + 2 * bytes);
    vector.sums = reinterpret_cast<float*>(vector.codes + 3 * bytes);
    return vector;
}

GemmRows take_rows(BufferLayout& layout, size_t max_rows, size_t max_in) {
    GemmRows rows;
    rows.codes = layout.take<int8_t>(max_rows * max_in);
    rows.starts = layout.take<int32_t>(max_rows * max_in / 32);
    rows.half_starts = layout.take<int32_t>(max_rows * max_in / 16);
    rows.scales = layout.take<float>(max_rows * max_in / 32);
    rows.sums = layout.take<float>(max_rows * max_in / 32);
    return rows;
}

}  // namespace

void MatmulScratch::State::lay_out(BufferLayout& layout) {
    const size_t max_in = round_up<size_t>(limits.max_in, 256);
    const size_t max_fine_in = round_up<size_t>(limits.max_fine_in, 256);
    lanes = layout.take<LaneScratch>(limits.num_lanes);
    for (uint32_t i = 0; i < limits.num_lanes; ++i) {
        LaneScratch lane;
        lane.weight_panel = layout.take<float>(kFloatPanelRows * kFloatPanelDepth);
        if (limits.max_split_in > 0) lane.split_sums = layout.take<float>(kSplitRows * kSplitGroup);
        lane.row_copy = layout.take<uint8_t>(max_in * sizeof(float) + kRowOverread);
        for (GemvVector& vector : lane.vectors) vector = take_vector(layout, max_in);
        for (GemvVector& vector : lane.residuals) vector = take_vector(layout, max_fine_in);
        lane.panel.codes = layout.take<uint8_t>(kGemmDepth * kGemmGroup);
        lane.panel.scales = layout.take<float>((kGemmDepth / 16 + 2) * kGemmGroup);
        lane.panel.mins = layout.take<float>((kGemmDepth / 16 + 2) * kGemmGroup);
        if (lanes) lanes[i] = lane;
    }
    rows = take_rows(layout, size_t{limits.max_rows} + kGemmTile, max_in);
    residual = take_rows(layout, size_t{limits.max_rows} + kGemmTile, max_fine_in);
    split_rows = layout.take<uint16_t>(round_up<size_t>(limits.max_rows, kSplitTile) *
                                       split_row_values(limits.max_split_in));
}

MatmulScratch::MatmulScratch(std::unique_ptr<State> state) : state_(std::move(state)) {}
MatmulScratch::MatmulScratch(MatmulScratch&&) noexcept = default;
MatmulScratch& MatmulScratch::operator=(MatmulScratch&&) noexcept = default;
MatmulScratch::~MatmulScratch() = default;
size_t MatmulScratch::bytes() const {
    return state_->buffer.size_bytes();
}

Result<MatmulScratch> MatmulScratch::create(const MatmulLimits& limits) {
    auto state = std::make_unique<State>(limits);
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

void add_bias(const Product& product, const MatmulTarget& target, uint32_t begin, uint32_t end) {
    if (!target.bias) return;
    for (uint32_t row = 0; row < product.num_rows; ++row) {
        float* out = product.out(target) + row * target.out_stride;
        for (uint32_t i = begin; i < end; ++i) out[i] += target.bias[i];
    }
}

namespace {

/// The product over no values: the bias alone. This lane's share.
void multiply_nothing(const Product& product, const MatmulTarget& target) {
    const Lane::Range range = vector_share(product.lane, target.weight->rows);
    for (uint32_t row = 0; row < product.num_rows; ++row)
        std::fill_n(product.out(target) + row * target.out_stride + range.begin,
                    range.end - range.begin, 0.0f);
    add_bias(product, target, range.begin, range.end);
}

}  // namespace

Lane::Range vector_share(const Lane& lane, uint32_t num_weights) {
    return lane.share(num_weights, kDotWeights);
}

void matmul(const Lane& lane, const KernelTable& kernels, MatmulScratch& scratch,
            const MatmulInput& input, std::span<const MatmulTarget> targets, Precision precision) {
    MatmulScratch::State& state = scratch.state();
    const uint32_t num_rows = input.num_rows;
    const uint32_t num_vectors = std::min(input.num_vector_rows, num_rows);
    const Product product{lane, *kernels.matmul, state.lanes[lane.index],     input.x, input.stride,
                          0,    num_rows,        precision == Precision::fine};
    if (targets.front().weight->cols == 0) {  // A rank without values of its own.
        for (const MatmulTarget& target : targets) multiply_nothing(product, target);
        return;
    }
    bool has_gemm = false, has_split = false;
    for (const MatmulTarget& target : targets) {
        const auto type = static_cast<uint32_t>(target.weight->type);
        const bool is_gemm = product.kernels.gemm[type].run != nullptr;
        const bool is_split = product.kernels.split_gemm[type].run != nullptr;
        has_gemm |= is_gemm;
        has_split |= is_split;
        // What the kernels of the type leave.
        const uint32_t begin = product.kernels.gemv[type].run ? num_vectors : 0;
        const uint32_t end = is_gemm || is_split ? num_vectors : num_rows;
        if (begin < end) multiply_floats(product.rows(begin, end), target);
    }
    for (uint32_t first = 0; first < num_vectors; first += kMaxGemvVectors)
        multiply_vectors(product.rows(first, std::min(first + kMaxGemvVectors, num_vectors)), state,
                         targets);
    if (has_gemm && num_vectors < num_rows)
        multiply_matrices(product.rows(num_vectors, num_rows), state, targets);
    if (has_split && num_vectors < num_rows)
        multiply_split(product.rows(num_vectors, num_rows), state, targets);
}

}  // namespace hokku::cpu
