// SPDX-License-Identifier: Apache-2.0
// phi3: Phi 3 and 4. Fused qkv and gate/up tensors, partial rotary, LongRoPE. The sliding window
// that some files state is left off, as the models were trained and are run without it.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_phi3(Hparams& keys) {
    Declaration declaration = make_decoder(keys, {.pairing = RopePairing::halves});
    for (LayerSpec& layer : declaration.spec.layers) {
        layer.ffn.fused_gate_up = true;
        if (AttentionSpec* attention = layer.attention()) attention->fused_qkv = true;
    }
    return declaration;
}

}  // namespace hokku::arch
