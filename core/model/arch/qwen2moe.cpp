// SPDX-License-Identifier: Apache-2.0
// qwen2moe: Qwen 1.5/2 with experts. Weights of the chosen experts are not renormalised; one shared
// expert has a sigmoid gate of its own.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_qwen2moe(Hparams& keys) {
    Declaration declaration =
        make_decoder(keys, {.pairing = RopePairing::halves, .renormalise_experts = false});
    for (LayerSpec& layer : declaration.spec.layers) {
        if (!layer.ffn.experts) continue;
        ExpertSpec& experts = *layer.ffn.experts;
        experts.shared_gate = true;
        // Early files leave the size of the shared expert to feed_forward_length.
        if (experts.shared_hidden == 0)
            experts.shared_hidden = keys.u32("feed_forward_length", 1, 1u << 24);
    }
    return declaration;
}

}  // namespace hokku::arch
