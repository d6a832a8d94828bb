// SPDX-License-Identifier: Apache-2.0
// PersistentRecorder: the launches of one row noted down instead of done, so that one cooperative
// launch of persistent_step does them all.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/params.h"
#include "plugin/gpu.h"
#include "plugin/launch_size.h"

namespace hokku::cuda {

/// Operations on the device.
struct PersistentProgram {
    GpuMemory memory;
    PersistentParams params = {};
    explicit operator bool() const { return params.num_ops > 0; }
};

class PersistentRecorder {
  public:
    void record(const LaunchSize& size, const NormParams& params);
    void record(const LaunchSize& size, const QkvParams& params);
    void record(const LaunchSize& size, const AttentionParams& params);
    void record(const LaunchSize& size, const CombineParams& params);
    void record(const LaunchSize& size, const GemvParams& params);
    void record(const LaunchSize& size, const GemvNormParams& params);
    void record(const LaunchSize& size, const GatedGemvParams& params);
    /// What the kernel does not do.
    template <class Params>
    void record(const LaunchSize& /*size*/, const Params& /*params*/) {
        is_complete_ = false;
    }

    /// Whether the kernel does all that was recorded.
    [[nodiscard]] bool is_complete() const { return is_complete_; }
    /// Errors : out_of_memory, device.
    [[nodiscard]] Result<PersistentProgram> upload(const Gpu& gpu) const;

  private:
    template <class Params>
    void add(PersistentKind kind, uint32_t format, uint32_t num_x, uint32_t num_y,
             const Params& params);
    void note_weights(uint32_t format, const WeightPlanes& first, const WeightPlanes* second);
    static uint32_t fit_product(GemvParams& product);

    bool is_complete_ = true;
    /// Their params are offsets into bytes_, their next weights are their own.
    std::vector<PersistentOp> ops_;
    std::vector<std::byte> bytes_;
};

}  // namespace hokku::cuda
