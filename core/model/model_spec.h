// SPDX-License-Identifier: Apache-2.0
// ModelSpec: a model as pure data. Dimensions, and for each layer which mixer, norms, RoPE,
// window and FFN it has. Written by the declarations in model/arch/, read by every backend. No
// tensors, no compute.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hokku {

enum class NormKind { none, rms, layer };
enum class Activation { silu, gelu_tanh, gelu_erf, relu_squared };
enum class RopePairing {
    interleaved,  ///< Rotates (x[2i], x[2i+1]): llama in GGUF ("NORM").
    halves,       ///< Rotates (x[i], x[i + n/2]): qwen, gemma, phi ("NEOX").
};

/// Rotary position embedding of one kind of layer. The table of inverse frequencies is computed
/// once from this: angle(pos, i) = pos * inv_freq[i], cos and sin times `magnitude`.
struct RopeSpec {
    RopePairing pairing = RopePairing::halves;
    uint32_t num_dims = 0;  ///< Rotated dimensions of each head; the rest passes through.
    std::vector<float>
        inv_freq;            ///< [num_dims / 2], every scaling (linear, YaRN, factors) applied.
    float magnitude = 1.0f;  ///< YaRN / LongRoPE attention factor.
};

struct AttentionSpec {
    uint32_t num_heads = 0, num_kv_heads = 0;
    uint32_t key_dim = 0, value_dim = 0;  ///< Per head.
    float scale = 0;                      ///< Multiplies q.k.
    float logit_softcap = 0;              ///< 0: none.
    uint32_t window = 0;                  ///< Attends to the last `window` tokens; 0: all.
    int32_t rope_index = -1;              ///< Into ModelSpec::ropes; -1: no RoPE.
    bool qk_norm_per_head = false;        ///< RMSNorm over key_dim of each head, before RoPE.
    bool qk_norm_whole = false;           ///< RMSNorm over the whole projection (OLMo 2).
    bool fused_qkv = false;               ///< One tensor, rows q, k, v.
};

struct ExpertSpec {
    uint32_t num_experts = 0, num_used = 0, hidden = 0;
    bool renormalise = true;  ///< Chosen weights are divided by their sum.
    float weight_scale = 1.0f;
    uint32_t shared_hidden = 0;  ///< 0: no shared expert.
    bool shared_gate = false;    ///< Shared expert times sigmoid of its own gate.
};

struct FfnSpec {
    Activation activation = Activation::silu;
    bool gated = true;
    bool fused_gate_up = false;  ///< One tensor, gate rows first.
    uint32_t hidden = 0;         ///< Of the dense FFN; 0 when experts only.
    std::optional<ExpertSpec> experts;
};

struct LayerSpec {
    AttentionSpec attention;
    FfnSpec ffn;
    bool pre_attention_norm = true, post_attention_norm = false;
    bool pre_ffn_norm = true, post_ffn_norm = false;
};

struct ModelSpec {
    std::string architecture;  ///< general.architecture of the file.
    uint32_t num_layers = 0, dim = 0, num_vocab = 0, trained_context = 0;
    NormKind norm = NormKind::rms;
    float norm_eps = 1e-5f;
    float embedding_scale = 1.0f, residual_scale = 1.0f, logit_scale = 1.0f;  ///< All multiply.
    float final_softcap = 0;
    std::vector<RopeSpec> ropes;
    std::vector<LayerSpec> layers;
};

}  // namespace hokku
