// SPDX-License-Identifier: Apache-2.0
// The loader that reads GGUF files and runs them on a GPU or on the CPU.
#pragma once

#include <functional>
#include <memory>

#include "engine/loaded_model.h"
#include "engine/system_memory.h"

namespace hokku {

struct PluginTable;
using FindGpuPlugin = std::function<Result<const PluginTable*>()>;

using ReadMemory = std::function<SystemMemory()>;

/// `find_plugin`: find_gpu_plugin(), `read_memory`: read_system_memory(), but for tests.
std::unique_ptr<ModelLoader> make_model_loader(FindGpuPlugin find_plugin = {},
                                               ReadMemory read_memory = read_system_memory);

}  // namespace hokku
