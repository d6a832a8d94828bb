// SPDX-License-Identifier: Apache-2.0
// The parts that declarations share: the usual keys of a decoder, its experts and its windows.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "model/arch/declaration.h"
#include "model/rope.h"

namespace hokku::arch {

namespace {

// Hard limits: far above any known model, low enough that no product of two overflows 64 bits.
constexpr uint32_t kMaxLayers = 512;
constexpr uint32_t kMaxDim = 1u << 20;
constexpr uint32_t kMaxHeads = 1u << 14;
constexpr uint32_t kMaxHeadDim = 1u << 14;
constexpr uint32_t kMaxHidden = 1u << 24;
constexpr uint32_t kMaxVocab = 1u << 24;
constexpr uint32_t kMaxContext = 1u << 31;
constexpr uint32_t kMaxExperts = 4096;

/// Rows of the vocabulary: the token list where the file has one, else the embedding.
uint32_t read_num_vocab(Hparams& keys) {
    const GgufMetadata& metadata = keys.file().metadata();
    uint64_t count = 0;
    const auto tokens = metadata.find_strings("tokenizer.ggml.tokens");
    if (tokens.ok() && *tokens != nullptr) {
        count = (*tokens)->size();
    } else if (const GgufTensor* embedding = keys.file().find_tensor("token_embd.weight")) {
        count = embedding->ne[1];
    }
    if (count == 0 || count > kMaxVocab) {
        keys.fail({ErrorCode::bad_format, fmt::format("the vocabulary has {} tokens", count),
                   metadata.file_name(), fmt::format("1 to {}", kMaxVocab)});
        return 1;
    }
    const auto num_vocab = static_cast<uint32_t>(count);
    const uint32_t stated = keys.u32_or("vocab_size", num_vocab, 1, kMaxVocab);
    if (stated != num_vocab)
        keys.fail_key("vocab_size", fmt::format("the vocabulary size is {}", stated),
                      fmt::format("{}, the number of tokens in the file", num_vocab));
    return num_vocab;
}

void read_heads(Hparams& keys, ModelSpec& spec) {
    const auto heads = keys.per_layer("attention.head_count", spec.num_layers, 1, kMaxHeads);
    const auto kv_heads =
        keys.per_layer_or("attention.head_count_kv", spec.num_layers, 0, 1, kMaxHeads);
    if (keys.error()) return;
    if (!keys.has("attention.key_length") && spec.dim % heads[0] != 0)
        keys.fail_key("attention.head_count", fmt::format("the number of heads is {}", heads[0]),
                      fmt::format("a divisor of embedding_length, {}", spec.dim));
    const uint32_t key_dim =
        keys.u32_or("attention.key_length", spec.dim / heads[0], 1, kMaxHeadDim);
    const uint32_t value_dim = keys.u32_or("attention.value_length", key_dim, 1, kMaxHeadDim);
    for (uint32_t i = 0; i < spec.num_layers; ++i) {
        AttentionSpec attention;
        attention.num_heads = heads[i];
        attention.num_kv_heads = kv_heads[i] == 0 ? heads[i] : kv_heads[i];
        attention.key_dim = key_dim;
        attention.value_dim = value_dim;
        attention.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(key_dim)));
        if (attention.num_heads % attention.num_kv_heads != 0)
            keys.fail_key("attention.head_count_kv",
                          fmt::format("layer {} has {} KV heads", i, attention.num_kv_heads),
                          fmt::format("a divisor of its {} heads", attention.num_heads));
        spec.layers[i].mixer = attention;
    }
}

