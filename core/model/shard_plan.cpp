// SPDX-License-Identifier: Apache-2.0
#include "model/shard_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>

#include "base/try.h"

namespace hokku {

namespace {

/// Part `index` of `count` parts of `total`, as even as can be, the larger ones first.
ShardRange even_part(uint32_t total, uint32_t count, uint32_t index) {
    const auto bound = [&](uint64_t i) {
        return static_cast<uint32_t>((total * i + count - 1) / count);
    };
    return {bound(index), bound(index + uint64_t{1})};
}

uint32_t num_units(uint32_t total, uint32_t unit) {
    return (total + unit - 1) / unit;
}

/// The same with bounds at multiples of `unit`; parts may be empty.
ShardRange even_part(uint32_t total, uint32_t count, uint32_t index, uint32_t unit) {
    const ShardRange units = even_part(num_units(total, unit), count, index);
    return {std::min(units.begin * unit, total), std::min(units.end * unit, total)};
}

/// Heads of a layer and how many of them lie between possible cuts of attn_output.
struct HeadCut {
    uint32_t num_heads = 0, num_kv_heads = 0;
    uint32_t unit = 1;
};

LayerShare make_share(const HeadCut& cut, ShardRange kv_heads, ShardRange heads_of_one_kv) {
    const uint32_t group = cut.num_heads / cut.num_kv_heads;
    LayerShare share;
    share.num_all_heads = cut.num_heads;
    share.num_all_kv_heads = cut.num_kv_heads;
    share.kv_heads = kv_heads;
    share.heads = {kv_heads.begin * group + heads_of_one_kv.begin,
                   (kv_heads.end - 1) * group + heads_of_one_kv.end};
    share.owns_kv = heads_of_one_kv.begin == 0;
    return share;
}

/// The heads of rank `rank`; nullopt where one of the ranks would have none.
std::optional<LayerShare> share_heads(const HeadCut& cut, uint32_t num_ranks, uint32_t rank) {
    const uint32_t group = cut.num_heads / cut.num_kv_heads;
    if (num_ranks <= cut.num_kv_heads) {
        const uint32_t kv_unit = std::lcm(group, cut.unit) / group;
        if (num_units(cut.num_kv_heads, kv_unit) < num_ranks) return std::nullopt;
        return make_share(cut, even_part(cut.num_kv_heads, num_ranks, rank, kv_unit), {0, group});
    }
    // Each KV head has several ranks, which are neighbours.
    if (group % cut.unit != 0 && cut.num_kv_heads > 1) return std::nullopt;
    uint32_t kv_head = 0;
    ShardRange sharers = even_part(num_ranks, cut.num_kv_heads, 0);
    while (rank >= sharers.end) sharers = even_part(num_ranks, cut.num_kv_heads, ++kv_head);
    const ShardRange most = even_part(num_ranks, cut.num_kv_heads, 0);
    if (num_units(group, cut.unit) < most.size()) return std::nullopt;
    return make_share(cut, {kv_head, kv_head + 1},
                      even_part(group, sharers.size(), rank - sharers.begin, cut.unit));
}

Error cannot_split(uint32_t num_ranks, std::string_view where, std::string_view why,
                   std::string expected) {
    return {ErrorCode::unsupported,
            fmt::format("the model cannot be split over {} ranks: {}", num_ranks, why),
            std::string(where), std::move(expected)};
}

/// What a ModelSpec can say and no cut is known for.
Result<void> check_features(const ModelSpec& spec, uint32_t num_ranks) {
    const auto refuse = [&](std::string_view feature) {
        return cannot_split(num_ranks, fmt::format("architecture {}", spec.architecture),
                            fmt::format("it has {}", feature), "one rank");
    };
    if (spec.per_layer_input) return refuse("per-layer embeddings");
    if (spec.altup) return refuse("alternating updates");
    for (const LayerSpec& layer : spec.layers) {
        const AttentionSpec* attention = layer.attention();
        if (attention == nullptr) return refuse("mixers other than softmax attention");
        if (attention->has_output_gate) return refuse("gated attention outputs");
        if (attention->keys_are_values) return refuse("keys that are values");
        if (attention->kv_from_layer >= 0) return refuse("KV shared between layers");
        if (attention->qk_norm == QkNorm::whole && attention->qk_norm_after_rope)
            return refuse("norms over all heads after RoPE");
        if (attention->qk_norm == QkNorm::whole && spec.norm != NormKind::rms)
            return refuse("a LayerNorm over all heads");
        if (layer.ffn.sparsity != 0) return refuse("sparse activations");
        if (layer.ffn.experts && layer.ffn.experts->fused_gate_up)
            return refuse("fused gate and up experts");
    }
    return {};
}

HeadCut head_cut(const AttentionSpec& attention, const LayerWeights& weights) {
    const uint32_t block = traits_of(weights.wo.type).block_values;
    return {.num_heads = attention.num_heads,
            .num_kv_heads = attention.num_kv_heads,
            .unit = block / std::gcd(block, attention.value_dim)};
}

Error too_few_heads(const AttentionSpec& attention, const HeadCut& cut, uint32_t layer,
                    uint32_t num_ranks) {
    uint32_t possible = num_ranks - 1;
    while (possible > 1 && !share_heads(cut, possible, 0)) --possible;
    return cannot_split(
        num_ranks, fmt::format("layer {}", layer),
        fmt::format("{} heads of {} values on {} KV heads{}", attention.num_heads,
                    attention.value_dim, attention.num_kv_heads,
                    cut.unit == 1 ? "" : fmt::format(", cut at multiples of {} heads", cut.unit)),
        possible == 1 ? std::string("one rank") : fmt::format("{} ranks or fewer", possible));
}

Result<LayerShare> share_layer(const LayerSpec& spec, const LayerWeights& weights, uint32_t layer,
                               uint32_t num_ranks, uint32_t rank) {
    const AttentionSpec& attention = *spec.attention();
    const HeadCut cut = head_cut(attention, weights);
    std::optional<LayerShare> share = share_heads(cut, num_ranks, rank);
    if (!share) return too_few_heads(attention, cut, layer, num_ranks);
    const auto cut_hidden = [&](uint32_t hidden, const WeightMatrix& down) {
        return even_part(hidden, num_ranks, rank, traits_of(down.type).block_values);
    };
    share->hidden = cut_hidden(spec.ffn.hidden, weights.down);
    if (const auto& experts = spec.ffn.experts) {
        share->expert_hidden = cut_hidden(experts->hidden, weights.expert_down.front());
        share->shared_hidden = cut_hidden(experts->shared_hidden, weights.shared_down);
    }
    return *share;
}

/// The only rank has everything, whatever it is.
ShardPlan whole_model(const ModelSpec& spec) {
    ShardPlan plan;
    plan.vocab = {0, spec.num_vocab};
    plan.num_vocab = spec.num_vocab;
    for (const LayerSpec& layer : spec.layers) {
        LayerShare& share = plan.layers.emplace_back();
        if (const AttentionSpec* attention = layer.attention()) {
            share.num_all_heads = attention->num_heads;
            share.num_all_kv_heads = attention->num_kv_heads;
            share.heads = {0, attention->num_heads};
            share.kv_heads = {0, attention->num_kv_heads};
        }
        share.hidden = {0, layer.ffn.hidden};
        if (const auto& experts = layer.ffn.experts) {
            share.expert_hidden = {0, experts->hidden};
            share.shared_hidden = {0, experts->shared_hidden};
        }
    }
    return plan;
}

}  // namespace

Result<std::vector<ShardPlan>> plan_shards(const ModelSpec& spec, const Weights& weights,
                                           uint32_t num_ranks) {
    if (num_ranks == 1) return std::vector<ShardPlan>{whole_model(spec)};
    HOKKU_CHECK(check_features(spec, num_ranks));
    if (spec.num_vocab < num_ranks)
        return cannot_split(num_ranks, "vocabulary", fmt::format("{} tokens", spec.num_vocab),
                            "no more ranks than tokens");
    std::vector<ShardPlan> plans(num_ranks);
    for (uint32_t rank = 0; rank < num_ranks; ++rank) {
        ShardPlan& plan = plans[rank];
        plan.rank = rank;
        plan.num_ranks = num_ranks;
        plan.vocab = even_part(spec.num_vocab, num_ranks, rank);
        plan.num_vocab = spec.num_vocab;
        for (uint32_t i = 0; i < spec.num_layers; ++i) {
            HOKKU_TRY(const LayerShare share,
                      share_layer(spec.layers[i], weights.layers[i], i, num_ranks, rank));
            plan.layers.push_back(share);
        }
    }
    return plans;
}

}  // namespace hokku
