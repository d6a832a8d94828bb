// SPDX-License-Identifier: Apache-2.0
// qwen3moe: Qwen 3 with experts, chosen weights renormalised, no shared expert.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_qwen3moe(Hparams& keys) {
    Declaration declaration = make_decoder(keys, {.pairing = RopePairing::halves});
    set_qk_norm(declaration, QkNorm::per_head);
    return declaration;
}

}  // namespace hokku::arch
