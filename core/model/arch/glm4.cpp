// SPDX-License-Identifier: Apache-2.0
// glm4: norms before and after attention and FFN, fused gate and up, partial RoPE of neighbours.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_glm4(Hparams& keys) {
    Declaration declaration = make_decoder(keys, {.pairing = RopePairing::interleaved});
    for (LayerSpec& layer : declaration.spec.layers) {
        layer.ffn.fused_gate_up = true;
        layer.post_mixer_norm = layer.post_ffn_norm = true;
    }
    return declaration;
}

}  // namespace hokku::arch
