// SPDX-License-Identifier: Apache-2.0
// The ends of a step: embedding rows of tokens, activation of separate gate and up products, and
// the choice of the most likely token, so that one number crosses the bus.
#include "device/device.h"
#include "device/reductions.h"
#include "kernels/activations.h"
#include "kernels/params.h"
#include "kernels/quantize.h"

namespace hokku::cuda {

/// A warp for each group of 32 values; block_y is the row. up may be null: activation alone.
HOKKU_KERNEL(activate_quantize, ActivateParams, 256) {
    wait_for_primary();
    allow_dependents();
    const uint32_t group = block_x() * num_warps() + warp_id();
    if (group >= p.out.groups) return;
    const uint32_t i = group * kGroup + lane_id();
    const uint64_t place = uint64_t{block_y()} * p.stride + i;
    float value = 0;
    if (i < p.n) {
        const float gate = p.gate[place], up = p.up != nullptr ? p.up[place] : 1.0f;
        if (p.activation == kSwigluClamped) {
            value = swiglu_clamped(gate, up);
        } else if (p.activation == kXielu) {
            value = xielu(p.xielu, gate) * up;
        } else {
            value = activate(p.activation, gate) * up;
        }
    }
    store_group(p.out, block_y(), group, value);
}

/// out[row] = table[tokens[row]] * scale, from a table of f32, f16 or bf16 (FloatType).
HOKKU_KERNEL(embed_rows, EmbedParams, 256) {
    wait_for_primary();
    allow_dependents();
    const uint64_t first = uint64_t{p.tokens[block_y()]} * p.n;
    for (uint32_t i = block_x() * num_threads() + thread_id(); i < p.n;
         i += grid_x() * num_threads()) {
        float value = 0;
        if (p.type == kFloat32) value = static_cast<const float*>(p.table)[first + i];
        if (p.type == kFloat16) {
            value = half_to_float(static_cast<const uint16_t*>(p.table)[first + i]);
        }
        if (p.type == kBfloat16) {
            value = bfloat_to_float(static_cast<const uint16_t*>(p.table)[first + i]);
        }
        p.out[uint64_t{block_y()} * p.n + i] = value * p.scale;
    }
}

/// Whether (value, id) is before the other: larger, of equals the lower id; what is no number is
/// behind all.
HOKKU_DEVICE bool is_before(float value, uint32_t id, float other_value, uint32_t other_id) {
    if (value != value) return other_value != other_value && id < other_id;
    if (other_value != other_value) return true;
    return value > other_value || (value == other_value && id < other_id);
}

/// The largest logit of a row and its id, by one block for each row.
HOKKU_KERNEL(choose_greedy, GreedyParams, 1024) {
    HOKKU_SHARED(float, best_values, 32);
    HOKKU_SHARED(uint32_t, best_ids, 32);
    wait_for_primary();
    allow_dependents();
    const float* logits = p.logits + uint64_t{block_x()} * p.stride;
    float value = not_a_number();
    uint32_t id = 0xffffffffu;
    for (uint32_t i = thread_id(); i < p.n; i += num_threads()) {
        if (is_before(logits[i], i, value, id)) {
            value = logits[i];
            id = i;
        }
    }
    for (uint32_t round = 0; round < 2; ++round) {
        HOKKU_UNROLL
        for (uint32_t bits = kWarp / 2; bits > 0; bits /= 2) {
            const float other_value = shuffle_xor(kAllLanes, value, bits);
            const uint32_t other_id = shuffle_xor(kAllLanes, id, bits);
            if (is_before(other_value, other_id, value, id)) {
                value = other_value;
                id = other_id;
            }
        }
        if (round == 1) break;
        if (lane_id() == 0) {
            best_values[warp_id()] = value;
            best_ids[warp_id()] = id;
        }
        block_barrier();
        const bool has_warp = lane_id() < num_warps();
        value = has_warp ? best_values[lane_id()] : not_a_number();
        id = has_warp ? best_ids[lane_id()] : 0xffffffffu;
    }
    if (thread_id() == 0) {
        p.ids[block_x()] = id;
        p.values[block_x()] = value;
    }
}

}  // namespace hokku::cuda
