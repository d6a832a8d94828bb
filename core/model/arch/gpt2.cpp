// SPDX-License-Identifier: Apache-2.0
// gpt2: learned positions, LayerNorm and biases everywhere, GELU (tanh) without a gate.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_gpt2(Hparams& keys) {
    Declaration declaration = make_decoder(keys, {.norm = NormKind::layer,
                                                  .activation = Activation::gelu_tanh,
                                                  .gated = false,
                                                  .learned_positions = true});
    for_each_attention(declaration, [](AttentionSpec& attention) { attention.fused_qkv = true; });
    return declaration;
}

}  // namespace hokku::arch
