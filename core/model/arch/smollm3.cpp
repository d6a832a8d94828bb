// SPDX-License-Identifier: Apache-2.0
// smollm3: llama in which every fourth layer has no RoPE.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_smollm3(Hparams& keys) {
    Declaration declaration = make_decoder(keys, {.pairing = RopePairing::interleaved});
    ModelSpec& spec = declaration.spec;
    set_permuted(declaration);
    for (size_t i = 3; i < spec.layers.size(); i += 4)
        if (AttentionSpec* attention = spec.layers[i].attention()) attention->rope_index = -1;
    return declaration;
}

}  // namespace hokku::arch
