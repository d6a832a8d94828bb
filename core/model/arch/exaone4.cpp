// SPDX-License-Identifier: Apache-2.0
// exaone4: norms only after attention and FFN, RMSNorm of each head of q and k. The hybrid sizes
// slide in three of four layers, and only these rotate.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_exaone4(Hparams& keys) {
    Declaration declaration = make_decoder(keys, {.pairing = RopePairing::halves});
    set_qk_norm(declaration, QkNorm::per_head);
    for (LayerSpec& layer : declaration.spec.layers) {
        layer.pre_mixer_norm = layer.pre_ffn_norm = false;
        layer.post_mixer_norm = layer.post_ffn_norm = true;
    }
    apply_sliding_window(keys, declaration, {.period = 4, .full_without_rope = true});
    return declaration;
}

}  // namespace hokku::arch
