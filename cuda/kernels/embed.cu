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

}  // namespace hokku::cuda
