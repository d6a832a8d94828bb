// SPDX-License-Identifier: Apache-2.0
// gpt-oss: attention sinks, every other layer slides, clamped SwiGLU experts with biases, softmax
// over the chosen experts only.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_gptoss(Hparams& keys) {
    Declaration declaration = make_decoder(
        keys, {.pairing = RopePairing::halves, .activation = Activation::swiglu_clamped});
    declaration.names.ffn_norm = "post_attention_norm";
    apply_sliding_window(keys, declaration, {.period = 2});
    for_each_attention(declaration, [](AttentionSpec& attention) { attention.has_sinks = true; });
    for (LayerSpec& layer : declaration.spec.layers) {
        if (!layer.ffn.experts) continue;
        layer.ffn.experts->gating = Gating::softmax_chosen;
        layer.ffn.experts->renormalise = false;
    }
    return declaration;
}

}  // namespace hokku::arch
