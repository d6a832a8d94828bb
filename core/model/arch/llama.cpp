// SPDX-License-Identifier: Apache-2.0
// llama: Llama 1 to 3, Mistral, SmolLM2 and, with experts, Mixtral. The converter interleaves the
// rows of q and k so that RoPE pairs neighbours.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_llama(Hparams& keys) {
    Declaration declaration = make_decoder(keys, {.pairing = RopePairing::interleaved});
    set_permuted(declaration);
    return declaration;
}

}  // namespace hokku::arch
