// SPDX-License-Identifier: Apache-2.0
// apertus: xIELU activation without a gate, with parameters of its own in each layer; RMSNorm of
// each head of q and k.
#include <cmath>
#include <vector>

#include "model/arch/declaration.h"

namespace hokku::arch {

Declaration declare_apertus(Hparams& keys) {
    Declaration declaration = make_decoder(
        keys, {.pairing = RopePairing::halves, .activation = Activation::xielu, .gated = false});
    set_qk_norm(declaration, QkNorm::per_head);
    std::vector<LayerSpec>& layers = declaration.spec.layers;
    const auto alpha_n = keys.floats_of_full_key("xielu.alpha_n", layers.size());
    const auto alpha_p = keys.floats_of_full_key("xielu.alpha_p", layers.size());
    const auto beta = keys.floats_of_full_key("xielu.beta", layers.size());
    const auto eps = keys.floats_of_full_key("xielu.eps", layers.size());
    const auto softplus = [](float x) { return std::log1p(std::exp(x)); };
    for (size_t i = 0; i < layers.size(); ++i)
        layers[i].ffn.xielu = {.alpha_n = beta[i] + softplus(alpha_n[i]),
                               .alpha_p = softplus(alpha_p[i]),
                               .beta = beta[i],
                               .eps = eps[i]};
    return declaration;
}

}  // namespace hokku::arch
