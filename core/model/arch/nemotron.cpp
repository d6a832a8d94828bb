// SPDX-License-Identifier: Apache-2.0
// nemotron: LayerNorm (weights stored as 1 + w), squared ReLU without a gate, partial RoPE.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_nemotron(Hparams& keys) {
    return make_decoder(keys, {.pairing = RopePairing::halves,
                               .norm = NormKind::layer,
                               .activation = Activation::relu_squared,
                               .gated = false});
}

}  // namespace hokku::arch
