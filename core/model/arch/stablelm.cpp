// SPDX-License-Identifier: Apache-2.0
// stablelm: LayerNorm, partial RoPE, biases on q, k and v in some sizes. StableLM 2 12B runs
// attention and FFN side by side behind one norm and norms each head of q and k.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_stablelm(Hparams& keys) {
    const bool is_parallel = keys.flag_or("use_parallel_residual", false);
    Declaration declaration = make_decoder(
        keys, {.pairing = RopePairing::halves,
               .norm = NormKind::layer,
               .residual = is_parallel ? Residual::parallel_shared : Residual::sequential});
    if (has_layer_tensor(keys, "attn_q_norm.weight"))
        set_qk_norm(declaration, QkNorm::per_head_own);
    return declaration;
}

}  // namespace hokku::arch
