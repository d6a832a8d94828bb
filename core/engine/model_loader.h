// SPDX-License-Identifier: Apache-2.0
// The loader that reads GGUF files and runs them on a GPU or on the CPU.
#pragma once

#include <functional>
#include <memory>

#include "engine/loaded_model.h"

namespace hokku {

struct PluginTable;
using FindGpuPlugin = std::function<Result<const PluginTable*>()>;

/// `find_plugin`: find_gpu_plugin(), but for tests.
std::unique_ptr<ModelLoader> make_model_loader(FindGpuPlugin find_plugin = {});

}  // namespace hokku
