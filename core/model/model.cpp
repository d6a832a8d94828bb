// SPDX-License-Identifier: Apache-2.0
#include "model/model.h"

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

}  // namespace hokku
