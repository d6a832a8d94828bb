// SPDX-License-Identifier: Apache-2.0
// Stages attn_norm and ffn_norm: residual add, RMSNorm and quantisation, and quantisation alone.
#include "kernels/norm.h"

#include "device/device.h"
#include "kernels/all_reduce.h"
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
    add_normed(p, block_x());
}

/// The end of a branch of a model on several GPUs: sum over them, residual, the next norm.
/// Dependents begin meanwhile, so that they ask for their weights.
HOKKU_KERNEL(all_reduce_norm, AllReduceNormParams, 256) {
    wait_for_primary();
    allow_dependents();
    const uint32_t vector = block_x();
    all_reduce_vector(p.exchange, p.values + uint64_t{vector} * p.add.n, p.add.n, vector);
    add_normed(p.add, vector);
    if (p.has_norm == 0) return;  // The same for the whole block.
    block_barrier();              // x is there.
    norm_vector(p.norm, vector);
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
