// SPDX-License-Identifier: Apache-2.0
// command-r and cohere2: attention and FFN side by side behind one LayerNorm without bias, logits
// times a factor. Command R+ norms each head of q and k by its own weight; in Cohere 2 three of
// four layers slide, and only these rotate.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_cohere(Hparams& keys) {
    Declaration declaration = make_decoder(keys, {.pairing = RopePairing::interleaved,
                                                  .norm = NormKind::layer,
                                                  .residual = Residual::parallel_shared});
    declaration.spec.logit_scale = keys.f32_or("logit_scale", 1.0f, 1e-6f, 1e6f);
    if (has_layer_tensor(keys, "attn_q_norm.weight"))
        set_qk_norm(declaration, QkNorm::per_head_own);
    return declaration;
}

Declaration declare_cohere2(Hparams& keys) {
    Declaration declaration = declare_cohere(keys);
    apply_sliding_window(keys, declaration, {.period = 4, .full_without_rope = true});
    return declaration;
}

}  // namespace hokku::arch
