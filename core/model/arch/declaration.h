// SPDX-License-Identifier: Apache-2.0
// What a declaration of an architecture is, and the parts that declarations are made of. To add an
// architecture: write arch/<name>.cpp with one function, declare it here and enter it in the table
// of arch/registry.cpp; golden models for it belong in tests/model.
#pragma once

#include <span>
#include <string_view>

#include "gguf/gguf_file.h"
#include "hokku/result.h"
#include "model/hparams.h"
#include "model/model_spec.h"

namespace hokku::arch {

/// Names of tensors within a layer where families differ ("blk.N." goes before, ".weight" after).
struct TensorNames {
    std::string_view ffn_norm = "ffn_norm";
};

struct Declaration {
    ModelSpec spec;
    TensorNames names;
    uint32_t num_unused_blocks = 0;  ///< Behind the layers of spec: "blk.N." of these is skipped.
};

/// What a family fixes without saying so in the file.
struct DecoderFamily {
    RopePairing pairing = RopePairing::halves;
    NormKind norm = NormKind::rms;
    Activation activation = Activation::silu;
    bool gated = true;
    bool renormalise_experts = true;
    Residual residual = Residual::sequential;
    bool learned_positions = false;  ///< In place of RoPE.
};

/// A decoder of attention and FFN layers as most families are: dimensions, heads, RoPE (ropes[0])
/// and experts (where the file counts any) from the usual keys.
Declaration make_decoder(Hparams& keys, const DecoderFamily& family);

/// Which layers slide over `attention.sliding_window` tokens.
struct SlidingPattern {
    uint32_t period = 0;     ///< Layer i sees all when i % period == period - 1; 0: none slides.
    bool own_rope = false;   ///< Sliding layers rotate by rope.freq_base_swa, unscaled.
    float own_base = 10000;  ///< Where the file does not give it.
    bool full_without_rope = false;  ///< Layers that see all do not rotate.
};

/// Reads the window and, where present, the file's own pattern, which wins over `pattern.period`.
void apply_sliding_window(Hparams& keys, Declaration& declaration, const SlidingPattern& pattern);

/// Sets the same q/k norm in every layer.
void set_qk_norm(Declaration& declaration, QkNorm kind);

/// Softmax attention of every layer that has it, for changes that apply to all.
template <class Change>
void for_each_attention(Declaration& declaration, Change&& change) {
    for (LayerSpec& layer : declaration.spec.layers)
        if (AttentionSpec* attention = layer.attention()) change(*attention);
}

/// Whether the file has this tensor of layer 0: "attn_qkv.weight".
bool has_layer_tensor(const Hparams& keys, std::string_view slot);

/// Marks q and k as interleaved by the converter (AttentionSpec::is_permuted).
void set_permuted(Declaration& declaration);

// ---- One function an architecture, in arch/<name>.cpp ------------------------------------------

Declaration declare_apertus(Hparams& keys);
Declaration declare_arcee(Hparams& keys);
Declaration declare_cohere(Hparams& keys);
Declaration declare_cohere2(Hparams& keys);
Declaration declare_ernie45(Hparams& keys);
Declaration declare_exaone4(Hparams& keys);
Declaration declare_gemma(Hparams& keys);
Declaration declare_gemma2(Hparams& keys);
Declaration declare_gemma3(Hparams& keys);
Declaration declare_glm4(Hparams& keys);
Declaration declare_glm4moe(Hparams& keys);
Declaration declare_gpt2(Hparams& keys);
Declaration declare_gptneox(Hparams& keys);
Declaration declare_gptoss(Hparams& keys);
Declaration declare_granite(Hparams& keys);
Declaration declare_hunyuan(Hparams& keys);
Declaration declare_llama(Hparams& keys);
Declaration declare_mistral3(Hparams& keys);
Declaration declare_nemotron(Hparams& keys);
Declaration declare_olmo2(Hparams& keys);
Declaration declare_olmoe(Hparams& keys);
Declaration declare_phi2(Hparams& keys);
Declaration declare_phi3(Hparams& keys);
Declaration declare_qwen2(Hparams& keys);
Declaration declare_qwen2moe(Hparams& keys);
Declaration declare_qwen3(Hparams& keys);
Declaration declare_qwen3moe(Hparams& keys);
Declaration declare_seed_oss(Hparams& keys);
Declaration declare_smollm3(Hparams& keys);
Declaration declare_stablelm(Hparams& keys);
Declaration declare_starcoder2(Hparams& keys);

// ---- The table ---------------------------------------------------------------------------------

struct Architecture {
    std::string_view name;  ///< general.architecture
    Declaration (*declare)(Hparams& keys);
};

std::span<const Architecture> architectures();

/// Errors : unsupported (naming the architecture and those that are known), bad_format (a key that
///          is missing, of a wrong type, out of range or contradicts another).
Result<Declaration> declare(const GgufFile& file);

}  // namespace hokku::arch
