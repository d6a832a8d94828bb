// SPDX-License-Identifier: Apache-2.0
// hunyuan-dense: RMSNorm of each head of q and k after RoPE.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_hunyuan(Hparams& keys) {
    Declaration declaration = make_decoder(keys, {.pairing = RopePairing::halves});
    for_each_attention(declaration, [](AttentionSpec& attention) {
        attention.qk_norm = QkNorm::per_head;
        attention.qk_norm_after_rope = true;
    });
    return declaration;
}

}  // namespace hokku::arch
