// SPDX-License-Identifier: Apache-2.0
#include "plugin/gpu_launcher.h"

#include <utility>

namespace hokku::cuda {

void GpuLauncher::launch_bytes(FunctionHandle function, const LaunchSize& size,
                               const void* params) {
    if (!is_ok()) return;
    // A cooperative launch begins when the one in front has ended.
    LaunchAttribute attribute = {};
    attribute.id = size.is_cooperative ? LaunchAttributeId::cooperative
                                       : LaunchAttributeId::programmatic_serialization;
    attribute.value.flag = 1;
    const bool has_attribute = size.is_cooperative || gpu_.has_dependent_launches();
    const LaunchConfig config{.grid_x = size.grid_x,
                              .grid_y = size.grid_y,
                              .grid_z = size.grid_z,
                              .block_x = size.num_threads,
                              .block_y = 1,
                              .block_z = 1,
                              .shared_bytes = size.shared_bytes,
                              .stream = gpu_.stream(),
                              .attributes = &attribute,
                              .num_attributes = has_attribute ? 1u : 0u};
    void* pointers[1] = {const_cast<void*>(params)};
    fail(gpu_.api().launch(&config, function, pointers, nullptr), "cuLaunchKernelEx");
}

std::vector<float> GpuLauncher::download(const float* values, size_t n) {
    std::vector<float> out(n);
    if (is_ok()) fail(gpu_.api().stream_synchronize(gpu_.stream()), "cuStreamSynchronize");
    if (is_ok()) {
        fail(gpu_.api().copy_to_host(out.data(), reinterpret_cast<DevicePointer>(values),
                                     n * sizeof(float)),
             "cuMemcpyDtoH_v2");
    }
    return out;
}

void GpuLauncher::fail(DriverResult result, const char* call) {
    if (!is_ok() || result == DriverResult::success) return;
    status_ = result;
    failed_call_ = call;
}

Result<void> GpuLauncher::finish() {
    return gpu_.check(std::exchange(status_, DriverResult::success), failed_call_);
}

}  // namespace hokku::cuda
