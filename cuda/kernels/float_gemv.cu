// SPDX-License-Identifier: Apache-2.0
// Products with weights that are not quantised: routers, small models, heads; and with the
// experts that a router has chosen. x stays float32.
#include "device/device.h"
#include "device/reductions.h"
#include "kernels/params.h"
#include "kernels/prefetch.h"

namespace hokku::cuda {

constexpr uint32_t kFloatGemvThreads = 256;
constexpr uint32_t kFloatPiece = 8;  // Values of one step of a lane.

/// Eight weights as they lie.
struct PieceF32 {
    Words4 words[2];
    HOKKU_DEVICE void load(const void* weight, uint64_t place) {
        words[0] = load16_once(static_cast<const float*>(weight) + place);
        words[1] = load16_once(static_cast<const float*>(weight) + place + 4);
    }
    [[nodiscard]] HOKKU_DEVICE float at(uint32_t i) const {
        return bits_to_float(words[i / 4].w[i % 4]);
    }
};
struct PieceF16 {
    Words4 words;
    HOKKU_DEVICE void load(const void* weight, uint64_t place) {
        words = load16_once(static_cast<const uint16_t*>(weight) + place);
    }
    [[nodiscard]] HOKKU_DEVICE float at(uint32_t i) const {
        return half_to_float(static_cast<uint16_t>(words.w[i / 2] >> (16 * (i % 2))));
    }
};
struct PieceBF16 {
    Words4 words;
    HOKKU_DEVICE void load(const void* weight, uint64_t place) {
        words = load16_once(static_cast<const uint16_t*>(weight) + place);
    }
    [[nodiscard]] HOKKU_DEVICE float at(uint32_t i) const {
        return bfloat_to_float(static_cast<uint16_t>(words.w[i / 2] >> (16 * (i % 2))));
    }
};

/// Where a block works on experts: block_y() is the output.
struct NoFloatExperts {
    static constexpr bool kAreUsed = false;
};
struct ChosenFloatExperts {
    static constexpr bool kAreUsed = true;
    const uint32_t* ids;
    uint32_t outputs_of_vector;
};

/// A row for each warp, or for several that add up.
template <class Piece, uint32_t kVectors, class Experts = NoFloatExperts>
HOKKU_DEVICE void float_gemv(const FloatGemvParams& p, const Experts& experts = {}) {
    HOKKU_SHARED(float, parts, kFloatGemvThreads / kWarp * kVectors);
    const uint32_t row = block_x() * (num_warps() / p.warps_per_row) + warp_id() / p.warps_per_row;
    const uint32_t part = warp_id() % p.warps_per_row;
    const uint32_t step = p.warps_per_row * kWarp * kFloatPiece;
    const bool is_inside = row < p.rows;
    uint32_t column = (part * kWarp + lane_id()) * kFloatPiece;
    uint32_t first_row = 0, first_vector = 0, first_out = 0;
    if constexpr (Experts::kAreUsed) {  // Chosen by the launch in front.
        wait_for_primary();
        allow_dependents();
        first_row = experts.ids[block_y()] * p.rows;
        first_vector = block_y() / experts.outputs_of_vector;
        first_out = block_y();
    }
    const uint64_t first = (uint64_t{first_row} + row) * p.cols;
    Piece next = {};
    if (is_inside && column < p.cols) next.load(p.weight, first + column);
    if constexpr (!Experts::kAreUsed) {
        if (is_inside) {
            prefetch_behind<sizeof(Piece)>({p.weight, first / kFloatPiece, p.cols / kFloatPiece},
                                           part * kWarp, p.warps_per_row * kWarp);
        }
        wait_for_primary();
        allow_dependents();
    }
    float sums[kVectors] = {};
    while (is_inside && column < p.cols) {
        const Piece now = next;
        const uint32_t next_column = column + step;
        if (next_column < p.cols) next.load(p.weight, first + next_column);
        HOKKU_UNROLL
        for (uint32_t v = 0; v < kVectors; ++v) {
            const uint32_t vector = first_vector + (v < p.num_vectors ? v : p.num_vectors - 1);
            const float* x = p.x + uint64_t{vector} * p.x_stride + column;
            const Words4 values[2] = {load16(x), load16(x + 4)};
            HOKKU_UNROLL
            for (uint32_t i = 0; i < kFloatPiece; ++i) {
                sums[v] = fma_f(now.at(i), bits_to_float(values[i / 4].w[i % 4]), sums[v]);
            }
        }
        column = next_column;
    }
    HOKKU_UNROLL
    for (uint32_t v = 0; v < kVectors; ++v) {
        const float sum = warp_sum(sums[v]);
        if (lane_id() == 0) parts[warp_id() * kVectors + v] = sum;
    }
    block_barrier();
    const uint32_t v = lane_id();
    if (part != 0 || v >= kVectors || (!Experts::kAreUsed && v >= p.num_vectors) || !is_inside) {
        return;
    }
    float sum = 0;
    for (uint32_t i = 0; i < p.warps_per_row; ++i) sum += parts[(warp_id() + i) * kVectors + v];
    if (p.bias != nullptr) sum += p.bias[first_row + row];
    const uint64_t place = uint64_t{first_out + v} * p.out_stride + row;
    if (p.residual != nullptr) sum += p.residual[place];
    p.out[place] = sum;
}

#define HOKKU_FLOAT_GEMV_FOR(name, Piece, vectors)                                          \
    HOKKU_KERNEL_RESIDENT(gemv_##name##_##vectors, FloatGemvParams, kFloatGemvThreads, 2) { \
        float_gemv<Piece, vectors>(p);                                                      \
    }
#define HOKKU_FLOAT_GEMV(name, Piece)                                                 \
    HOKKU_FLOAT_GEMV_FOR(name, Piece, 1)                                              \
    HOKKU_FLOAT_GEMV_FOR(name, Piece, 2)                                              \
    HOKKU_FLOAT_GEMV_FOR(name, Piece, 4)                                              \
    HOKKU_FLOAT_GEMV_FOR(name, Piece, 8)                                              \
    HOKKU_KERNEL_RESIDENT(expert_##name, FloatExpertParams, kFloatGemvThreads, 3) {   \
        float_gemv<Piece, 1>(p.gemv, ChosenFloatExperts{p.ids, p.outputs_of_vector}); \
    }

HOKKU_FLOAT_GEMV(f32, PieceF32)
HOKKU_FLOAT_GEMV(f16, PieceF16)
HOKKU_FLOAT_GEMV(bf16, PieceBF16)

}  // namespace hokku::cuda
