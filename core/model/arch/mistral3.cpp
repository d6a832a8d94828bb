// SPDX-License-Identifier: Apache-2.0
// mistral3: Ministral 3. llama whose queries grow with the logarithm of their position, counted in
// original contexts.
#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_mistral3(Hparams& keys) {
    Declaration declaration = make_decoder(keys, {.pairing = RopePairing::interleaved});
    set_permuted(declaration);
    const float temperature = keys.f32_or("attention.temperature_scale", 0.0f, 0.0f, 1e3f);
    if (temperature == 0) return declaration;
    const uint32_t span = keys.u32("rope.scaling.original_context_length", 1, 1u << 31);
    for_each_attention(declaration, [&](AttentionSpec& attention) {
        attention.temperature = temperature;
        attention.temperature_span = span;
    });
    return declaration;
}

}  // namespace hokku::arch
