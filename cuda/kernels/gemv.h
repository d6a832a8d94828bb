// SPDX-License-Identifier: Apache-2.0
// Stages qkv, attn_out, down and head: y = W x + b (+ residual) for up to eight vectors, weights in
// a repacked format. A warp takes kRows rows at once, or several warps share them and add up; a
// lane takes every 32nd group, so that a warp reads 512 neighbouring bytes with one instruction.
#pragma once

#include "device/device.h"
#include "device/reductions.h"
#include "kernels/gemv_formats.h"
#include "kernels/params.h"
#include "kernels/prefetch.h"

namespace hokku::cuda {

constexpr uint32_t kGemvThreads = 256;
constexpr uint32_t kGemvRows = 2;

/// The kRows rows from `row` on; those behind the last are the last again.
template <class Format, uint32_t kRows>
struct RowLoads {
    typename Format::Load rows[kRows];
    HOKKU_DEVICE void load(const WeightPlanes& w, uint32_t row, uint32_t group) {
        HOKKU_UNROLL
        for (uint32_t r = 0; r < kRows; ++r) {
            const uint32_t inside = row + r < w.rows ? row + r : w.rows - 1;
            rows[r] = Format::load(w, inside, group);
        }
    }
};

/// Where a block works on experts: block_y() is the output, whose weights are rows of the expert
/// that was chosen for it.
struct NoExperts {
    static constexpr bool kAreUsed = false;
};
struct ChosenExperts {
    static constexpr bool kAreUsed = true;
    const uint32_t* ids;
    uint32_t rows, outputs_of_vector;
};

template <class Format, uint32_t kVectors, class Place = LaunchPlace, class Experts = NoExperts>
HOKKU_DEVICE void gemv(const GemvParams& p, const Place& at = {}, const Experts& experts = {}) {
    HOKKU_SHARED(float, parts, kGemvThreads / kWarp * kGemvRows * kVectors);
    const uint32_t rows_of_block = num_warps() / p.warps_per_row * kGemvRows;
    const uint32_t row = at.x() * rows_of_block + warp_id() / p.warps_per_row * kGemvRows;
    const uint32_t part = warp_id() % p.warps_per_row;
    const uint32_t step = p.warps_per_row * kWarp;
    uint32_t num_rows = p.weight.rows, first_row = 0, first_vector = 0, first_out = 0;
    if constexpr (Experts::kAreUsed) num_rows = experts.rows;
    const bool is_inside = row < num_rows;
    uint32_t group = part * kWarp + lane_id();
    RowLoads<Format, kGemvRows> next;
    if constexpr (Experts::kAreUsed) {
        wait_for_primary();
        allow_dependents();
        first_row = experts.ids[at.y()] * num_rows;
        first_vector = at.y() / experts.outputs_of_vector;
        first_out = at.y();
        if (is_inside && group < p.weight.groups) next.load(p.weight, first_row + row, group);
    } else {
        // The first weights are under way before the launch in front has ended.
        if (is_inside && group < p.weight.groups) next.load(p.weight, row, group);
        for (uint32_t r = row; r < row + kGemvRows && r < num_rows; ++r) {
            const uint32_t groups = p.weight.groups;
            prefetch_behind<Format::kCodeBytes>({p.weight.codes, uint64_t{r} * groups, groups},
                                                part * kWarp, step);
        }
        wait_for_primary();
        allow_dependents();
    }
    float sums[kVectors][kGemvRows] = {};
    if (is_inside) {
        while (group < p.weight.groups) {
            const RowLoads<Format, kGemvRows> now = next;
            const uint32_t next_group = group + step;
            if (next_group < p.weight.groups) next.load(p.weight, first_row + row, next_group);
            HOKKU_UNROLL
            for (uint32_t v = 0; v < kVectors; ++v) {
                // Vectors that a call does not have are its last one again.
                const uint32_t vector =
                    first_vector + (v < p.x.num_vectors ? v : p.x.num_vectors - 1);
                const ActivationGroup x =
                    load_activations(p.x, uint64_t{vector} * p.x.groups + group);
                HOKKU_UNROLL
                for (uint32_t r = 0; r < kGemvRows; ++r) {
                    sums[v][r] = Format::add(sums[v][r], now.rows[r], x);
                }
            }
            group = next_group;
        }
    }
    HOKKU_UNROLL
    for (uint32_t v = 0; v < kVectors; ++v) {
        HOKKU_UNROLL
        for (uint32_t r = 0; r < kGemvRows; ++r) {
            const float sum = warp_sum(sums[v][r]);
            if (lane_id() == 0) parts[(warp_id() * kVectors + v) * kGemvRows + r] = sum;
        }
    }
    block_barrier();
    // One lane for each output of the warps that share rows.
    const uint32_t v = lane_id() / kGemvRows, r = lane_id() % kGemvRows;
    const bool has_vector = v < kVectors && (Experts::kAreUsed || v < p.x.num_vectors);
    if (part == 0 && has_vector && row + r < num_rows) {
        float sum = 0;
        for (uint32_t i = 0; i < p.warps_per_row; ++i) {
            sum += parts[((warp_id() + i) * kVectors + v) * kGemvRows + r];
        }
        if (p.bias != nullptr) sum += p.bias[first_row + row + r];
        const uint64_t place = uint64_t{first_out + v} * p.out_stride + row + r;
        if (p.residual != nullptr) sum += p.residual[place];
        p.out[place] = sum;
    }
}

// Fewer blocks where more vectors need more registers: no kernel may spill.
#define HOKKU_GEMV(name, Format, vectors, min_blocks)                                      \
    HOKKU_KERNEL_RESIDENT(gemv_##name##_##vectors, GemvParams, kGemvThreads, min_blocks) { \
        gemv<Format, vectors>(p);                                                          \
    }

}  // namespace hokku::cuda
