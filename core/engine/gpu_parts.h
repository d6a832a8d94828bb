// SPDX-License-Identifier: Apache-2.0
// The GPUs that a model goes to: which ones are wanted, which layers each of them gets, and their
// way there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/plugin/gpu_plugin.h"
#include "backend/split_backend.h"
#include "engine/layer_division.h"
#include "engine/loaded_model.h"
#include "engine/memory_plan.h"
#include "hokku/engine.h"

namespace hokku {

struct WantedGpus {
    std::vector<uint32_t> devices;  ///< In the order of the layers; empty: the CPU.
    bool may_add = false;           ///< Others of the machine, where these have no room.
    uint32_t num_ranks = 1;         ///< On devices from the first one on.
    KvType kv_type = KvType::f16;   ///< Of the context.
};

/// Errors : bad_argument.
Result<WantedGpus> wanted_gpus(const LoadOptions& options);

/// What is wanted of layers on GPUs.
struct LayerWish {
    std::optional<uint32_t> num_layers;  ///< The last ones; absent: as many as fit.
    uint64_t num_blocks = 0;             ///< Of the context, if there is room.
    KvType kv_type = KvType::f16;
};

/// Threads: one at a time.
class GpuParts {
  public:
    /// With each device that is wanted, or, of those that may be added, the first that takes it.
    /// `file` and `plugin` outlive it.
    /// Errors : unsupported: the plug-in's; bad_argument.
    static Result<std::unique_ptr<GpuParts>> open(const PluginTable& plugin, const GgufFile& file,
                                                  uint32_t num_layers, const WantedGpus& wanted);

    /// Decides which layers go where: all on the first of the devices that together have room
    /// beside the context; else all beside a shorter one; else the last ones, so that the CPU has
    /// the others. Devices that are not needed are given back. Errors : limit_exceeded with the
    /// numbers; the plug-in's.
    Result<void> choose_layers(const LayerWish& wish);
    /// Those of before, on the same devices.
    void use_layers(std::vector<GpuShare> shares) { shares_ = std::move(shares); }
    /// One for each device, in the order of the layers.
    [[nodiscard]] const std::vector<GpuShare>& shares() const { return shares_; }
    /// Why devices are left out.
    [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

    /// The longest context for which every device has room, as memory_plan.h has it. Of the request
    /// what is said of weights and blocks is not looked at.
    Result<ContextPlan> plan_context(ContextRequest request, KvType kv_type);
    /// Brings the layers to the devices. `report` gets the share that is done.
    static Result<std::vector<ModelPart>> start(std::unique_ptr<GpuParts> parts, const Model& model,
                                                const BackendOptions& options,
                                                const std::function<Result<void>(double)>& report);

  private:
    struct Opened {
        uint32_t device = 0;
        std::unique_ptr<GpuModel> model;
    };
    GpuParts(const PluginTable& plugin, const GgufFile& file, uint32_t num_layers,
             const WantedGpus& wanted)
        : plugin_(plugin), file_(file), num_layers_(num_layers), wanted_(wanted) {}
    using Places = std::vector<uint32_t>;  ///< Among opened_.

    Result<void> open_device(uint32_t device);
    Result<bool> open_next();
    Result<bool> has_room_for_layer(LayerDivision& division, uint32_t place, uint32_t layer);
    Result<bool> take(LayerDivision& division, const Places& places, uint32_t first,
                      uint64_t num_blocks);
    Result<void> check_rooms(LayerDivision& division, uint32_t first, KvType kv_type);
    Result<bool> take_with_context(LayerDivision& division, uint32_t first, uint64_t num_blocks,
                                   std::vector<Places>& tried);
    Result<bool> take_last_layers(LayerDivision& division, const std::vector<Places>& tried,
                                  uint64_t num_blocks);
    Result<void> refuse(const LayerWish& wish, uint32_t first);

    const PluginTable& plugin_;
    const GgufFile& file_;
    uint32_t num_layers_;
    WantedGpus wanted_;
    uint32_t next_device_ = 0;  ///< That may be added.
    std::vector<Opened> opened_;
    std::vector<GpuShare> shares_;
    std::vector<std::string> warnings_;
};

}  // namespace hokku
