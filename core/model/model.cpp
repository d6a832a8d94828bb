// SPDX-License-Identifier: Apache-2.0
#include "model/model.h"

#include <type_traits>
#include <utility>

#include "base/try.h"
#include "model/arch/declaration.h"
#include "model/bind_weights.h"

namespace hokku {

Model::Model(std::shared_ptr<const GgufFile> file, ModelSpec spec, Weights weights)
    : file_(std::move(file)), spec_(std::move(spec)), weights_(std::move(weights)) {}

Result<Model> Model::load(std::shared_ptr<const GgufFile> file) {
    HOKKU_TRY(arch::Declaration declaration, arch::declare(*file));
    HOKKU_TRY(Weights weights, bind_weights(*file, declaration));
    return Model(std::move(file), std::move(declaration.spec), std::move(weights));
}

Model Model::layers(uint32_t begin, uint32_t end) const {
    const auto part_of_all = [&](const auto& all) {
        return std::remove_cvref_t<decltype(all)>(all.begin() + begin, all.begin() + end);
    };
    ModelSpec spec = spec_;
    spec.part = {.first_layer = begin, .is_first = begin == 0, .is_last = end == spec_.num_layers};
    spec.num_layers = end - begin;
    spec.layers = part_of_all(spec_.layers);
    Weights weights = weights_;
    weights.layers = part_of_all(weights_.layers);
    if (begin > 0) weights.embedding = weights.positions = {};
    if (!spec.part.is_last) {
        weights.head = {};
        weights.head_bias = {};
        weights.final_norm = {};
    }
    return with(std::move(spec), std::move(weights));
}

Model Model::with(ModelSpec spec, Weights weights) const {
    return Model(file_, std::move(spec), std::move(weights));
}

}  // namespace hokku
