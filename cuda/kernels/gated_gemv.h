// SPDX-License-Identifier: Apache-2.0
// Stages gate, up and activation: activation(W_gate x) * (W_up x), quantised for the stage down. A
// block computes 32 values of each vector, so that it can quantise them; a warp some of them, one
// after another.
#pragma once

#include "device/device.h"
#include "device/reductions.h"
#include "kernels/activations.h"
#include "kernels/gemv_formats.h"
#include "kernels/params.h"
#include "kernels/prefetch.h"
#include "kernels/quantize.h"

namespace hokku::cuda {

constexpr uint32_t kGatedThreads = 256;
constexpr uint32_t kValuesAtOnce = 1;  // With its two rows: two values would spill.

/// Gate and up rows of a few values.
template <class Format>
struct PairLoads {
    typename Format::Load gate[kValuesAtOnce], up[kValuesAtOnce];
    HOKKU_DEVICE void load(const GatedGemvParams& p, uint32_t row, uint32_t group) {
        HOKKU_UNROLL
        for (uint32_t r = 0; r < kValuesAtOnce; ++r) {
            const uint32_t inside = row + r < p.gate.rows ? row + r : p.gate.rows - 1;
            gate[r] = Format::load(p.gate, inside, group);
            up[r] = Format::load(p.up, inside, group);
        }
    }
};

/// The sums of two values over all groups, for all vectors; `next` holds this lane's first group.
template <class Format, uint32_t kVectors>
HOKKU_DEVICE void multiply_pairs(const GatedGemvParams& p, uint32_t row, PairLoads<Format> next,
                                 float (&gates)[kVectors][kValuesAtOnce],
                                 float (&ups)[kVectors][kValuesAtOnce]) {
    for (uint32_t group = lane_id(); group < p.gate.groups; group += kWarp) {
        const PairLoads<Format> now = next;
        if (group + kWarp < p.gate.groups) next.load(p, row, group + kWarp);
        HOKKU_UNROLL
        for (uint32_t v = 0; v < kVectors; ++v) {
            const uint32_t vector = v < p.x.num_vectors ? v : p.x.num_vectors - 1;
            const ActivationGroup x = load_activations(p.x, uint64_t{vector} * p.x.groups + group);
            HOKKU_UNROLL
            for (uint32_t r = 0; r < kValuesAtOnce; ++r) {
                gates[v][r] = Format::add(gates[v][r], now.gate[r], x);
                ups[v][r] = Format::add(ups[v][r], now.up[r], x);
            }
        }
    }
}

template <class Format, uint32_t kVectors, class Place = LaunchPlace>
HOKKU_DEVICE void gated_gemv(const GatedGemvParams& p, const Place& at = {}) {
    HOKKU_SHARED(float, values, kVectors* kGroup);
    const uint32_t values_of_warp = kGroup / num_warps();
    const uint32_t first_row = at.x() * kGroup, first_value = warp_id() * values_of_warp;
    PairLoads<Format> next;
    if (lane_id() < p.gate.groups) next.load(p, first_row + first_value, lane_id());
    if (first_row + first_value < p.gate.rows) {
        // The rows of this warp lie one behind the other.
        const uint32_t left = p.gate.rows - first_row - first_value;
        const uint32_t size = p.gate.groups * (left < values_of_warp ? left : values_of_warp);
        const uint64_t place = uint64_t{first_row + first_value} * p.gate.groups;
        prefetch_behind<Format::kCodeBytes>({p.gate.codes, place, size}, 0, kWarp);
        prefetch_behind<Format::kCodeBytes>({p.up.codes, place, size}, 0, kWarp);
    }
    wait_for_primary();
    allow_dependents();
    HOKKU_NO_UNROLL
    for (uint32_t i = 0; i < values_of_warp; i += kValuesAtOnce) {
        const uint32_t row = first_row + first_value + i;
        if (i > 0 && lane_id() < p.gate.groups) next.load(p, row, lane_id());
        float gates[kVectors][kValuesAtOnce] = {}, ups[kVectors][kValuesAtOnce] = {};
        multiply_pairs<Format, kVectors>(p, row, next, gates, ups);
        HOKKU_UNROLL
        for (uint32_t v = 0; v < kVectors; ++v) {
            HOKKU_UNROLL
            for (uint32_t r = 0; r < kValuesAtOnce; ++r) {
                float gate = warp_sum(gates[v][r]), up = warp_sum(ups[v][r]);
                const bool is_inside = row + r < p.gate.rows;
                if (is_inside && p.gate_bias != nullptr) gate += p.gate_bias[row + r];
                if (is_inside && p.up_bias != nullptr) up += p.up_bias[row + r];
                if (lane_id() == 0) {
                    values[v * kGroup + first_value + i + r] =
                        is_inside ? activate(p.activation, gate) * up : 0.0f;
                }
            }
        }
    }
    block_barrier();
    if (warp_id() < p.x.num_vectors) {
        store_group(p.out, warp_id(), at.x(), values[warp_id() * kGroup + lane_id()]);
    }
}

}  // namespace hokku::cuda
