// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/matmul.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "backend/cpu/matmul_kernels.h"
#include "backend/dequantize.h"
#include "base/aligned_buffer.h"

namespace hokku::cpu {

namespace {

/// Memory that one lane has for itself.
struct LaneScratch {
    float* weight_rows = nullptr;  ///< [kDotWeights][max_in]: dequantised weight rows.
    uint8_t* row_copy = nullptr;   ///< One weight row in blocks and kRowOverread bytes.
    GemvVector vector, residual;
    GemmPanel panel;
    uint64_t num_gemms = 0;  ///< Begun by this lane.
};

constexpr size_t round_up(size_t n, size_t unit) {
    return (n + unit - 1) / unit * unit;
}

}  // namespace

struct MatmulScratch::State {
    MatmulLimits limits;
    AlignedBuffer buffer;
    LaneScratch* lanes = nullptr;  ///< Of kLaneStride bytes each.
    GemmRows rows, residual;
    /// Next group of weight rows to hand out. Successive products use them in turn: a lane that
    /// passes the barrier of product k + 1 knows that no lane takes from k any more.
    std::atomic<uint32_t> next_group[2] = {0, 0};

    void lay_out(BufferLayout& layout);
};

namespace {

GemvVector take_vector(BufferLayout& layout, size_t max_in) {
    const size_t bytes = gemv_part_bytes(max_in), count = bytes / sizeof(float);
    GemvVector vector;
    vector.codes = layout.take<int8_t>(bytes);
    vector.scales = layout.take<float>(count);
    vector.starts = layout.take<int32_t>(count);
    vector.sums = layout.take<float>(count);
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
    const size_t max_in = round_up(limits.max_in, 256);
    const size_t max_fine_in = round_up(limits.max_fine_in, 256);
    lanes = layout.take<LaneScratch>(limits.num_lanes);
    for (uint32_t i = 0; i < limits.num_lanes; ++i) {
        LaneScratch lane;
        lane.weight_rows = layout.take<float>(kDotWeights * max_in);
        lane.row_copy = layout.take<uint8_t>(max_in * sizeof(float) + kRowOverread);
        lane.vector = take_vector(layout, max_in);
        lane.residual = take_vector(layout, max_fine_in);
        lane.panel.codes = layout.take<uint8_t>(kGemmDepth * kGemmGroup);
        lane.panel.scales = layout.take<float>((kGemmDepth / 16 + 2) * kGemmGroup);
        lane.panel.mins = layout.take<float>((kGemmDepth / 32 + 2) * kGemmGroup);
        if (lanes) lanes[i] = lane;
    }
    rows = take_rows(layout, size_t{limits.max_rows} + kGemmTile, max_in);
    residual = take_rows(layout, size_t{limits.max_rows} + kGemmTile, max_fine_in);
}

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

/// What a call of matmul() is about, for the functions below.
struct Product {
    const Lane& lane;
    const MatmulKernels& kernels;
    LaneScratch& scratch;
    const float* x;
    size_t x_stride;
    uint32_t num_rows;
    bool is_fine;
};

void add_bias(const Product& product, const MatmulTarget& target, uint32_t begin, uint32_t end) {
    if (!target.bias) return;
    for (uint32_t row = 0; row < product.num_rows; ++row) {
        float* out = target.out + row * target.out_stride;
        for (uint32_t i = begin; i < end; ++i) out[i] += target.bias[i];
    }
}

const uint8_t* row_of(const WeightMatrix& weight, uint32_t row) {
    return reinterpret_cast<const uint8_t*>(weight.data) + size_t{row} * weight.row_bytes;
}

/// This lane's weight rows, dequantised a few at a time.
void multiply_floats(const Product& product, const MatmulTarget& target) {
    const WeightMatrix& weight = *target.weight;
    const auto decode = product.kernels.decode[static_cast<uint32_t>(weight.type)];
    const Lane::Range range = vector_share(product.lane, weight.rows);
    for (uint32_t first = range.begin; first < range.end; first += kDotWeights) {
        const uint32_t count = std::min(kDotWeights, range.end - first);
        for (uint32_t i = 0; i < count; ++i) {
            float* row = product.scratch.weight_rows + size_t{i} * weight.cols;
            const uint8_t* blocks = row_of(weight, first + i);
            if (decode) {
                decode(blocks, weight.cols, row);
            } else {
                dequantize_row(weight.type, reinterpret_cast<const std::byte*>(blocks), weight.cols,
                               row);
            }
        }
        product.kernels.dot_rows({.weights = product.scratch.weight_rows,
                                  .num_weights = count,
                                  .x = product.x,
                                  .x_stride = product.x_stride,
                                  .num_rows = product.num_rows,
                                  .n = weight.cols,
                                  .out = target.out + first,
                                  .out_stride = target.out_stride});
        add_bias(product, target, first, first + count);
    }
}

/// Rows from the front that a kernel may read without passing the end of the tensor.
uint32_t num_safe_rows(const WeightMatrix& weight) {
    const size_t unsafe = (kRowOverread + weight.row_bytes - 1) / weight.row_bytes;
    return weight.rows - static_cast<uint32_t>(std::min<size_t>(unsafe, weight.rows));
}

/// This lane's weight rows in place, one row of x, which is in the scratch vector already.
void multiply_vector(const Product& product, const MatmulTarget& target, const GemvKernel& gemv) {
    const WeightMatrix& weight = *target.weight;
    const Lane::Range range = vector_share(product.lane, weight.rows);
    GemvCall call{.row_bytes = weight.row_bytes,
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
        std::memcpy(product.scratch.row_copy, row_of(weight, row), weight.row_bytes);
        call.out = target.out + row;
        gemv.run(call);
    }
    add_bias(product, target, range.begin, range.end);
}

/// One row of x: quantised by each lane for itself, which costs less than a barrier.
void multiply_vectors(const Product& product, std::span<const MatmulTarget> targets) {
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
        multiply_vector(product, target, gemv);
    }
}

/// Rows of x up to which passing over the weights once for each is faster than dequantising them
/// (estimated: a scalar decoder takes about as long as eight products in place).
constexpr uint32_t kMaxGemvRows = 8;

/// A few rows of x and a type without GEMM kernel.
void multiply_each_row(const Product& product, MatmulTarget target) {
    Product row = product;
    row.num_rows = 1;
    for (uint32_t i = 0; i < product.num_rows; ++i) {
        multiply_vectors(row, {&target, 1});
        row.x += product.x_stride;
        target.out += target.out_stride;
    }
}

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
    const size_t num_parts = (n + kGemmDepth - 1) / kGemmDepth;
    return num_parts == 1
               ? n
               : std::min<size_t>(kGemmDepth, round_up((n + num_parts - 1) / num_parts, 256));
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
        call.out = target.out + size_t{tile} * rows.tile * target.out_stride + group.first;
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
                              .row_bytes = weight.row_bytes,
                              .num_rows = group.count,
                              .begin = begin,
                              .end = end,
                              .panel = product.scratch.panel});
        multiply_panel(product, group, rows, begin, end, begin > 0);
        if (product.is_fine) multiply_panel(product, group, residual, begin, end, true);
    }
    add_bias(product, *group.target, group.first, group.first + group.count);
}

