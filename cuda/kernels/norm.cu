// SPDX-License-Identifier: Apache-2.0
// Stages attn_norm and ffn_norm: residual add, RMSNorm and quantisation, and quantisation alone.
#include "kernels/norm.h"

#include "device/device.h"
#include "kernels/params.h"
#include "kernels/quantize.h"

namespace hokku::cuda {

/// One block for each vector.
HOKKU_KERNEL(norm_quantize, NormParams, 1024) {
    wait_for_primary();
    allow_dependents();
    norm_vector(p, block_x());
}

/// The end of a branch of models with norms behind their branches or scaled residuals, and the norm
/// of all heads of queries or keys together. One block for each vector.
HOKKU_KERNEL(norm_add, NormAddParams, 1024) {
    wait_for_primary();
    allow_dependents();
    float* x = p.x + uint64_t{block_x()} * p.x_stride;
    const float* y = p.y + uint64_t{block_x()} * p.y_stride;
    const NormFactors factors = norm_factors(y, p.n, p.kind, p.eps);
    for (uint32_t i = thread_id(); i < p.n; i += num_threads()) {
        const float value = apply_norm(factors, y[i], p.weight, p.bias, i);
        x[i] = p.is_addition != 0 ? fma_f(value, p.scale, x[i]) : value * p.scale;
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
