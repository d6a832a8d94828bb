// SPDX-License-Identifier: Apache-2.0
// The four ways in which matmul() multiplies, and the memory that they share. Private to
// matmul.cpp, matmul_floats.cpp, matmul_vector.cpp, matmul_matrix.cpp and matmul_split.cpp.
#pragma once

#include <atomic>
#include <span>

#include "backend/cpu/matmul.h"
#include "backend/cpu/matmul_kernels.h"
#include "backend/cpu/work_shares.h"
#include "base/aligned_buffer.h"

namespace hokku::cpu {

/// Weights that are dequantised at a time, for the float path: 256 KB, half of a small L2 cache.
inline constexpr size_t kFloatPanelRows = 64, kFloatPanelDepth = 1024;

/// Memory that one lane has for itself.
struct LaneScratch {
    float* weight_panel = nullptr;  ///< [kFloatPanelRows][kFloatPanelDepth], or a split panel.
    float* split_sums = nullptr;    ///< [kSplitRows][kSplitGroup], or null.
    uint8_t* row_copy = nullptr;    ///< One weight row in blocks and kRowOverread bytes.
    GemvVector vectors[kMaxGemvVectors], residuals[kMaxGemvVectors];
    GemmPanel panel;
    uint64_t num_gemms = 0;   ///< Begun by this lane.
    uint32_t num_shared = 0;  ///< Jobs of WorkShares begun by this lane.
};

/// Targets of one job of WorkShares, at most.
inline constexpr uint32_t kMaxTargets = 8;

struct MatmulScratch::State {
    explicit State(const MatmulLimits& its_limits) : limits(its_limits) {}

    MatmulLimits limits;
    AlignedBuffer buffer;
    LaneScratch* lanes = nullptr;  ///< [num_lanes]
    GemmRows rows, residual;
    uint16_t* split_rows = nullptr;  ///< [tile of x] as pack_split_rows makes them.
    /// Next group of weight rows to hand out. Successive products use them in turn: a lane that
    /// passes the barrier of product k + 1 knows that no lane takes from k any more.
    std::atomic<uint32_t> next_group[2] = {0, 0};

    WorkShares shares{limits.num_lanes};  ///< The rows of vector products.

    void lay_out(BufferLayout& layout);
};

/// What a call of matmul() is about, or some rows of it.
struct Product {
    const Lane& lane;
    const MatmulKernels& kernels;
    LaneScratch& scratch;
    const float* x;
    size_t x_stride;
    uint32_t first_row;  ///< Of the outputs; x points to that row.
    uint32_t num_rows;
    bool is_fine;

    [[nodiscard]] Product rows(uint32_t begin, uint32_t end) const {
        Product part = *this;
        part.x += begin * x_stride;
        part.first_row += begin;
        part.num_rows = end - begin;
        return part;
    }
    /// Outputs of the first row.
    [[nodiscard]] float* out(const MatmulTarget& target) const {
        return target.out + first_row * target.out_stride;
    }
};

/// The counter of the groups of the product that this lane begins, after its barrier.
inline std::atomic<uint32_t>& next_group(const Product& product, MatmulScratch::State& state) {
    const uint64_t turn = product.scratch.num_gemms++ % 2;
    if (product.lane.index == 0) state.next_group[1 - turn].store(0, std::memory_order_relaxed);
    return state.next_group[turn];
}

inline const uint8_t* row_of(const WeightMatrix& weight, uint32_t row) {
    return reinterpret_cast<const uint8_t*>(weight.data) + size_t{row} * weight.row_stride;
}

/// Adds the bias of outputs [begin, end) to all rows.
void add_bias(const Product& product, const MatmulTarget& target, uint32_t begin, uint32_t end);

/// This lane's weight rows, dequantised exactly; any type, any number of rows.
void multiply_floats(const Product& product, const MatmulTarget& target);

/// A few rows of x, for the targets whose types have a GEMV kernel: weights in place. All lanes
/// together.
void multiply_vectors(const Product& product, MatmulScratch::State& state,
                      std::span<const MatmulTarget> targets);

/// Many rows of x, for the targets whose types have a GEMM kernel. All lanes together.
void multiply_matrices(const Product& product, MatmulScratch::State& state,
                       std::span<const MatmulTarget> targets);

/// The same for those whose types have a split GEMM kernel.
void multiply_split(const Product& product, MatmulScratch::State& state,
                    std::span<const MatmulTarget> targets);

}  // namespace hokku::cpu
