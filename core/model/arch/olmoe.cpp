// SPDX-License-Identifier: Apache-2.0
// olmoe: experts without renormalisation, q/k norm over the whole projection.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_olmoe(Hparams& keys) {
    Declaration declaration =
        make_decoder(keys, {.pairing = RopePairing::halves, .renormalise_experts = false});
    set_qk_norm(declaration, QkNorm::whole);
    return declaration;
}

}  // namespace hokku::arch
