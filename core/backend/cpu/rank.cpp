// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/rank.h"

#include <algorithm>
#include <utility>

#include "backend/cpu/matmul_kernels.h"
#include "base/try.h"

namespace hokku::cpu {

namespace {

/// The largest input of any product, for the scratch of matmul.
uint32_t max_in_features(const ModelSpec& spec) {
    uint32_t max = spec.dim;
    for (const LayerSpec& layer : spec.layers) {
        const AttentionSpec& attention = *layer.attention();
        max = std::max({max, attention.num_heads * attention.value_dim, layer.ffn.hidden});
        if (const auto& experts = layer.ffn.experts)
            max = std::max({max, experts->hidden, experts->shared_hidden});
    }
    return max;
}

AttentionLimits attention_limits(const ModelSpec& spec, uint32_t num_lanes) {
    AttentionLimits limits{.num_lanes = num_lanes};
    for (const LayerSpec& layer : spec.layers) {
        limits.max_heads = std::max(limits.max_heads, layer.attention()->num_heads);
        limits.max_value_dim = std::max(limits.max_value_dim, layer.attention()->value_dim);
    }
    return limits;
}

uint64_t matrix_bytes(const WeightMatrix& matrix) {
    return uint64_t{matrix.rows} * matrix.row_bytes();
}

/// visit(matrix, times) for all that multiply; of experts the first, once for each in use.
template <class Visit>
void for_each_matrix(const ModelShard& shard, Visit visit) {
    const Weights& weights = shard.weights;
    visit(weights.head, 1u);
    for (size_t i = 0; i < weights.layers.size(); ++i) {
        const LayerWeights& layer = weights.layers[i];
        for (const WeightMatrix* matrix :
             {&layer.wq, &layer.wk, &layer.wv, &layer.wo, &layer.gate, &layer.up, &layer.down,
              &layer.router, &layer.shared_router, &layer.shared_gate, &layer.shared_up,
              &layer.shared_down})
            visit(*matrix, 1u);
        const auto& experts = shard.spec.layers[i].ffn.experts;
        if (!experts) continue;
        for (const auto* matrices : {&layer.expert_gate, &layer.expert_up, &layer.expert_down})
            if (!matrices->empty()) visit(matrices->front(), experts->num_used);
    }
}

/// The largest input of a product that the kernels split.
uint32_t max_split_in_features(const ModelShard& shard, const KernelTable& kernels) {
    uint32_t max = 0;
    for_each_matrix(shard, [&](const WeightMatrix& matrix, uint32_t) {
        if (kernels.matmul->split_gemm[static_cast<uint32_t>(matrix.type)].run)
            max = std::max(max, matrix.cols);
    });
    return max;
}

}  // namespace

bool screens_head(const ModelSpec& spec, const Weights& weights, const KernelTable& kernels,
                  const BackendOptions& options) {
    return options.screen_head && options.num_ranks == 1 && spec.part.is_last &&
           spec.logit_scale > 0 && !weights.head_bias &&
           HeadScreen::is_useful(weights.head, kernels);
}

Rank::Rank(ModelShard its_shard, ForwardMemory its_memory, uint32_t num_lanes)
    : shard(std::move(its_shard)), memory(std::move(its_memory)), barrier(num_lanes) {}

Result<std::unique_ptr<Rank>> Rank::create(ModelShard shard, uint32_t num_lanes,
                                           const KernelTable& kernels,
                                           const BackendOptions& options) {
    const ModelSpec& spec = shard.spec;
    HOKKU_TRY(StepBuffers buffers, StepBuffers::create(spec, num_lanes, options.max_step_tokens,
                                                       options.max_step_logits));
    HOKKU_TRY(KvPool kv, KvPool::create(spec, options.kv_type, options.num_kv_blocks));
    const bool screens = screens_head(spec, shard.weights, kernels, options);
    const uint32_t max_fine_in = screens ? HeadScreen::row_values(spec.dim) : spec.dim;
    HOKKU_TRY(MatmulScratch matmul,
              MatmulScratch::create(
                  {.num_lanes = num_lanes,
                   .max_rows = std::max(options.max_step_tokens, options.max_step_logits),
                   .max_in = std::max(max_in_features(spec), max_fine_in),
                   .max_fine_in = max_fine_in,
                   .max_split_in = max_split_in_features(shard, kernels)}));
    HOKKU_TRY(AttentionScratch attention,
              AttentionScratch::create(attention_limits(spec, num_lanes)));
    ForwardMemory memory{std::move(buffers), std::move(kv), std::move(matmul), std::move(attention),
                         nullptr};
    auto rank = std::make_unique<Rank>(std::move(shard), std::move(memory), num_lanes);
    if (screens) {
        HOKKU_TRY(rank->memory.screen,
                  HeadScreen::create(
                      rank->shard.weights.head, kernels,
                      {.num_lanes = num_lanes,
                       .softcap = rank->shard.spec.final_softcap / rank->shard.spec.logit_scale}));
    }
    return rank;
}

uint64_t Rank::scratch_bytes() const {
    return memory.buffers.memory.size_bytes() + memory.matmul.bytes() + memory.attention.bytes() +
           (memory.screen ? memory.screen->bytes() : 0);
}

uint64_t Rank::bytes_per_token() const {
    uint64_t bytes = 0;
    for_each_matrix(shard, [&bytes](const WeightMatrix& matrix, uint32_t times) {
        bytes += times * matrix_bytes(matrix);
    });
    return bytes;
}

}  // namespace hokku::cpu
