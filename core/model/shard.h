// SPDX-License-Identifier: Apache-2.0
// ModelShard: what one rank of a split model computes: a ModelSpec with its local sizes and the
// slices of the weights that go with it. Views into the mapped file; nothing is copied.
#pragma once

#include <cstdint>
#include <vector>

#include "hokku/result.h"
#include "model/model_spec.h"
#include "model/shard_plan.h"
#include "model/weights.h"

namespace hokku {

/// Split: heads, hidden values of FFNs and of each expert, vocabulary. Whole on every rank: norms,
/// routers, positions and `dim`, the width of the residual stream. Biases that are added to sums
/// over the ranks (bo, b_down, b_expert_down) are with rank 0 alone.
struct ModelShard {
    ShardPlan plan;
    ModelSpec spec;  ///< num_heads, num_kv_heads, hidden and num_vocab are this rank's.
    Weights weights;
};

/// One shard for each rank. With one rank it is the model itself.
///
/// Needs  : num_ranks > 0.
/// Errors : as plan_shards.
Result<std::vector<ModelShard>> shard_model(const ModelSpec& spec, const Weights& weights,
                                            uint32_t num_ranks);

}  // namespace hokku
