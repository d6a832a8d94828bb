// SPDX-License-Identifier: Apache-2.0
// phi2: attention and FFN side by side behind one LayerNorm, partial RoPE, biases everywhere, on
// the logits too.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_phi2(Hparams& keys) {
    Declaration declaration = make_decoder(keys, {.pairing = RopePairing::halves,
                                                  .norm = NormKind::layer,
                                                  .activation = Activation::gelu_tanh,
                                                  .gated = false,
                                                  .residual = Residual::parallel_shared});
    const bool is_fused = has_layer_tensor(keys, "attn_qkv.weight");
    for_each_attention(declaration,
                       [&](AttentionSpec& attention) { attention.fused_qkv = is_fused; });
    return declaration;
}

}  // namespace hokku::arch
