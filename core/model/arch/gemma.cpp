// SPDX-License-Identifier: Apache-2.0
// gemma, gemma2, gemma3: embeddings times sqrt(dim), GELU (tanh) gates; norm weights are stored as
// 1 + w. Gemma 2 adds softcaps, alternating windows and post norms; Gemma 3 adds q/k norms and
// windows five to one with a RoPE of their own.
#include <cmath>

#include "model/arch/declaration.h"

namespace hokku::arch {

namespace {

Declaration make_gemma(Hparams& keys) {
    Declaration declaration =
        make_decoder(keys, {.pairing = RopePairing::halves, .activation = Activation::gelu_tanh});
    ModelSpec& spec = declaration.spec;
    spec.embedding_scale = std::sqrt(static_cast<float>(spec.dim));
    return declaration;
}

void add_post_norms(Declaration& declaration) {
    for (LayerSpec& layer : declaration.spec.layers)
        layer.post_mixer_norm = layer.post_ffn_norm = true;
}

/// The 27B sizes scale scores by sqrt(dim / heads) instead of sqrt(head size); the file does not
/// say so, hence the number of layers decides. Source: query_pre_attn_scalar of the configs.
void scale_27b(Declaration& declaration, uint32_t num_layers_27b) {
    ModelSpec& spec = declaration.spec;
    if (spec.num_layers != num_layers_27b) return;
    for (LayerSpec& layer : spec.layers)
        if (AttentionSpec* attention = layer.attention())
            attention->scale = 1.0f / std::sqrt(static_cast<float>(spec.dim) /
                                                static_cast<float>(attention->num_heads));
}

}  // namespace

Declaration declare_gemma(Hparams& keys) {
    return make_gemma(keys);
}

Declaration declare_gemma2(Hparams& keys) {
    Declaration declaration = make_gemma(keys);
    add_post_norms(declaration);
    scale_27b(declaration, 46);
    apply_sliding_window(keys, declaration, {.period = 2});
    declaration.spec.final_softcap = keys.f32_or("final_logit_softcapping", 30.0f, 0.0f, 1e6f);
    const float softcap = keys.f32_or("attn_logit_softcapping", 50.0f, 0.0f, 1e6f);
    for (LayerSpec& layer : declaration.spec.layers)
        if (AttentionSpec* attention = layer.attention()) attention->logit_softcap = softcap;
    return declaration;
}

Declaration declare_gemma3(Hparams& keys) {
    Declaration declaration = make_gemma(keys);
    add_post_norms(declaration);
    set_qk_norm(declaration, QkNorm::per_head);
    scale_27b(declaration, 62);
    apply_sliding_window(keys, declaration, {.period = 6, .own_rope = true, .own_base = 10000});
    declaration.spec.final_softcap = keys.f32_or("final_logit_softcapping", 0.0f, 0.0f, 1e6f);
    return declaration;
}

}  // namespace hokku::arch
