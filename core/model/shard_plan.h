// SPDX-License-Identifier: Apache-2.0
// How the ranks of a split model share its heads, hidden values and vocabulary. Numbers alone; the
// slices of weights that follow from them are made in shard.h.
#pragma once

#include <cstdint>
#include <vector>

#include "hokku/result.h"
#include "model/model_spec.h"
#include "model/weights.h"

namespace hokku {

struct ShardRange {
    uint32_t begin = 0, end = 0;
    [[nodiscard]] uint32_t size() const { return end - begin; }
};

/// What one rank has of one layer, in the numbers of the whole model.
struct LayerShare {
    ShardRange heads, kv_heads;
    uint32_t num_all_heads = 0, num_all_kv_heads = 0;  ///< Of all ranks.
    /// Whether this rank is the first of those that hold its KV heads: what is added up over all
    /// KV heads it adds.
    bool owns_kv = true;
    ShardRange hidden, expert_hidden, shared_hidden;  ///< Empty where there are fewer blocks.
};

/// What one rank has of a model.
struct ShardPlan {
    uint32_t rank = 0, num_ranks = 1;
    ShardRange vocab;
    uint32_t num_vocab = 0;  ///< Of all ranks.
    std::vector<LayerShare> layers;
};

/// One plan for each rank.
///
/// Heads go by whole KV groups while there are as many groups as ranks; with more ranks, several
/// hold the same KV head and share its query heads. What is contracted (the inputs of attn_output
/// and ffn_down) is cut between the blocks of these weights, as evenly as that allows.
///
/// Needs  : num_ranks > 0.
/// Errors : unsupported, naming layer, heads and blocks that cannot be shared, or the feature of
///          the model whose split is not known.
/// Source : the cuts of Megatron-LM, arXiv:1909.08053, and vLLM's parallel linear layers.
Result<std::vector<ShardPlan>> plan_shards(const ModelSpec& spec, const Weights& weights,
                                           uint32_t num_ranks);

}  // namespace hokku