/// Several rows of x: all lanes quantise them together, then take groups of weight rows in turn.
void multiply_matrices(const Product& product, MatmulScratch::State& state,
                       std::span<const MatmulTarget> targets) {
    const Lane& lane = product.lane;
    const uint32_t tile_count = (product.num_rows + kGemmTile - 1) / kGemmTile;
    GemmRows rows = state.rows, residual = state.residual;
    for (GemmRows* part : {&rows, &residual}) {
        part->tile = (product.num_rows + tile_count - 1) / tile_count;
        part->num_rows = product.num_rows;
        part->n = targets.front().weight->cols;
    }
    const Lane::Range tiles = lane.share((product.num_rows + rows.tile - 1) / rows.tile);
    for (uint32_t tile = tiles.begin; tile < tiles.end; ++tile) {
        product.kernels.pack_tile(product.x, product.x_stride, tile, rows,
                                  product.is_fine ? &residual : nullptr);
    }
    lane.barrier();
    const uint64_t turn = product.scratch.num_gemms++ % 2;
    if (lane.index == 0) state.next_group[1 - turn].store(0, std::memory_order_relaxed);
    std::atomic<uint32_t>& next = state.next_group[turn];
    while (true) {
        const uint32_t index = next.fetch_add(1, std::memory_order_relaxed);
        const WeightGroup group = find_group(product.kernels, targets, index);
        if (!group.target) break;
        multiply_group(product, group, rows, residual);
    }
}

}  // namespace

Lane::Range vector_share(const Lane& lane, uint32_t num_weights) {
    return lane.share(num_weights, kDotWeights);
}

void matmul(const Lane& lane, const KernelTable& kernels, MatmulScratch& scratch, const float* x,
            size_t x_stride, uint32_t num_rows, std::span<const MatmulTarget> targets,
            Precision precision) {
    MatmulScratch::State& state = scratch.state();
    const Product product{lane,     *kernels.matmul, state.lanes[lane.index],     x,
                          x_stride, num_rows,        precision == Precision::fine};
    if (num_rows == 1) return multiply_vectors(product, targets);
    bool has_gemm = false;
    for (const MatmulTarget& target : targets) {
        const auto type = static_cast<uint32_t>(target.weight->type);
        if (product.kernels.gemm[type].run) {
            has_gemm = true;
        } else if (product.kernels.gemv[type].run && num_rows <= kMaxGemvRows) {
            multiply_each_row(product, target);
        } else {
            multiply_floats(product, target);
        }
    }
    if (has_gemm) multiply_matrices(product, state, targets);
}

}  // namespace hokku::cpu
