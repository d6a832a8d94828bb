// SPDX-License-Identifier: Apache-2.0
// starcoder2: LayerNorm and biases everywhere, GELU (tanh) without a gate.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_starcoder2(Hparams& keys) {
    return make_decoder(keys, {.pairing = RopePairing::halves,
                               .norm = NormKind::layer,
                               .activation = Activation::gelu_tanh,
                               .gated = false});
}

}  // namespace hokku::arch