void read_rope(Hparams& keys, ModelSpec& spec, const DecoderFamily& family) {
    const AttentionSpec* first = spec.layers[0].attention();
    if (keys.error() || first == nullptr) return;
    const uint32_t key_dim = first->key_dim;
    const uint32_t num_dims = keys.u32_or("rope.dimension_count", key_dim, 2, kMaxHeadDim);
    if (num_dims % 2 != 0 || num_dims > key_dim)
        return keys.fail_key("rope.dimension_count", fmt::format("the value is {}", num_dims),
                             fmt::format("an even number up to the head size {}", key_dim));
    spec.ropes.push_back(make_rope(
        keys, {.pairing = family.pairing,
               .num_dims = num_dims,
               .base = static_cast<double>(keys.f32_or("rope.freq_base", 10000.0f, 1.5f, 1e12f))}));
    for (LayerSpec& layer : spec.layers) layer.attention()->rope_index = 0;
}

ExpertSpec read_experts(Hparams& keys, uint32_t num_experts, const DecoderFamily& family) {
    ExpertSpec experts;
    experts.num_experts = num_experts;
    experts.num_used = keys.u32("expert_used_count", 1, num_experts);
    experts.hidden = keys.has("expert_feed_forward_length")
                         ? keys.u32("expert_feed_forward_length", 1, kMaxHidden)
                         : keys.u32("feed_forward_length", 1, kMaxHidden);
    experts.renormalise = keys.flag_or("expert_weights_norm", family.renormalise_experts);
    experts.weight_scale = keys.f32_or("expert_weights_scale", 1.0f, 0.0f, 1e6f);
    if (experts.weight_scale == 0) experts.weight_scale = 1;  // written for "not scaled"
    // 0 and 1: softmax over all, 2: sigmoid, 3: softmax over the chosen (ids of gguf-py).
    const uint32_t gating = keys.u32_or("expert_gating_func", 1, 0, 3);
    if (gating == 2) experts.gating = Gating::sigmoid;
    if (gating == 3) experts.gating = Gating::softmax_chosen;
    experts.num_groups = keys.u32_or("expert_group_count", 1, 1, num_experts);
    experts.num_groups_used = keys.u32_or("expert_group_used_count", 1, 1, num_experts);
    if (num_experts % experts.num_groups != 0 || experts.num_groups_used > experts.num_groups ||
        num_experts / experts.num_groups * experts.num_groups_used < experts.num_used)
        keys.fail_key("expert_group_count",
                      fmt::format("there are {} groups, {} used", experts.num_groups,
                                  experts.num_groups_used),
                      fmt::format("equal groups of the {} experts, with room for {}", num_experts,
                                  experts.num_used));
    const uint32_t shared_count = keys.u32_or("expert_shared_count", 0, 0, kMaxExperts);
    experts.shared_hidden =
        keys.u32_or("expert_shared_feed_forward_length",
                    shared_count <= kMaxHidden / experts.hidden ? shared_count * experts.hidden : 0,
                    0, kMaxHidden);
    return experts;
}

void read_ffn(Hparams& keys, ModelSpec& spec, const DecoderFamily& family) {
    const uint32_t num_experts = keys.u32_or("expert_count", 0, 0, kMaxExperts);
    const uint32_t num_dense =
        num_experts == 0 ? spec.num_layers
                         : keys.u32_or("leading_dense_block_count", 0, 0, spec.num_layers);
    std::vector<uint32_t> hidden(spec.num_layers, 0);
    if (num_dense > 0 || keys.has("interleave_moe_layer_step"))
        hidden = keys.per_layer("feed_forward_length", spec.num_layers, 1, kMaxHidden);
    std::optional<ExpertSpec> experts;
    if (num_experts > 0) experts = read_experts(keys, num_experts, family);
    const uint32_t step = keys.u32_or("interleave_moe_layer_step", 1, 1, kMaxLayers);
    for (uint32_t i = 0; i < spec.num_layers; ++i) {
        FfnSpec& ffn = spec.layers[i].ffn;
        ffn.activation = family.activation;
        ffn.gated = family.gated;
        if (i < num_dense || (i + 1) % step != 0) {
            ffn.hidden = hidden[i];
        } else {
            ffn.experts = experts;
            const std::string bias_name = fmt::format("blk.{}.exp_probs_b.bias", i);
            ffn.experts->has_selection_bias = keys.file().find_tensor(bias_name) != nullptr;
        }
    }
}

}  // namespace

