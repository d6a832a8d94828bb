// SPDX-License-Identifier: Apache-2.0
// granite and granitemoe: llama with multipliers on embedding, residual, attention and logits.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_granite(Hparams& keys) {
    Declaration declaration = make_decoder(keys, {.pairing = RopePairing::interleaved});
    ModelSpec& spec = declaration.spec;
    set_permuted(declaration);
    spec.embedding_scale = keys.f32_or("embedding_scale", 1.0f, 1e-6f, 1e6f);
    spec.residual_scale = keys.f32_or("residual_scale", 1.0f, 1e-6f, 1e6f);
    // Stored as a divisor.
    spec.logit_scale = 1.0f / keys.f32_or("logit_scale", 1.0f, 1e-6f, 1e6f);
    for (LayerSpec& layer : spec.layers)
        if (AttentionSpec* attention = layer.attention())
            attention->scale = keys.f32_or("attention.scale", attention->scale, 1e-6f, 1e6f);
    return declaration;
}

}  // namespace hokku::arch
