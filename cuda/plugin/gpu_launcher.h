// SPDX-License-Identifier: Apache-2.0
// GpuLauncher: launches of kernels into a device's stream. After a call that failed nothing more is
// done, and finish() says which it was.
#pragma once

#include <cstdint>
#include <vector>

#include "plugin/gpu.h"
#include "plugin/gpu_blas.h"
#include "plugin/gpu_communicator.h"
#include "plugin/gpu_persistent.h"
#include "plugin/launch_size.h"

namespace hokku::cuda {

class GpuLauncher {
  public:
    explicit GpuLauncher(const Gpu& gpu) : gpu_(gpu) {}

    template <class Params>
    void launch(FunctionHandle function, const LaunchSize& size, const Params& params) {
        if (recorder_ != nullptr) {
            recorder_->record(size, params);
        } else {
            launch_bytes(function, size, &params);
        }
    }
    /// The sum over all ranks.
    void all_reduce(GpuCommunicator& others, float* values, size_t n) {
        if (!is_ok()) return;
        others.all_reduce({values, n});
        fail(others.take_result(), "ncclAllReduce");
    }
    /// Not while they are noted down.
    void multiply(const GpuBlas& blas, const BlasProduct& product) {
        if (is_ok()) fail(blas.multiply(product), "cublasGemmEx");
    }
    /// From now on launches are noted down there instead; null: they are done.
    void record_to(PersistentRecorder* recorder) { recorder_ = recorder; }
    /// Waits, and copies n values to the host; zeros after an error.
    std::vector<float> download(const float* values, size_t n);
    void fail(DriverResult result, const char* call);
    [[nodiscard]] bool is_ok() const { return status_ == DriverResult::success; }
    /// How all went since the last finish().
    Result<void> finish();

  private:
    void launch_bytes(FunctionHandle function, const LaunchSize& size, const void* params);

    const Gpu& gpu_;
    PersistentRecorder* recorder_ = nullptr;
    DriverResult status_ = DriverResult::success;  ///< Of the first call that failed.
    const char* failed_call_ = "";
};

}  // namespace hokku::cuda
