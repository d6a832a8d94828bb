// SPDX-License-Identifier: Apache-2.0
// qwen3: RMSNorm of each head of q and k before RoPE; the head size is free of dim / heads.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_qwen3(Hparams& keys) {
    Declaration declaration = make_decoder(keys, {.pairing = RopePairing::halves});
    set_qk_norm(declaration, QkNorm::per_head);
    return declaration;
}

}  // namespace hokku::arch
