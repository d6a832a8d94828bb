// SPDX-License-Identifier: Apache-2.0
#include "cuda/support/device.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "emulation/fakes/fake_driver.h"

namespace hokku::testing {

using cuda::DriverResult;
using emulation::FakeDriver;

namespace {

void require_success(DriverResult result, const char* call) {
    INFO(call << ": " << static_cast<int>(result) << " " << FakeDriver::last_error());
    REQUIRE(result == DriverResult::success);
}

}  // namespace

TestDevice& TestDevice::get() {
    static TestDevice device;
    return device;
}

TestDevice::TestDevice() {
    const char* images = std::getenv("HOKKU_GPU_TEST_IMAGES");
    if (images == nullptr) {
        FakeDriver::reset();
        library_ = std::make_unique<emulation::FakeDriverSymbols>();
        images_.emplace_back(emulation::kEmulatedImage);
    } else {
        is_emulated_ = false;
        auto library = cuda::open_library(cuda::driver_library_names());
        if (!library.ok()) FAIL(library.error().message());
        library_ = std::move(library).value();
        std::istringstream paths(images);
        for (std::string path; std::getline(paths, path, ':');) {
            std::ifstream file(path, std::ios::binary);
            images_.emplace_back(std::istreambuf_iterator<char>(file),
                                 std::istreambuf_iterator<char>());
            REQUIRE_FALSE(images_.back().empty());
        }
    }
    auto api = cuda::load_driver_api(*library_);
    if (!api.ok()) FAIL(api.error().message());
    api_ = *api;
    start();
}

void TestDevice::start() {
    require_success(api_.init(0), "cuInit");
    cuda::DeviceOrdinal device = 0;
    require_success(api_.device_get(&device, 0), "cuDeviceGet");
    cuda::ContextHandle context = nullptr;
    require_success(api_.context_retain(&context, device), "cuDevicePrimaryCtxRetain");
    require_success(api_.context_set_current(context), "cuCtxSetCurrent");
    int32_t major = 0, minor = 0;
    api_.device_attribute(&major, cuda::DeviceAttribute::compute_major, device);
    api_.device_attribute(&minor, cuda::DeviceAttribute::compute_minor, device);
    architecture_ = major * 10 + minor;
    for (const std::string& image : images_) {
        cuda::ModuleHandle module = nullptr;
        require_success(api_.module_load(&module, image.data()), "cuModuleLoadData");
        modules_.push_back(module);
    }
    require_success(api_.stream_create(&stream_, cuda::kStreamNonBlocking), "cuStreamCreate");
}

void TestDevice::set_schedule(const emulation::Schedule& schedule) {
    if (is_emulated_) FakeDriver::set_schedule(schedule);
}

void TestDevice::launch_bytes(const char* kernel, const LaunchShape& shape, const void* params) {
    cuda::FunctionHandle function = nullptr;
    INFO(kernel);
    DriverResult found = DriverResult::not_found;
    for (cuda::ModuleHandle module : modules_) {
        found = api_.module_function(&function, module, kernel);
        if (found == DriverResult::success) break;
    }
    require_success(found, "cuModuleGetFunction");
    if (shape.shared_bytes > 48 * 1024) {
        require_success(
            api_.function_set_attribute(function, cuda::FunctionAttribute::max_dynamic_shared_bytes,
                                        static_cast<int32_t>(shape.shared_bytes)),
            "cuFuncSetAttribute");
    }
    cuda::LaunchAttribute attributes[2] = {};
    uint32_t num_attributes = 0;
    if (shape.is_cooperative) {
        attributes[num_attributes].id = cuda::LaunchAttributeId::cooperative;
        attributes[num_attributes++].value.flag = 1;
    }
    if (shape.is_dependent && architecture_ >= 90) {
        attributes[num_attributes].id = cuda::LaunchAttributeId::programmatic_serialization;
        attributes[num_attributes++].value.flag = 1;
    }
    const cuda::LaunchConfig config{.grid_x = shape.grid_x,
                                    .grid_y = shape.grid_y,
                                    .grid_z = shape.grid_z,
                                    .block_x = shape.num_threads,
                                    .block_y = 1,
                                    .block_z = 1,
                                    .shared_bytes = shape.shared_bytes,
                                    .stream = stream_,
                                    .attributes = attributes,
                                    .num_attributes = num_attributes};
    void* pointers[1] = {const_cast<void*>(params)};
    require_success(api_.launch(&config, function, pointers, nullptr), "cuLaunchKernelEx");
}

void TestDevice::synchronize() {
    require_success(api_.stream_synchronize(stream_), "cuStreamSynchronize");
}

std::string TestDevice::try_synchronize() {
    const DriverResult result = api_.stream_synchronize(stream_);
    if (result == DriverResult::success) return {};
    return is_emulated_ ? FakeDriver::last_error() : std::to_string(static_cast<int>(result));
}

uint64_t TestDevice::allocate(size_t bytes) {
    cuda::DevicePointer pointer = 0;
    require_success(api_.memory_alloc(&pointer, bytes), "cuMemAlloc");
    return pointer;
}

void TestDevice::release(uint64_t address) {
    const DriverResult result = api_.memory_free(address);
    INFO(FakeDriver::last_error());
    CHECK(result == DriverResult::success);
}

void TestDevice::upload(uint64_t address, const void* from, size_t bytes) {
    require_success(api_.stream_synchronize(stream_), "cuStreamSynchronize");
    require_success(api_.copy_to_device(address, from, bytes), "cuMemcpyHtoD");
}

void TestDevice::download(void* to, uint64_t address, size_t bytes) {
    require_success(api_.stream_synchronize(stream_), "cuStreamSynchronize");
    require_success(api_.copy_to_host(to, address, bytes), "cuMemcpyDtoH");
}

std::vector<emulation::Schedule> kernel_schedules() {
    using emulation::Order;
    if (!TestDevice::get().is_emulated()) return {{}};
    return {{.order = Order::forward},
            {.order = Order::reverse, .has_eager_copies = true},
            {.order = Order::random, .seed = 7}};
}

std::string describe(const emulation::Schedule& schedule) {
    switch (schedule.order) {
        case emulation::Order::forward:
            return "forward";
        case emulation::Order::reverse:
            return "reverse";
        case emulation::Order::random:
            return "random " + std::to_string(schedule.seed);
    }
    return {};
}

}  // namespace hokku::testing
