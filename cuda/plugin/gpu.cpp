// SPDX-License-Identifier: Apache-2.0
#include "plugin/gpu.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"

namespace hokku::cuda {

namespace {

/// The oldest architecture that kernels are compiled for.
constexpr int32_t kMinArchitecture = 75;
/// The oldest one whose kernels can begin early and wait for the launch in front.
constexpr int32_t kMinWaitingArchitecture = 90;

Result<GpuInfo> describe(const DriverApi& api, int32_t index) {
    GpuInfo info;
    info.index = index;
    DeviceOrdinal device = 0;
    HOKKU_CHECK(check_driver(api, api.device_get(&device, index), "cuDeviceGet", ""));
    char name[256] = {};
    HOKKU_CHECK(
        check_driver(api, api.device_name(name, sizeof name - 1, device), "cuDeviceGetName", ""));
    info.name = name;
    size_t bytes = 0;
    HOKKU_CHECK(check_driver(api, api.device_memory(&bytes, device), "cuDeviceTotalMem_v2", ""));
    info.total_bytes = bytes;
    int32_t major = 0, minor = 0;
    HOKKU_CHECK(check_driver(api,
                             api.device_attribute(&major, DeviceAttribute::compute_major, device),
                             "cuDeviceGetAttribute", ""));
    HOKKU_CHECK(check_driver(api,
                             api.device_attribute(&minor, DeviceAttribute::compute_minor, device),
                             "cuDeviceGetAttribute", ""));
    info.architecture = major * 10 + minor;
    HOKKU_CHECK(check_driver(api, api.get_version(&info.driver_version), "cuDriverGetVersion", ""));
    return info;
}

}  // namespace

Result<std::vector<GpuInfo>> list_gpus(const DriverApi& api) {
    int32_t version = 0;
    HOKKU_CHECK(check_driver(api, api.get_version(&version), "cuDriverGetVersion", ""));
    if (version < kMinDriverVersion) {
        return Error{ErrorCode::unsupported, "the graphics driver is too old",
                     fmt::format("it knows CUDA {}.{}", version / 1000, version % 1000 / 10),
                     fmt::format("CUDA {}.{} or later", kMinDriverVersion / 1000,
                                 kMinDriverVersion % 1000 / 10)};
    }
    const DriverResult started = api.init(0);
    if (started == DriverResult::no_device) {
        return Error{ErrorCode::unsupported, "the graphics driver finds no NVIDIA GPU", "cuInit",
                     ""};
    }
    HOKKU_CHECK(check_driver(api, started, "cuInit", ""));
    int32_t count = 0;
    HOKKU_CHECK(check_driver(api, api.device_count(&count), "cuDeviceGetCount", ""));
    std::vector<GpuInfo> gpus;
    for (int32_t i = 0; i < count; ++i) {
        HOKKU_TRY(GpuInfo info, describe(api, i));
        gpus.push_back(std::move(info));
    }
    if (gpus.empty()) {
        return Error{ErrorCode::unsupported, "the graphics driver finds no NVIDIA GPU",
                     "cuDeviceGetCount", ""};
    }
    return gpus;
}

Result<std::unique_ptr<Gpu>> Gpu::open(const DriverApi& api, int32_t index,
                                       std::span<const void* const> images) {
    std::unique_ptr<Gpu> gpu(new Gpu(api));
    HOKKU_CHECK(gpu->start(index, images));
    return gpu;
}

Result<void> Gpu::start(int32_t index, std::span<const void* const> images) {
    HOKKU_TRY(info_, describe(api_, index));
    if (info_.architecture < kMinArchitecture) {
        return Error{ErrorCode::unsupported,
                     fmt::format("{} is too old: its architecture is {}.{}", info_.name,
                                 info_.architecture / 10, info_.architecture % 10),
                     "GPU", "7.5 (Turing) or later"};
    }
    DeviceOrdinal device = 0;
    HOKKU_CHECK(check(api_.device_get(&device, index), "cuDeviceGet"));
    HOKKU_CHECK(check(api_.context_retain(&context_, device), "cuDevicePrimaryCtxRetain"));
    device_ = device;
    HOKKU_CHECK(make_current());
    int32_t count = 0;
    HOKKU_CHECK(check(api_.device_attribute(&count, DeviceAttribute::num_multiprocessors, device),
                      "cuDeviceGetAttribute"));
    num_multiprocessors_ = static_cast<uint32_t>(count > 0 ? count : 1);
    HOKKU_CHECK(
        check(api_.device_attribute(&count, DeviceAttribute::max_shared_bytes_per_block, device),
              "cuDeviceGetAttribute"));
    max_shared_bytes_ = static_cast<uint32_t>(std::max(count, 48 * 1024));
    HOKKU_CHECK(check(api_.device_attribute(&count, DeviceAttribute::l2_bytes, device),
                      "cuDeviceGetAttribute"));
    l2_bytes_ = static_cast<size_t>(std::max(count, 0));
    for (const void* image : images) {
        ModuleHandle module = nullptr;
        HOKKU_CHECK(
            check(api_.module_load(&module, image), "cuModuleLoadData",
                  fmt::format("{}, driver of CUDA {}.{}", info_.name, info_.driver_version / 1000,
                              info_.driver_version % 1000 / 10)));
        modules_.push_back(module);
    }
    HOKKU_TRY(has_dependent_launches_, have_kernels_waits());
    return check(api_.stream_create(&stream_, kStreamNonBlocking), "cuStreamCreate");
}

Result<bool> Gpu::have_kernels_waits() const {
    if (info_.architecture < kMinWaitingArchitecture) return false;
    // Images are compiled together, so one kernel that every step has speaks for all.
    FunctionHandle function = find_function("quantize_rows");
    if (function == nullptr) return false;
    int32_t version = 0;
    HOKKU_CHECK(check(api_.function_attribute(&version, FunctionAttribute::ptx_version, function),
                      "cuFuncGetAttribute"));
    return version >= kMinWaitingArchitecture;
}

Gpu::~Gpu() {
    if (context_ == nullptr) return;
    if (!make_current().ok() || api_.context_synchronize() != DriverResult::success) {
        api_.context_reset(device_);  // It is lost; nothing else gives back what it held.
    } else {
        if (stream_ != nullptr) api_.stream_destroy(stream_);
        for (ModuleHandle module : modules_) api_.module_unload(module);
    }
    api_.context_release(device_);
}

Result<void> Gpu::make_current() const {
    return check(api_.context_set_current(context_), "cuCtxSetCurrent");
}

FunctionHandle Gpu::find_function(const std::string& name) const {
    if (const auto known = functions_.find(name); known != functions_.end()) return known->second;
    for (ModuleHandle module : modules_) {
        FunctionHandle function = nullptr;
        if (api_.module_function(&function, module, name.c_str()) == DriverResult::success) {
            functions_.emplace(name, function);
            return function;
        }
    }
    return nullptr;
}

Result<GpuMemoryInfo> Gpu::memory_info() const {
    size_t free = 0, total = 0;
    HOKKU_CHECK(check(api_.memory_info(&free, &total), "cuMemGetInfo_v2"));
    return GpuMemoryInfo{free, total};
}

Result<GpuMemory> Gpu::allocate(size_t bytes, const std::string& what) const {
    DevicePointer address = 0;
    HOKKU_CHECK(check(api_.memory_alloc(&address, bytes), "cuMemAlloc_v2",
                      fmt::format("{} bytes for {}", bytes, what)));
    return GpuMemory(*this, address, bytes);
}

Result<PinnedMemory> Gpu::allocate_pinned(size_t bytes, const std::string& what) const {
    void* pointer = nullptr;
    HOKKU_CHECK(check(api_.host_alloc(&pointer, bytes, 0), "cuMemHostAlloc",
                      fmt::format("{} bytes for {}", bytes, what)));
    return PinnedMemory(*this, reinterpret_cast<uint64_t>(pointer), bytes);
}

Result<void> Gpu::finish_copies() const {
    return check(api_.context_synchronize(), "cuCtxSynchronize");
}

Result<void> Gpu::synchronize() const {
    return check(api_.stream_synchronize(stream_), "cuStreamSynchronize");
}

}  // namespace hokku::cuda
