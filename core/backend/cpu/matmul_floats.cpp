// SPDX-License-Identifier: Apache-2.0
// The path of every weight type, and the only one of the reference kernels: weights are dequantised
// exactly, a panel at a time, and multiplied in float32.
#include <algorithm>

#include "backend/cpu/matmul_paths.h"
#include "backend/dequantize.h"

namespace hokku::cpu {

namespace {

/// Rows of x that pass a panel together: a block of them over kFloatPanelDepth values and the panel
/// fit the L2 cache. A multiple of what the kernels keep in registers.
constexpr uint32_t kBlockRows = 48;

/// A panel: rows [first, first + count) and values [begin, begin + depth) of a weight.
struct Panel {
    uint32_t first = 0, count = 0;
    size_t begin = 0, depth = 0;
};

void dequantize_panel(const Product& product, const WeightMatrix& weight, const Panel& panel) {
    const auto decode = product.kernels.decode[static_cast<uint32_t>(weight.type)];
    // Values of a row begin at a whole block: depths are multiples of every block size.
    const size_t byte_offset = weight.bytes_of(panel.begin);
    for (uint32_t i = 0; i < panel.count; ++i) {
        float* row = product.scratch.weight_panel + i * panel.depth;
        const uint8_t* blocks = row_of(weight, panel.first + i) + byte_offset;
        if (decode) {
            decode(blocks, panel.depth, row);
        } else {
            dequantize_row(weight.type, reinterpret_cast<const std::byte*>(blocks), panel.depth,
                           row);
        }
    }
}

void multiply_panel(const Product& product, const MatmulTarget& target, const Panel& panel) {
    for (uint32_t row = 0; row < product.num_rows; row += kBlockRows) {
        DotCall call{.x = product.x + row * product.x_stride + panel.begin,
                     .x_stride = product.x_stride,
                     .num_rows = std::min(kBlockRows, product.num_rows - row),
                     .n = panel.depth,
                     .out_stride = target.out_stride,
                     .accumulate = panel.begin > 0};
        for (uint32_t i = 0; i < panel.count; i += kDotWeights) {
            call.weights = product.scratch.weight_panel + i * panel.depth;
            call.num_weights = std::min(kDotWeights, panel.count - i);
            call.out = product.out(target) + row * target.out_stride + panel.first + i;
            product.kernels.dot_rows(call);
        }
    }
}

}  // namespace

void multiply_floats(const Product& product, const MatmulTarget& target) {
    const WeightMatrix& weight = *target.weight;
    const Lane::Range range = vector_share(product.lane, weight.rows);
    constexpr auto kRows = static_cast<uint32_t>(kFloatPanelRows);
    for (uint32_t first = range.begin; first < range.end; first += kRows) {
        Panel panel;
        panel.first = first;
        panel.count = std::min(kRows, range.end - first);
        for (; panel.begin < weight.cols; panel.begin += panel.depth) {
            panel.depth = std::min<size_t>(kFloatPanelDepth, weight.cols - panel.begin);
            dequantize_panel(product, weight, panel);
            multiply_panel(product, target, panel);
        }
        add_bias(product, target, first, first + panel.count);
    }
}

}  // namespace hokku::cpu
