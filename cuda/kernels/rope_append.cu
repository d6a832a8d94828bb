// SPDX-License-Identifier: Apache-2.0
// Stages q_rope, k_rope and KV append: RMSNorm of each head (Qwen 3), rotation of queries and keys,
// and keys and values into their blocks. Biases were added in float32 before.
#include "kernels/rope_append.h"

#include "device/device.h"
#include "kernels/params.h"

namespace hokku::cuda {

/// One warp a head: block_x counts heads - queries, keys, values -, block_y rows.
HOKKU_KERNEL(rope_append, RopeParams, 32) {
    HOKKU_SHARED(float, values, kMaxRopeDim);
    HOKKU_SHARED(float, rotated, kMaxRopeDim);
    wait_for_primary();
    allow_dependents();
    finish_head(p, block_y(), block_x(), values, rotated);
}

}  // namespace hokku::cuda
