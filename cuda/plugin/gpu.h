// SPDX-License-Identifier: Apache-2.0
// Gpu: one device with its context, stream and kernels, and memory that is freed by itself. Driver
// errors become values that say which call failed and what it was about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "driver/driver_api.h"
#include "hokku/result.h"

namespace hokku::cuda {

/// What can be known of a device before a context is made on it.
struct GpuInfo {
    int32_t index = 0;
    std::string name;  ///< As the maker calls it.
    uint64_t total_bytes = 0;
    int32_t architecture = 0;  ///< 75, 80, 90.
    int32_t driver_version = 0;
};

struct GpuMemoryInfo {
    uint64_t free_bytes = 0, total_bytes = 0;
};

/// Initialises the driver and lists its devices.
///
/// Errors : unsupported: no device, a driver that is too old; device.
Result<std::vector<GpuInfo>> list_gpus(const DriverApi& api);

class Gpu;

/// Memory on a device, or pinned memory of the host that devices copy from and to.
template <bool kIsPinned>
class GpuBuffer {
  public:
    GpuBuffer() = default;
    GpuBuffer(const Gpu& gpu, uint64_t address, size_t bytes)
        : gpu_(&gpu), address_(address), bytes_(bytes) {}
    GpuBuffer(GpuBuffer&& other) noexcept
        : gpu_(std::exchange(other.gpu_, nullptr)),
          address_(std::exchange(other.address_, 0)),
          bytes_(std::exchange(other.bytes_, 0)) {}
    GpuBuffer& operator=(GpuBuffer&& other) noexcept {
        std::swap(gpu_, other.gpu_);
        std::swap(address_, other.address_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~GpuBuffer();
    [[nodiscard]] DevicePointer address() const { return address_; }
    [[nodiscard]] size_t size_bytes() const { return bytes_; }
    /// Of pinned memory.
    template <class T>
    [[nodiscard]] T* as() const {
        static_assert(kIsPinned);
        return reinterpret_cast<T*>(address_);
    }

  private:
    const Gpu* gpu_ = nullptr;
    uint64_t address_ = 0;
    size_t bytes_ = 0;
};
using GpuMemory = GpuBuffer<false>;
using PinnedMemory = GpuBuffer<true>;

/// Errors : device, out_of_memory; naming the driver's call.
/// Threads: one at a time; each calls make_current() first.
class Gpu {
  public:
    /// `images`: modules with the kernels; they must outlive this.
    static Result<std::unique_ptr<Gpu>> open(const DriverApi& api, int32_t index,
                                             std::span<const void* const> images);
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;
    ~Gpu();

    [[nodiscard]] Result<void> make_current() const;
    [[nodiscard]] Result<void> check(DriverResult result, const char* call,
                                     const std::string& what = {}) const {
        return check_driver(api_, result, call, what);
    }
    /// Null where no module has a kernel of this name.
    [[nodiscard]] FunctionHandle find_function(const std::string& name) const;
    [[nodiscard]] Result<GpuMemoryInfo> memory_info() const;
    [[nodiscard]] Result<GpuMemory> allocate(size_t bytes, const std::string& what) const;
    [[nodiscard]] Result<PinnedMemory> allocate_pinned(size_t bytes, const std::string& what) const;
    [[nodiscard]] Result<void> synchronize() const;
    /// Waits for everything on the device. What cuMemcpyHtoD has taken from pageable memory may
    /// still be under way when it returns, and the stream does not wait for it.
    [[nodiscard]] Result<void> finish_copies() const;

    [[nodiscard]] const DriverApi& api() const { return api_; }
    [[nodiscard]] const GpuInfo& info() const { return info_; }
    [[nodiscard]] DeviceOrdinal device() const { return device_; }
    [[nodiscard]] ContextHandle context() const { return context_; }
    [[nodiscard]] StreamHandle stream() const { return stream_; }
    [[nodiscard]] uint32_t num_multiprocessors() const { return num_multiprocessors_; }
    [[nodiscard]] uint32_t max_shared_bytes_per_block() const { return max_shared_bytes_; }
    /// How much of the L2 cache weights may take that are asked for before their time: those that
    /// are read now need some, too.
    [[nodiscard]] size_t prefetch_bytes() const { return l2_bytes_ / 4; }
    /// Whether a launch may begin before the one in front has ended.
    [[nodiscard]] bool has_dependent_launches() const { return has_dependent_launches_; }

  private:
    explicit Gpu(const DriverApi& api) : api_(api) {}
    Result<void> start(int32_t index, std::span<const void* const> images);
    /// Whether kernels wait for the launch in front: code compiled for less than sm_90 does not,
    /// whatever device it runs on.
    [[nodiscard]] Result<bool> have_kernels_waits() const;

    DriverApi api_;
    GpuInfo info_;
    DeviceOrdinal device_ = -1;
    ContextHandle context_ = nullptr;
    StreamHandle stream_ = nullptr;
    std::vector<ModuleHandle> modules_;
    /// Those that were found: plans of parts of a model ask for the same ones again and again.
    mutable std::unordered_map<std::string, FunctionHandle> functions_;
    uint32_t num_multiprocessors_ = 0, max_shared_bytes_ = 0;
    size_t l2_bytes_ = 0;
    bool has_dependent_launches_ = false;
};

template <bool kIsPinned>
GpuBuffer<kIsPinned>::~GpuBuffer() {
    if (gpu_ == nullptr || address_ == 0 || !gpu_->make_current().ok()) return;
    if constexpr (kIsPinned) {
        gpu_->api().host_free(reinterpret_cast<void*>(address_));
    } else {
        gpu_->api().memory_free(address_);
    }
}

/// Hands out addresses of one piece of device memory, each a multiple of 256. Called twice with
/// the same requests: first at address 0 to learn the size.
class GpuLayout {
  public:
    explicit GpuLayout(DevicePointer base = 0) : base_(base) {}
    template <class T>
    T* take(size_t count) {
        const DevicePointer address = base_ + used_;
        used_ += (count * sizeof(T) + 255) / 256 * 256;
        return reinterpret_cast<T*>(address);
    }
    [[nodiscard]] size_t used_bytes() const { return used_; }

  private:
    DevicePointer base_;
    size_t used_ = 0;
};

}  // namespace hokku::cuda
