// SPDX-License-Identifier: Apache-2.0
// The plug-in's table (core/backend/plugin/plugin_api.h) over a driver and kernel images, which
// tests replace by the emulator.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "backend/plugin/plugin_api.h"
#include "driver/driver_api.h"

namespace hokku::cuda {

/// Where driver and kernels come from.
struct PluginSource {
    std::unique_ptr<SymbolSource> library;
    std::vector<const void*> images;  ///< They outlive everything.
    /// Opens cuBLAS, for models that need it.
    Result<std::unique_ptr<SymbolSource>> (*open_blas)() = nullptr;
    /// Opens NCCL, for models on several devices.
    Result<std::unique_ptr<SymbolSource>> (*open_nccl)() = nullptr;
};

/// Called when the driver is needed first; called again after an error.
using OpenPluginSource = Result<PluginSource> (*)();
void set_plugin_source(OpenPluginSource open);

const PluginTable& plugin_table();

}  // namespace hokku::cuda
