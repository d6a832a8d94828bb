// SPDX-License-Identifier: Apache-2.0
// The loader that reads GGUF files and runs them on the CPU backend.
#pragma once

#include <memory>

#include "engine/loaded_model.h"

namespace hokku {

std::unique_ptr<ModelLoader> make_model_loader();

}  // namespace hokku
