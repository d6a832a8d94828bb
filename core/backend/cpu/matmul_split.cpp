// SPDX-License-Identifier: Apache-2.0
// Many rows of x (prefill) times weights stored as floats, where a table multiplies them as sums of
// bfloat16: x is split once, then groups of weight rows are unpacked and multiplied with all of it.
#include <algorithm>

#include "backend/cpu/matmul_paths.h"
#include "base/round_up.h"

namespace hokku::cpu {

namespace {

/// A group of kSplitGroup weight rows of one of the targets.
struct WeightGroup {
    const MatmulTarget* target = nullptr;
    const SplitKernel* kernel = nullptr;
    uint32_t first = 0, count = 0;
};

/// Group number `index` of all targets with such kernels; target is null past the last.
WeightGroup find_group(const MatmulKernels& kernels, std::span<const MatmulTarget> targets,
                       uint32_t index) {
    for (const MatmulTarget& target : targets) {
        const SplitKernel& kernel = kernels.split_gemm[static_cast<uint32_t>(target.weight->type)];
        if (!kernel.run) continue;
        const uint32_t num_rows = target.weight->rows;
        const uint32_t num_groups = ceil_div(num_rows, kSplitGroup);
        if (index < num_groups) {
            const uint32_t first = index * kSplitGroup;
            return {&target, &kernel, first, std::min(kSplitGroup, num_rows - first)};
        }
        index -= num_groups;
    }
    return {};
}

void multiply_group(const Product& product, const WeightGroup& group, const uint16_t* x) {
    const MatmulTarget& target = *group.target;
    const WeightMatrix& weight = *target.weight;
    constexpr uint32_t kBlockRows = 2 * kSplitTile;
    const size_t tile_values = split_row_values(weight.cols) * kSplitTile;
    auto* panel = reinterpret_cast<uint16_t*>(product.scratch.weight_panel);
    for (size_t begin = 0; begin < weight.cols; begin += kSplitDepth) {
        const size_t end = std::min<size_t>(begin + kSplitDepth, weight.cols);
        group.kernel->unpack({.weights = row_of(weight, group.first),
                              .row_stride = weight.row_stride,
                              .num_rows = group.count,
                              .begin = begin,
                              .end = end,
                              .panel = panel});
        SplitCall call{.x_tile_stride = tile_values,
                       .panel = panel,
                       .num_steps = ceil_div<size_t>(end - begin, kSplitStep),
                       .num_weights = group.count,
                       .accumulate = begin > 0,
                       .out_stride = target.out_stride};
        for (uint32_t row = 0; row < product.num_rows; row += kBlockRows) {
            call.x = x + row / kSplitTile * tile_values + split_row_values(begin) * kSplitTile;
            call.num_rows = std::min(kBlockRows, product.num_rows - row);
            call.out = product.out(target) + row * target.out_stride + group.first;
            group.kernel->run(call);
        }
    }
    add_bias(product, target, group.first, group.first + group.count);
}

}  // namespace

// All lanes split x together, then take groups of weight rows in turn.
void multiply_split(const Product& product, MatmulScratch::State& state,
                    std::span<const MatmulTarget> targets) {
    const Lane& lane = product.lane;
    const size_t n = targets.front().weight->cols;
    const size_t tile_values = split_row_values(n) * kSplitTile;
    const Lane::Range tiles = lane.share(ceil_div(product.num_rows, kSplitTile));
    for (uint32_t tile = tiles.begin; tile < tiles.end; ++tile) {
        const uint32_t first = tile * kSplitTile;
        product.kernels.pack_split_rows(product.x + first * product.x_stride, product.x_stride,
                                        std::min(kSplitTile, product.num_rows - first), n,
                                        state.split_rows + tile * tile_values);
    }
    lane.barrier();
    std::atomic<uint32_t>& next = next_group(product, state);
    if (product.kernels.begin_split_gemm) product.kernels.begin_split_gemm();
    while (true) {
        const uint32_t index = next.fetch_add(1, std::memory_order_relaxed);
        const WeightGroup group = find_group(product.kernels, targets, index);
        if (!group.target) break;
        multiply_group(product, group, state.split_rows);
    }
    if (product.kernels.end_split_gemm) product.kernels.end_split_gemm();
}

}  // namespace hokku::cpu
