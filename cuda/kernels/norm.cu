// SPDX-License-Identifier: Apache-2.0
// Stages attn_norm and ffn_norm: residual add, RMSNorm and quantisation, and quantisation alone.
#include "device/device.h"
#include "device/reductions.h"
#include "kernels/params.h"
#include "kernels/quantize.h"

namespace hokku::cuda {

/// One block for each vector.
/// Source : Zhang & Sennrich 2019, arXiv:1910.07467.
HOKKU_KERNEL(norm_quantize, NormParams, 1024) {
    wait_for_primary();
    allow_dependents();
    const uint32_t vector = block_x();
    float* x = p.x + uint64_t{vector} * p.n;
    float square_sum = 0;
    for (uint32_t i = thread_id(); i < p.n; i += num_threads()) {
        float value = x[i];
        if (p.delta != nullptr) {
            value += p.delta[uint64_t{vector} * p.n + i];
            x[i] = value;  // Read again below by this thread alone.
        }
        square_sum = fma_f(value, value, square_sum);
    }
    const float mean = block_sum(square_sum) / static_cast<float>(p.n);
    const float factor = 1.0f / sqrt_f(mean + p.eps);
    for (uint32_t group = warp_id(); group < p.out.groups; group += num_warps()) {
        const uint32_t i = group * kGroup + lane_id();
        float value = 0;
        if (i < p.n) value = x[i] * factor * (p.weight != nullptr ? p.weight[i] : 1.0f);
        store_group(p.out, vector, group, value);
    }
}

/// A warp for each group; block_y is the vector.
HOKKU_KERNEL(quantize_rows, QuantizeParams, 256) {
    wait_for_primary();
    allow_dependents();
    const uint32_t group = block_x() * num_warps() + warp_id();
    if (group >= p.out.groups) return;
    const uint32_t i = group * kGroup + lane_id();
    const float value = i < p.n ? p.x[uint64_t{block_y()} * p.x_stride + i] : 0.0f;
    store_group(p.out, block_y(), group, value);
}

}  // namespace hokku::cuda
