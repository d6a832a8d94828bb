// SPDX-License-Identifier: Apache-2.0
// arcee: llama with a squared ReLU and no gate.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_arcee(Hparams& keys) {
    Declaration declaration = make_decoder(keys, {.pairing = RopePairing::interleaved,
                                                  .activation = Activation::relu_squared,
                                                  .gated = false});
    set_permuted(declaration);
    return declaration;
}

}  // namespace hokku::arch
