// SPDX-License-Identifier: Apache-2.0
// The core's side of a plug-in for GPUs: finding and checking its library, what devices it has,
// and models on them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "gguf/gguf_file.h"
#include "hokku/result.h"

namespace hokku {

struct PluginTable;
struct PluginModel;

struct GpuDevice {
    std::string name;  ///< As the maker calls it.
    uint64_t total_bytes = 0;
    std::string architecture;    ///< "9.0"
    std::string driver_version;  ///< "CUDA 13.0"
};

/// Bytes that a model takes on a device, and what there is.
struct GpuPlan {
    uint64_t free_bytes = 0, total_bytes = 0;
    uint64_t weight_bytes = 0, fixed_bytes = 0, kv_block_bytes = 0;
};

/// A model that was checked for a device, which may take some of its layers. Errors come from the
/// plug-in.
///
/// Threads: one at a time.
class GpuModel {
  public:
    /// `file` outlives it. With several ranks: on as many devices, from this one on.
    static Result<std::unique_ptr<GpuModel>> open(const PluginTable& plugin, uint32_t device,
                                                  const GgufFile& file, uint32_t num_ranks = 1);
    GpuModel(const GpuModel&) = delete;
    GpuModel& operator=(const GpuModel&) = delete;
    ~GpuModel();

    /// Of the layers [begin, end).
    Result<GpuPlan> plan(KvType kv_type, uint32_t begin, uint32_t end);
    /// Brings those that `part` has to the device; the backend owns the model from then on.
    /// `report` gets the share that is done; its error ends the way.
    static Result<std::unique_ptr<Backend>> start(
        std::unique_ptr<GpuModel> model, const ModelSpec& part, const BackendOptions& options,
        const std::function<Result<void>(double)>& report);

  private:
    friend class GpuBackend;
    GpuModel(const PluginTable& plugin, PluginModel* model) : plugin_(plugin), model_(model) {}
    const PluginTable& plugin_;
    PluginModel* model_;
};

/// The plug-in of this program, looked for once: the file that HOKKU_CUDA names, else beside the
/// program or in lib/hokku beside its folder. HOKKU_CUDA=off: none.
///
/// Errors : unsupported: none is installed; io: it cannot be opened; bad_format: of another
/// version.
Result<const PluginTable*> find_gpu_plugin();

/// Errors : unsupported: no driver, no device; device.
Result<std::vector<GpuDevice>> list_gpu_devices(const PluginTable& plugin);

}  // namespace hokku
