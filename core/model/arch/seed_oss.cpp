// SPDX-License-Identifier: Apache-2.0
// seed_oss: llama with biases on q, k and v; the norm before the FFN has another name.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_seed_oss(Hparams& keys) {
    Declaration declaration = make_decoder(keys, {.pairing = RopePairing::halves});
    declaration.names.ffn_norm = "post_attention_norm";
    return declaration;
}

}  // namespace hokku::arch
