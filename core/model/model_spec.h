// SPDX-License-Identifier: Apache-2.0
// ModelSpec: a model as pure data. Dimensions, and for each layer which mixer, norms, RoPE,
// window and FFN it has. Written by the declarations in model/arch/, read by every backend. No
// tensors, no compute. It can say more than a backend computes: a backend refuses by name what it
// does not know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace hokku {

enum class NormKind {
    rms,    ///< x / rms(x) * weight
    layer,  ///< (x - mean) / deviation * weight + bias (the bias may be absent)
};

enum class Activation {
    silu,
    gelu_tanh,       ///< The tanh approximation of GELU.
    gelu_erf,        ///< The exact GELU.
    relu_squared,    ///< max(x, 0)^2
    swiglu_clamped,  ///< gpt-oss: clamped gate and up, sigmoid(1.702 x), up + 1.
    xielu,           ///< Apertus; parameters in XieluSpec.
};

// ---- Rotary positions -------------------------------------------------------------------------

enum class RopePairing {
    interleaved,  ///< Rotates (x[2i], x[2i+1]): llama in GGUF ("NORM").
    halves,       ///< Rotates (x[i], x[i + n/2]): qwen, gemma, phi ("NEOX").
};

/// Rotary position embedding of one kind of layer. The table of inverse frequencies is computed
/// once from this: angle(pos, i) = pos * inv_freq[i], cos and sin times `magnitude`.
struct RopeSpec {
    RopePairing pairing = RopePairing::halves;
    uint32_t num_dims = 0;        ///< Rotated dimensions of each head (the first ones); even.
    std::vector<float> inv_freq;  ///< [num_dims / 2], every scaling (linear, YaRN, factors) in it.
    /// LongRoPE: used instead of inv_freq when the context is made longer than this many tokens.
    std::vector<float> long_inv_freq;
    uint32_t long_above_context = 0;
    float magnitude = 1.0f;  ///< YaRN / LongRoPE attention factor.
};

// ---- Mixers: how a layer looks at other positions ----------------------------------------------

enum class QkNorm {
    none,
    per_head,      ///< Over key_dim of each head, one weight for all heads (Qwen 3, Gemma 3).
    per_head_own,  ///< The same with a weight for each head (StableLM 2).
    whole,         ///< Over the whole projection (OLMo 2).
};

/// Softmax attention over cached keys and values.
struct AttentionSpec {
    uint32_t num_heads = 0, num_kv_heads = 0;
    uint32_t key_dim = 0, value_dim = 0;  ///< Per head.
    float scale = 0;                      ///< Multiplies q.k.
    float logit_softcap = 0;              ///< cap * tanh(q.k / cap); 0: none.
    uint32_t window = 0;                  ///< Sees the last `window` tokens, itself one; 0: all.
    int32_t rope_index = -1;              ///< Into ModelSpec::ropes; -1: no RoPE.
    QkNorm qk_norm = QkNorm::none;        ///< Of the model's NormKind.
    bool qk_norm_after_rope = false;      ///< Hunyuan; else before.
    /// The converter interleaved the rows of q and k, whose original pairs halves (llama): only
    /// traces care, which show them in the original order.
    bool is_permuted = false;
    bool fused_qkv = false;        ///< One tensor: all rows of q, then k, then v.
    bool has_sinks = false;        ///< One logit a head that takes part in the softmax only.
    bool has_output_gate = false;  ///< q rows hold a gate too: out * sigmoid(gate) (Qwen 3 Next).
    bool value_norm = false;       ///< RMSNorm without weight over each value head (Gemma 4).
    bool keys_are_values = false;  ///< No v projection: v is k before its norm (Gemma 4).
    int32_t kv_from_layer = -1;    ///< Reads the KV of this layer and stores none; -1: its own.
    /// q * (1 + temperature * ln(1 + floor(position / temperature_span))); 0: none (Ministral 3).
    float temperature = 0;
    uint32_t temperature_span = 0;
};

/// Multi-head latent attention: keys and values of all heads are one compressed vector (DeepSeek).
struct LatentAttentionSpec {
    uint32_t num_heads = 0;
    uint32_t query_rank = 0;  ///< 0: q is projected directly.
    uint32_t kv_rank = 0;
    uint32_t key_nope_dim = 0, key_rope_dim = 0, value_dim = 0;  ///< Per head.
    float scale = 0;                                             ///< YaRN's square included.
    int32_t rope_index = -1;
};

/// Gated delta net: linear attention with a state of [num_value_heads, key_dim, value_dim].
struct DeltaNetSpec {
    uint32_t num_key_heads = 0, num_value_heads = 0;
    uint32_t key_dim = 0, value_dim = 0;  ///< Per head.
    uint32_t conv_kernel = 0;
    bool fused_beta_alpha = false;  ///< One tensor, grouped by key head (Qwen 3 Next).
};

