// SPDX-License-Identifier: Apache-2.0
// Many rows of x (prefill) times weights stored as floats, where a table multiplies them as sums of
// bfloat16: x is split once, then groups of weight rows are unpacked and multiplied with all of it.
#include <algorithm>

#include "backend/cpu/matmul_paths.h"
#include "base/round_up.h"

namespace hokku::cpu {

namespace {

static_assert(sizeof(float) * kFloatPanelRows * kFloatPanelDepth >=
              sizeof(uint16_t) * 3 * kSplitGroup * kSplitDepth);

/// Weight rows of one of the targets.
struct WeightGroup {
    const MatmulTarget* target = nullptr;
    const SplitKernel* kernel = nullptr;
    uint32_t first = 0, count = 0;
};

/// Weight rows of a group: every lane gets two or more.
uint32_t group_rows(const Product& product, std::span<const MatmulTarget> targets) {
    uint32_t num_rows = 0;
    for (const MatmulTarget& target : targets)
        if (product.kernels.split_gemm[static_cast<uint32_t>(target.weight->type)].run)
            num_rows += target.weight->rows;
    constexpr uint32_t kFewest = 2 * kSplitTile;
    const uint32_t share = round_up(ceil_div(num_rows, 2 * product.lane.count), kFewest);
    return std::clamp(share, kFewest, kSplitGroup);
}

/// Group number `index` of all targets with such kernels; target is null past the last.
WeightGroup find_group(const MatmulKernels& kernels, std::span<const MatmulTarget> targets,
                       uint32_t group_rows, uint32_t index) {
    for (const MatmulTarget& target : targets) {
        const SplitKernel& kernel = kernels.split_gemm[static_cast<uint32_t>(target.weight->type)];
        if (!kernel.run) continue;
        const uint32_t num_rows = target.weight->rows;
        const uint32_t num_groups = ceil_div(num_rows, group_rows);
        if (index < num_groups) {
            const uint32_t first = index * group_rows;
            return {&target, &kernel, first, std::min(group_rows, num_rows - first)};
        }
        index -= num_groups;
    }
    return {};
}

/// All rows of x in parts, first kSplitDepth values of all, then the next ones: what meets a panel
/// lies together.
struct SplitRows {
    uint16_t* values;
    uint32_t num_tiles;

    /// The tile with `row`, values from `begin`, a multiple of kSplitDepth, to `end`.
    [[nodiscard]] uint16_t* at(size_t row, size_t begin, size_t end) const {
        return values + split_row_values(begin) * kSplitTile * num_tiles +
               split_row_values(end - begin) * (row / kSplitTile * kSplitTile);
    }
};

/// Rows [first_row, first_row + num_rows) of x times a group.
void multiply_group(const Product& product, const WeightGroup& group, const SplitRows& x,
                    uint32_t first_row, uint32_t num_rows) {
    const MatmulTarget& target = *group.target;
    const WeightMatrix& weight = *target.weight;
    constexpr uint32_t kBlockRows = 2 * kSplitTile;
    auto* panel = reinterpret_cast<uint16_t*>(product.scratch.weight_panel);
    for (size_t begin = 0; begin < weight.cols; begin += kSplitDepth) {
        const size_t end = std::min<size_t>(begin + kSplitDepth, weight.cols);
        group.kernel->unpack({.weights = row_of(weight, group.first),
                              .row_stride = weight.row_stride,
                              .num_rows = group.count,
                              .begin = begin,
                              .end = end,
                              .panel = panel});
        SplitCall call{.x_tile_stride = split_row_values(end - begin) * kSplitTile,
                       .panel = panel,
                       .num_steps = ceil_div<size_t>(end - begin, kSplitStep),
                       .num_weights = group.count,
                       .is_first = begin == 0,
                       .is_last = end == weight.cols,
                       .sums = product.scratch.split_sums,
                       .out_stride = target.out_stride};
        for (uint32_t row = first_row; row < first_row + num_rows; row += kBlockRows) {
            call.x = x.at(row, begin, end);
            call.num_rows = std::min(kBlockRows, first_row + num_rows - row);
            call.out = product.out(target) + row * target.out_stride + group.first;
            group.kernel->run(call);
            call.sums += kBlockRows * kSplitGroup;
        }
    }
}

}  // namespace

// All lanes split x together, then take groups of weight rows in turn.
void multiply_split(const Product& product, MatmulScratch::State& state,
                    std::span<const MatmulTarget> targets) {
    const Lane& lane = product.lane;
    const size_t n = targets.front().weight->cols;
    const SplitRows x{state.split_rows, ceil_div(product.num_rows, kSplitTile)};
    const Lane::Range tiles = lane.share(x.num_tiles);
    for (size_t begin = 0; begin < n; begin += kSplitDepth) {
        const size_t end = std::min<size_t>(begin + kSplitDepth, n);
        for (uint32_t tile = tiles.begin; tile < tiles.end; ++tile) {
            const uint32_t row = tile * kSplitTile;
            product.kernels.pack_split_rows(
                product.x + row * product.x_stride + begin, product.x_stride,
                std::min(kSplitTile, product.num_rows - row), end - begin, x.at(row, begin, end));
        }
    }
    lane.barrier();
    const uint32_t num_rows = group_rows(product, targets);
    std::atomic<uint32_t>& next = next_group(product, state);
    if (product.kernels.begin_split_gemm) product.kernels.begin_split_gemm();
    while (true) {
        const uint32_t index = next.fetch_add(1, std::memory_order_relaxed);
        const WeightGroup group = find_group(product.kernels, targets, num_rows, index);
        if (!group.target) break;
        for (uint32_t row = 0; row < product.num_rows; row += kSplitRows)
            multiply_group(product, group, x, row, std::min(kSplitRows, product.num_rows - row));
        add_bias(product, *group.target, group.first, group.first + group.count);
    }
    if (product.kernels.end_split_gemm) product.kernels.end_split_gemm();
}

}  // namespace hokku::cpu
