// SPDX-License-Identifier: Apache-2.0
// ernie4_5 and ernie4_5-moe: llama whose original pairs neighbours itself; the experts' router is
// a softmax, to which a correction bias is added for choosing.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_ernie45(Hparams& keys) {
    Declaration declaration = make_decoder(keys, {.pairing = RopePairing::interleaved});
    for (LayerSpec& layer : declaration.spec.layers)
        if (layer.ffn.experts) layer.ffn.experts->min_weight_sum = 1e-12f;
    return declaration;
}

}  // namespace hokku::arch
