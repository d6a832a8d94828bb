// SPDX-License-Identifier: Apache-2.0
// olmo2: OLMo 2 and 3. Norms only after attention and FFN, q/k norm over the whole projection;
// OLMo 3 has windows, whose layers rotate without the scaling of the others.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_olmo2(Hparams& keys) {
    Declaration declaration = make_decoder(keys, {.pairing = RopePairing::halves});
    set_qk_norm(declaration, QkNorm::whole);
    for (LayerSpec& layer : declaration.spec.layers) {
        layer.pre_mixer_norm = layer.pre_ffn_norm = false;
        layer.post_mixer_norm = layer.post_ffn_norm = true;
    }
    const float base = keys.f32_or("rope.freq_base", 10000.0f, 1.5f, 1e12f);
    apply_sliding_window(keys, declaration, {.period = 4, .own_rope = true, .own_base = base});
    return declaration;
}

}  // namespace hokku::arch
