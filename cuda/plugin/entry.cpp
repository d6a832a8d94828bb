// SPDX-License-Identifier: Apache-2.0
// The one function that the plug-in exports, and the driver and kernels that it runs on.
#include <utility>

#include "driver/blas_api.h"
#include "driver/nccl_api.h"
#include "plugin/images.h"
#include "plugin/plugin.h"

#if defined(_WIN32)
#define HOKKU_EXPORT __declspec(dllexport)
#else
#define HOKKU_EXPORT __attribute__((visibility("default")))
#endif

namespace hokku::cuda {

namespace {

Result<std::unique_ptr<SymbolSource>> open_installed_blas() {
    return open_library(blas_library_names());
}

Result<std::unique_ptr<SymbolSource>> open_installed_nccl() {
    return open_library(nccl_library_names());
}

Result<PluginSource> open_installed_source() {
    PluginSource source;
    const auto images = kernel_images();
    source.images.assign(images.begin(), images.end());
    if (source.images.empty()) {
        return Error{ErrorCode::unsupported, "the plug-in was built without kernels", "GPU",
                     "nvcc of CUDA 13 at its build"};
    }
    auto library = open_library(driver_library_names());
    if (!library.ok()) {
        return Error{ErrorCode::unsupported, "there is no NVIDIA driver", library.error().where,
                     ""};
    }
    source.library = std::move(library).value();
    source.open_blas = open_installed_blas;
    source.open_nccl = open_installed_nccl;
    return source;
}

}  // namespace

}  // namespace hokku::cuda

extern "C" HOKKU_EXPORT const hokku::PluginTable* hokku_plugin_entry(uint32_t version);

const hokku::PluginTable* hokku_plugin_entry(uint32_t version) {
    if (version != hokku::kPluginVersion) return nullptr;
    hokku::cuda::set_plugin_source(hokku::cuda::open_installed_source);
    return &hokku::cuda::plugin_table();
}
