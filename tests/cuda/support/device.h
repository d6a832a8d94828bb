// SPDX-License-Identifier: Apache-2.0
// TestDevice: where kernel tests run: the emulator behind the fake driver, or the first GPU if
// HOKKU_GPU_TEST_IMAGES names fat binaries of the kernels, with colons between. The tests are the
// same.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "driver/driver_api.h"
#include "emulation/launch.h"
#include "support/catch.h"

namespace hokku::testing {

/// Memory on the device that holds elements of T; freed at the end.
template <class T>
class DeviceBuffer;

struct LaunchShape {
    uint32_t grid_x = 1, grid_y = 1, grid_z = 1;
    uint32_t num_threads = 32;
    uint32_t shared_bytes = 0;
    bool is_cooperative = false, is_dependent = false;
};

class TestDevice {
  public:
    /// The one of this process. Each call on the emulator begins with a new driver.
    static TestDevice& get();

    [[nodiscard]] bool is_emulated() const { return is_emulated_; }
    /// Of the device: 75, 80, 90. The emulator's is 90.
    [[nodiscard]] int32_t architecture() const { return architecture_; }
    /// How kernels take turns on the emulator; nothing on a GPU.
    void set_schedule(const emulation::Schedule& schedule);

    /// Issues it; run() also waits and requires that it went well.
    template <class Params>
    void launch(const char* kernel, const LaunchShape& shape, const Params& params) {
        launch_bytes(kernel, shape, &params);
    }
    template <class Params>
    void run(const char* kernel, const LaunchShape& shape, const Params& params) {
        launch_bytes(kernel, shape, &params);
        synchronize();
    }
    void synchronize();
    /// What the last synchronize() would have failed with; empty: nothing.
    std::string try_synchronize();

    uint64_t allocate(size_t bytes);
    void release(uint64_t address);
    void upload(uint64_t address, const void* from, size_t bytes);
    void download(void* to, uint64_t address, size_t bytes);
    [[nodiscard]] const cuda::DriverApi& api() const { return api_; }
    [[nodiscard]] cuda::StreamHandle stream() const { return stream_; }

  private:
    TestDevice();
    void start();
    void launch_bytes(const char* kernel, const LaunchShape& shape, const void* params);

    bool is_emulated_ = true;
    int32_t architecture_ = 90;
    cuda::DriverApi api_;
    std::vector<cuda::ModuleHandle> modules_;
    cuda::StreamHandle stream_ = nullptr;
    std::unique_ptr<cuda::SymbolSource> library_;
    std::vector<std::string> images_;
};

template <class T>
class DeviceBuffer {
  public:
    explicit DeviceBuffer(size_t n) : size_(n) {
        address_ = TestDevice::get().allocate(std::max<size_t>(n, 1) * sizeof(T));
    }
    explicit DeviceBuffer(std::span<const T> values) : DeviceBuffer(values.size()) {
        write(values);
    }
    explicit DeviceBuffer(const std::vector<T>& values) : DeviceBuffer(std::span(values)) {}
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;
    ~DeviceBuffer() { TestDevice::get().release(address_); }
    void write(std::span<const T> values) {
        REQUIRE(values.size() <= size_);
        if (!values.empty()) {
            TestDevice::get().upload(address_, values.data(), values.size_bytes());
        }
    }
    [[nodiscard]] std::vector<T> read() const {
        std::vector<T> values(size_);
        if (size_ > 0) TestDevice::get().download(values.data(), address_, size_ * sizeof(T));
        return values;
    }
    /// As kernels see it. Not for the host.
    [[nodiscard]] T* pointer() const { return reinterpret_cast<T*>(address_); }
    [[nodiscard]] size_t size() const { return size_; }

  private:
    size_t size_;
    uint64_t address_ = 0;
};

/// On the emulator the schedules that every kernel test runs, one on a GPU.
std::vector<emulation::Schedule> kernel_schedules();
std::string describe(const emulation::Schedule& schedule);

}  // namespace hokku::testing
