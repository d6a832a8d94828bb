// SPDX-License-Identifier: Apache-2.0
// glm4moe: GLM 4.5. Partial RoPE of halves, biases, in the larger sizes q/k norms; experts chosen
// by sigmoid scores with a correction bias, one shared expert. Layers that predict further tokens
// stay unused.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_glm4moe(Hparams& keys) {
    Declaration declaration = make_decoder(keys, {.pairing = RopePairing::halves});
    declaration.names.ffn_norm = "post_attention_norm";
    if (has_layer_tensor(keys, "attn_q_norm.weight")) set_qk_norm(declaration, QkNorm::per_head);
    // Files without the key are sigmoid ones too.
    if (!keys.has("expert_gating_func"))
        for (LayerSpec& layer : declaration.spec.layers)
            if (layer.ffn.experts) layer.ffn.experts->gating = Gating::sigmoid;
    return declaration;
}

}  // namespace hokku::arch
