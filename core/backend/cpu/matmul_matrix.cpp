// SPDX-License-Identifier: Apache-2.0
// Many rows of x (prefill): they are quantised once, then groups of weight rows are unpacked and
// multiplied with all of them.
#include <algorithm>

#include "backend/cpu/matmul_paths.h"
#include "base/round_up.h"

namespace hokku::cpu {

namespace {

/// A group of kGemmGroup weight rows of one of the targets.
struct WeightGroup {
    const MatmulTarget* target = nullptr;
    const GemmKernel* kernel = nullptr;
    uint32_t first = 0, count = 0;
};

/// Group number `index` of all targets with GEMM kernels; target is null past the last.
WeightGroup find_group(const MatmulKernels& kernels, std::span<const MatmulTarget> targets,
                       uint32_t index) {
    for (const MatmulTarget& target : targets) {
        const GemmKernel& kernel = kernels.gemm[static_cast<uint32_t>(target.weight->type)];
        if (!kernel.run) continue;
        const uint32_t num_rows = target.weight->rows;
        const uint32_t num_groups = (num_rows + kGemmGroup - 1) / kGemmGroup;
        if (index < num_groups) {
            const uint32_t first = index * kGemmGroup;
            return {&target, &kernel, first, std::min(kGemmGroup, num_rows - first)};
        }
        index -= num_groups;
    }
    return {};
}

/// Values of a row that are unpacked at a time: equal parts of at most kGemmDepth.
size_t panel_depth(size_t n) {
    const size_t num_parts = ceil_div(n, kGemmDepth);
    return num_parts == 1
               ? n
               : std::min<size_t>(kGemmDepth, round_up<size_t>(ceil_div(n, num_parts), 256));
}

/// The panel in the scratch times all tiles of `rows`.
void multiply_panel(const Product& product, const WeightGroup& group, const GemmRows& rows,
                    size_t begin, size_t end, bool accumulate) {
    const MatmulTarget& target = *group.target;
    GemmCall call{.rows = &rows,
                  .panel = product.scratch.panel,
                  .begin = begin,
                  .end = end,
                  .num_weights = group.count,
                  .accumulate = accumulate,
                  .out_stride = target.out_stride};
    const uint32_t num_tiles = (product.num_rows + rows.tile - 1) / rows.tile;
    for (uint32_t tile = 0; tile < num_tiles; ++tile) {
        call.tile_index = tile;
        call.out = product.out(target) + size_t{tile} * rows.tile * target.out_stride + group.first;
        group.kernel->run(call);
    }
}

void multiply_group(const Product& product, const WeightGroup& group, const GemmRows& rows,
                    const GemmRows& residual) {
    const WeightMatrix& weight = *group.target->weight;
    const size_t depth = panel_depth(weight.cols);
    for (size_t begin = 0; begin < weight.cols; begin += depth) {
        const size_t end = std::min<size_t>(begin + depth, weight.cols);
        group.kernel->unpack({.weights = row_of(weight, group.first),
                              .row_stride = weight.row_stride,
                              .num_rows = group.count,
                              .begin = begin,
                              .end = end,
                              .is_signed = product.kernels.has_signed_panels,
                              .panel = product.scratch.panel});
        multiply_panel(product, group, rows, begin, end, begin > 0);
        if (product.is_fine) multiply_panel(product, group, residual, begin, end, true);
    }
    add_bias(product, *group.target, group.first, group.first + group.count);
}

}  // namespace

// All lanes quantise them together, then take groups of weight rows in turn.
void multiply_matrices(const Product& product, MatmulScratch::State& state,
                       std::span<const MatmulTarget> targets) {
    const Lane& lane = product.lane;
    const uint32_t tile_count = ceil_div(product.num_rows, product.kernels.max_gemm_tile);
    const uint32_t fixed_tile = product.kernels.gemm_tile;
    GemmRows rows = state.rows, residual = state.residual;
    for (GemmRows* part : {&rows, &residual}) {
        part->tile = fixed_tile ? fixed_tile : (product.num_rows + tile_count - 1) / tile_count;
        part->num_rows = product.num_rows;
        part->n = targets.front().weight->cols;
    }
    const Lane::Range tiles = lane.share((product.num_rows + rows.tile - 1) / rows.tile);
    for (uint32_t tile = tiles.begin; tile < tiles.end; ++tile) {
        product.kernels.pack_tile(product.x, product.x_stride, tile, rows,
                                  product.is_fine ? &residual : nullptr);
    }
    lane.barrier();
    std::atomic<uint32_t>& next = next_group(product, state);
    if (product.kernels.begin_gemm) product.kernels.begin_gemm();
    while (true) {
        const uint32_t index = next.fetch_add(1, std::memory_order_relaxed);
        const WeightGroup group = find_group(product.kernels, targets, index);
        if (!group.target) break;
        multiply_group(product, group, rows, residual);
    }
    if (product.kernels.end_gemm) product.kernels.end_gemm();
}

}  // namespace hokku::cpu
