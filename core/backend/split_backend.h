// SPDX-License-Identifier: Apache-2.0
// A model whose layers run on several backends, one behind the other: layers that do not fit on a
// GPU go to the next one, or stay on the CPU. What goes from one to the next is the residual
// stream.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "model/model.h"

namespace hokku {

/// A backend with the layers that it runs.
struct ModelPart {
    std::unique_ptr<const Model> model;  ///< Model::layers(); outlives the backend. May be null.
    std::unique_ptr<Backend> backend;
    uint32_t num_layers = 0;
    bool is_rest = false;  ///< What the others had no room for: named last.
};

/// Needs  : at least two parts, in the order of their layers, which are all of a model; all have as
///          many KV blocks of the same type, and what is not the last one gives the residual
///          stream.
std::unique_ptr<Backend> make_split_backend(std::vector<ModelPart> parts);

}  // namespace hokku
