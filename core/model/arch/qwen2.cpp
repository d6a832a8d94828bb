// SPDX-License-Identifier: Apache-2.0
// qwen2: Qwen 1.5 to 2.5. Biases on q, k and v, which reach -34 and beyond.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_qwen2(Hparams& keys) {
    return make_decoder(keys, {.pairing = RopePairing::halves});
}

}  // namespace hokku::arch