/// Gated short convolution over the last `kernel` tokens (LFM 2).
struct ShortConvSpec {
    uint32_t kernel = 0;
};

using MixerSpec = std::variant<AttentionSpec, LatentAttentionSpec, DeltaNetSpec, ShortConvSpec>;

// ---- Feed-forward networks ---------------------------------------------------------------------

enum class Gating {
    softmax,         ///< Over all experts, then the best are chosen.
    sigmoid,         ///< Of each expert alone.
    softmax_chosen,  ///< The best logits are chosen, softmax over them (gpt-oss).
};

struct ExpertSpec {
    uint32_t num_experts = 0, num_used = 0;
    uint32_t hidden = 0;  ///< Of one expert.
    Gating gating = Gating::softmax;
    bool has_selection_bias = false;               ///< Added to the weights for choosing only.
    uint32_t num_groups = 1, num_groups_used = 1;  ///< Experts are chosen from the best groups.
    bool renormalise = true;                       ///< Chosen weights are divided by their sum.
    float min_weight_sum = 0;                      ///< Of that division.
    float weight_scale = 1.0f;
    uint32_t shared_hidden = 0;  ///< 0: no shared expert.
    bool shared_gate = false;    ///< Shared expert times sigmoid of its own gate.
    bool fused_gate_up = false;  ///< One tensor, gate rows first.
    bool beside_dense = false;   ///< The dense FFN runs too, each with norms (Gemma 4).
    bool scaled_router = false;  ///< Router input is normed and scaled, experts scaled (Gemma 4).
};

/// x > 0: alpha_p x^2 + beta x; else (expm1(min(x, eps)) - x) alpha_n + beta x.
/// Source : Apertus, arXiv:2509.14233; the file stores alphas before the softplus.
struct XieluSpec {
    float alpha_n = 0, alpha_p = 0, beta = 0, eps = 0;
};

struct FfnSpec {
    Activation activation = Activation::silu;
    bool gated = true;           ///< act(gate x) * (up x); else act(up x).
    bool fused_gate_up = false;  ///< One tensor, gate rows first.
    uint32_t hidden = 0;         ///< Of the dense FFN; 0 when experts only.
    XieluSpec xielu;
    float sparsity = 0;  ///< Gate values below mean + sparsity * deviation are cut (Gemma 3n).
    std::optional<ExpertSpec> experts;
};

// ---- Layers and the model ----------------------------------------------------------------------

enum class Residual {
    sequential,       ///< x += mixer(norm(x)); x += ffn(norm(x))
    parallel,         ///< x += mixer(norm_a(x)) + ffn(norm_f(x))
    parallel_shared,  ///< x += mixer(n) + ffn(n), n = norm_a(x)
};

struct LayerSpec {
    MixerSpec mixer;
    FfnSpec ffn;
    Residual residual = Residual::sequential;
    bool pre_mixer_norm = true, post_mixer_norm = false;
    bool pre_ffn_norm = true, post_ffn_norm = false;
    bool has_output_scale = false;  ///< x *= a scalar of its own at the end (Gemma 4).

    /// The mixer when it is softmax attention, else nullptr.
    [[nodiscard]] const AttentionSpec* attention() const {
        return std::get_if<AttentionSpec>(&mixer);
    }
    [[nodiscard]] AttentionSpec* attention() { return std::get_if<AttentionSpec>(&mixer); }
};

/// A small embedding of the token for every layer, gated into the residual (Gemma 3n, Gemma 4).
struct PerLayerInputSpec {
    uint32_t dim = 0;  ///< Per layer.
};

/// Alternating updates: several residual streams, one of them active (Gemma 3n).
struct AltupSpec {
    uint32_t num_streams = 0, active = 0, laurel_rank = 0;
};

/// Which part of a model this is: Model::layers().
struct PartSpec {
    uint32_t first_layer = 0;  ///< Of the whole.
    bool is_first = true;      ///< Else the input is a residual stream, not tokens.
    bool is_last = true;       ///< Else the output is the residual stream, not logits.
};

struct ModelSpec {
    std::string architecture;  ///< general.architecture of the file.
    PartSpec part;             ///< Of a whole model as it is.
    uint32_t num_layers = 0, dim = 0, num_vocab = 0, trained_context = 0;
    NormKind norm = NormKind::rms;
    float norm_eps = 1e-5f;
    float embedding_scale = 1.0f, residual_scale = 1.0f, logit_scale = 1.0f;  ///< All multiply.
    float final_softcap = 0;
    uint32_t num_learned_positions = 0;  ///< Rows of a position table that is added (GPT-2).
    std::vector<RopeSpec> ropes;
    std::vector<LayerSpec> layers;
    std::optional<PerLayerInputSpec> per_layer_input;
    std::optional<AltupSpec> altup;
};

}  // namespace hokku