Declaration make_decoder(Hparams& keys, const DecoderFamily& family) {
    Declaration declaration;
    ModelSpec& spec = declaration.spec;
    spec.architecture = keys.architecture();
    const uint32_t num_blocks = keys.u32("block_count", 1, kMaxLayers);
    // Blocks at the end that predict further tokens are left out.
    const uint32_t num_extra = keys.u32_or("nextn_predict_layers", 0, 0, num_blocks - 1);
    spec.num_layers = num_blocks - num_extra;
    declaration.num_unused_blocks = num_extra;
    spec.dim = keys.u32("embedding_length", 1, kMaxDim);
    spec.trained_context = keys.u32("context_length", 1, kMaxContext);
    spec.num_vocab = read_num_vocab(keys);
    spec.norm = family.norm;
    spec.norm_eps = keys.f32(family.norm == NormKind::rms ? "attention.layer_norm_rms_epsilon"
                                                          : "attention.layer_norm_epsilon",
                             0.0f, 1.0f);
    spec.layers.resize(spec.num_layers);
    for (LayerSpec& layer : spec.layers) {
        layer.residual = family.residual;
        layer.pre_ffn_norm = family.residual != Residual::parallel_shared;
    }
    read_heads(keys, spec);
    read_ffn(keys, spec, family);
    if (family.learned_positions) {
        spec.num_learned_positions = spec.trained_context;
    } else {
        read_rope(keys, spec, family);
    }
    return declaration;
}

void apply_sliding_window(Hparams& keys, Declaration& declaration, const SlidingPattern& pattern) {
    ModelSpec& spec = declaration.spec;
    const uint32_t window = keys.u32_or("attention.sliding_window", 0, 0, kMaxContext);
    if (keys.error() || window == 0) return;

    std::vector<bool> slides(spec.num_layers, false);
    const GgufEntry* entry = keys.file().metadata().find(
        fmt::format("{}.attention.sliding_window_pattern", spec.architecture));
    if (entry != nullptr && entry->type == GgufValueType::array) {
        const auto flags =
            keys.per_layer("attention.sliding_window_pattern", spec.num_layers, 0, 1);
        for (uint32_t i = 0; i < spec.num_layers; ++i) slides[i] = flags[i] != 0;
    } else {
        const uint32_t period =
            keys.u32_or("attention.sliding_window_pattern", pattern.period, 0, kMaxLayers);
        for (uint32_t i = 0; i < spec.num_layers; ++i)
            slides[i] = period != 0 && i % period != period - 1;
    }

    int32_t sliding_rope = 0;
    if (pattern.own_rope && !spec.ropes.empty()) {
        const float base = keys.f32_or("rope.freq_base_swa", pattern.own_base, 1.5f, 1e12f);
        spec.ropes.push_back(make_rope(keys, {.pairing = spec.ropes[0].pairing,
                                              .num_dims = spec.ropes[0].num_dims,
                                              .base = static_cast<double>(base),
                                              .is_scaled = false}));
        sliding_rope = 1;
    }
    for (uint32_t i = 0; i < spec.num_layers; ++i) {
        AttentionSpec* attention = spec.layers[i].attention();
        if (attention == nullptr) continue;
        if (slides[i]) {
            attention->window = window;
            attention->rope_index = sliding_rope;
        } else if (pattern.full_without_rope) {
            attention->rope_index = -1;
        }
    }
}

void set_qk_norm(Declaration& declaration, QkNorm kind) {
    for_each_attention(declaration, [&](AttentionSpec& attention) { attention.qk_norm = kind; });
}

void set_permuted(Declaration& declaration) {
    for_each_attention(declaration, [](AttentionSpec& attention) { attention.is_permuted = true; });
}

bool has_layer_tensor(const Hparams& keys, std::string_view slot) {
    return keys.file().find_tensor(fmt::format("blk.0.{}", slot)) != nullptr;
}

}  // namespace hokku::arch
