// SPDX-License-Identifier: Apache-2.0
// A model whose first layers run on one backend and whose others on a second one: layers that do
// not fit on a GPU stay on the CPU. What goes from one to the other is the residual stream.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "model/model.h"

namespace hokku {

/// A backend with the layers that it runs.
struct ModelPart {
    std::unique_ptr<const Model> model;  ///< Model::layers(); outlives the backend. May be null.
    std::unique_ptr<Backend> backend;
};

/// Both have as many KV blocks of the same type. `num_front` of all layers are those of `front`.
std::unique_ptr<Backend> make_split_backend(ModelPart front, ModelPart back, uint32_t num_front,
                                            uint32_t num_layers);

}  // namespace hokku
