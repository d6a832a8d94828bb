// SPDX-License-Identifier: Apache-2.0
// gptneox: GPT-NeoX-20B, Pythia and their kin. LayerNorm and biases everywhere, attention and FFN
// side by side (mostly), each behind a norm of its own, partial RoPE.
#include <algorithm>
#include <array>
#include <utility>

#include "model/arch/declaration.h"

namespace hokku::arch {

namespace {

/// The file does not say which GELU was trained: the tanh form in GPT-NeoX-20B ("gelu_fast"), the
/// exact one in Pythia (told by its sizes) and in the sequential models (RedPajama).
/// Source: config.json of the models, hidden_act.
Activation trained_gelu(const ModelSpec& spec, bool is_parallel) {
    constexpr std::array<std::pair<uint32_t, uint32_t>, 8> kPythia = {{{6, 512},
                                                                       {12, 768},
                                                                       {24, 1024},
                                                                       {16, 2048},
                                                                       {24, 2048},
                                                                       {32, 2560},
                                                                       {32, 4096},
                                                                       {36, 5120}}};
    const bool is_pythia = std::find(kPythia.begin(), kPythia.end(),
                                     std::pair(spec.num_layers, spec.dim)) != kPythia.end();
    return is_pythia || !is_parallel ? Activation::gelu_erf : Activation::gelu_tanh;
}

}  // namespace

Declaration declare_gptneox(Hparams& keys) {
    const bool is_parallel = keys.flag_or("use_parallel_residual", true);
    Declaration declaration =
        make_decoder(keys, {.pairing = RopePairing::halves,
                            .norm = NormKind::layer,
                            .gated = false,
                            .residual = is_parallel ? Residual::parallel : Residual::sequential});
    for_each_attention(declaration, [](AttentionSpec& attention) { attention.fused_qkv = true; });
    for (LayerSpec& layer : declaration.spec.layers)
        layer.ffn.activation = trained_gelu(declaration.spec, is_parallel);
    return declaration;
}

}  // namespace hokku::arch
