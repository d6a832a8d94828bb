// SPDX-License-Identifier: Apache-2.0
#include "model/shard.h"

#include <cassert>
#include <utility>

#include "base/try.h"

namespace hokku {

namespace {

WeightMatrix rows_of(const WeightMatrix& matrix, ShardRange range, uint32_t unit = 1) {
    return rows_of(matrix, range.begin * unit, range.size() * unit);
}

WeightMatrix columns_of(const WeightMatrix& matrix, ShardRange range, uint32_t unit = 1) {
    return columns_of(matrix, range.begin * unit, range.size() * unit);
}

WeightVector part_of(const WeightVector& vector, ShardRange range, uint32_t unit = 1) {
    return part_of(vector, range.begin * unit, range.size() * unit);
}

/// The q or k norm of some heads: one weight for all of them, or a part for each.
NormWeights norm_of(const NormWeights& norm, QkNorm kind, ShardRange heads, uint32_t key_dim) {
    if (kind == QkNorm::none || kind == QkNorm::per_head) return norm;
    return {.weight = part_of(norm.weight, heads, key_dim),
            .bias = part_of(norm.bias, heads, key_dim)};
}

void slice_attention(const AttentionSpec& spec, const LayerShare& share, LayerWeights& layer) {
    layer.wq = rows_of(layer.wq, share.heads, spec.key_dim);
    layer.wk = rows_of(layer.wk, share.kv_heads, spec.key_dim);
    layer.wv = rows_of(layer.wv, share.kv_heads, spec.value_dim);
    layer.bq = part_of(layer.bq, share.heads, spec.key_dim);
    layer.bk = part_of(layer.bk, share.kv_heads, spec.key_dim);
    layer.bv = part_of(layer.bv, share.kv_heads, spec.value_dim);
    layer.q_norm = norm_of(layer.q_norm, spec.qk_norm, share.heads, spec.key_dim);
    layer.k_norm = norm_of(layer.k_norm, spec.qk_norm, share.kv_heads, spec.key_dim);
    layer.sinks = part_of(layer.sinks, share.heads);
    layer.wo = columns_of(layer.wo, share.heads, spec.value_dim);
}

void slice_ffn(const LayerShare& share, LayerWeights& layer) {
    layer.gate = rows_of(layer.gate, share.hidden);
    layer.up = rows_of(layer.up, share.hidden);
    layer.b_gate = part_of(layer.b_gate, share.hidden);
    layer.b_up = part_of(layer.b_up, share.hidden);
    layer.down = columns_of(layer.down, share.hidden);
    for (auto* matrices : {&layer.expert_gate, &layer.expert_up})
        for (WeightMatrix& matrix : *matrices) matrix = rows_of(matrix, share.expert_hidden);
    for (auto* biases : {&layer.b_expert_gate, &layer.b_expert_up})
        for (WeightVector& bias : *biases) bias = part_of(bias, share.expert_hidden);
    for (WeightMatrix& matrix : layer.expert_down) matrix = columns_of(matrix, share.expert_hidden);
    layer.shared_gate = rows_of(layer.shared_gate, share.shared_hidden);
    layer.shared_up = rows_of(layer.shared_up, share.shared_hidden);
    layer.shared_down = columns_of(layer.shared_down, share.shared_hidden);
}

void make_local(const LayerShare& share, LayerSpec& layer) {
    if (AttentionSpec* attention = layer.attention()) {
        attention->num_heads = share.heads.size();
        attention->num_kv_heads = share.kv_heads.size();
    }
    layer.ffn.hidden = share.hidden.size();
    if (auto& experts = layer.ffn.experts) {
        experts->hidden = share.expert_hidden.size();
        experts->shared_hidden = share.shared_hidden.size();
    }
}

/// Local sizes and slices belong together.
void assert_consistent([[maybe_unused]] const LayerSpec& spec,
                       [[maybe_unused]] const LayerWeights& layer) {
    [[maybe_unused]] const AttentionSpec& attention = *spec.attention();
    assert(attention.num_heads % attention.num_kv_heads == 0 && "whole groups of query heads");
    assert(layer.wq.rows == attention.num_heads * attention.key_dim && "rows of q");
    assert(layer.wk.rows == attention.num_kv_heads * attention.key_dim && "rows of k");
    assert(layer.wo.cols == attention.num_heads * attention.value_dim && "columns of the output");
    assert((!layer.down || layer.down.cols == spec.ffn.hidden) && "columns of down");
    assert((!layer.up || layer.up.rows == spec.ffn.hidden) && "rows of up");
}

ModelShard make_shard(const ModelSpec& spec, const Weights& weights, ShardPlan plan) {
    ModelShard shard{.plan = std::move(plan), .spec = spec, .weights = weights};
    if (shard.plan.num_ranks == 1) return shard;
    const ShardRange vocab = shard.plan.vocab;
    shard.spec.num_vocab = vocab.size();
    shard.weights.embedding = rows_of(weights.embedding, vocab);
    shard.weights.head = rows_of(weights.head, vocab);
    shard.weights.head_bias = part_of(weights.head_bias, vocab);
    for (size_t i = 0; i < shard.plan.layers.size(); ++i) {
        const LayerShare& share = shard.plan.layers[i];
        LayerWeights& layer = shard.weights.layers[i];
        slice_attention(*spec.layers[i].attention(), share, layer);
        slice_ffn(share, layer);
        if (shard.plan.rank > 0) {
            layer.bo = layer.b_down = {};
            layer.b_expert_down.clear();
        }
        make_local(share, shard.spec.layers[i]);
        assert_consistent(shard.spec.layers[i], layer);
    }
    return shard;
}

}  // namespace

Result<std::vector<ModelShard>> shard_model(const ModelSpec& spec, const Weights& weights,
                                            uint32_t num_ranks) {
    HOKKU_TRY(std::vector<ShardPlan> plans, plan_shards(spec, weights, num_ranks));
    std::vector<ModelShard> shards;
    shards.reserve(plans.size());
    for (ShardPlan& plan : plans) shards.push_back(make_shard(spec, weights, std::move(plan)));
    return shards;
}

}  // namespace hokku
