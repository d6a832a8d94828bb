// SPDX-License-Identifier: Apache-2.0
// The driver's table and the fake driver: what it counts, refuses and makes fail, and that its
// streams, events and graphs keep the order that was asked for and no other.
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "driver/driver_api.h"
#include "emulation/fakes/fake_driver.h"
#include "kernels/broken_kernels.h"
#include "kernels/primitive_kernels.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::cuda;
using namespace hokku::emulation;

namespace {

DriverApi fake_api() {
    auto api = load_driver_api(FakeDriverSymbols{});
    REQUIRE(api.ok());
    return *api;
}

/// A driver with one device whose context is current.
struct Started {
    explicit Started(const FakeDriverOptions& options = {}) : api(fake_api()) {
        FakeDriver::reset(options);
        REQUIRE(api.init(0) == DriverResult::success);
        ContextHandle context = nullptr;
        REQUIRE(api.context_retain(&context, 0) == DriverResult::success);
        REQUIRE(api.context_set_current(context) == DriverResult::success);
        REQUIRE(api.module_load(&module, kEmulatedImage) == DriverResult::success);
        REQUIRE(api.module_function(&chain, module, "primitive_chain") == DriverResult::success);
        REQUIRE(api.stream_create(&stream, kStreamNonBlocking) == DriverResult::success);
    }
    /// A buffer of n floats.
    [[nodiscard]] DevicePointer floats(size_t n) const {
        DevicePointer pointer = 0;
        REQUIRE(api.memory_alloc(&pointer, n * 4) == DriverResult::success);
        return pointer;
    }
    /// to[i] = from[i ^ 1] + 1 for 64 values.
    DriverResult launch_chain(DevicePointer from, DevicePointer to, StreamHandle on) const {
        FloatsParams params{reinterpret_cast<const float*>(from), reinterpret_cast<float*>(to), 64,
                            0, nullptr};
        const LaunchConfig config{1, 1, 1, 64, 1, 1, 0, on, nullptr, 0};
        void* pointers[] = {&params};
        return api.launch(&config, chain, pointers, nullptr);
    }
    DriverApi api;
    ModuleHandle module = nullptr;
    FunctionHandle chain = nullptr;
    StreamHandle stream = nullptr;
};

std::vector<float> counting(float first) {
    std::vector<float> values(64);
    std::iota(values.begin(), values.end(), first);
    return values;
}

}  // namespace

TEST_CASE("Driver table: a missing function is named", "[cuda][quick]") {
    FakeDriverSymbols symbols;
    symbols.missing = "cuGraphLaunch";
    const auto api = load_driver_api(symbols);
    REQUIRE_FALSE(api.ok());
    CHECK(api.error().code == ErrorCode::unsupported);
    CHECK(api.error().where == "fake driver: cuGraphLaunch");
}

TEST_CASE("Driver library: where there is none the system's words are kept", "[cuda][quick]") {
    const char* const names[] = {"libhokku_no_such_library.so.1", "libhokku_nor_this.so"};
    const auto library = open_library(names);
    REQUIRE_FALSE(library.ok());
    CHECK(library.error().code == ErrorCode::unsupported);
    CHECK(library.error().where.find("libhokku_no_such_library.so.1") != std::string::npos);
    CHECK(library.error().where.find("libhokku_nor_this.so") != std::string::npos);
}

TEST_CASE("Driver errors: name, call and what it was about are told", "[cuda][quick]") {
    const DriverApi api = fake_api();
    CHECK(check_driver(api, DriverResult::success, "cuInit", "").ok());
    const auto memory =
        check_driver(api, DriverResult::out_of_memory, "cuMemAlloc_v2", "1234 bytes");
    CHECK(memory.error().code == ErrorCode::out_of_memory);
    CHECK(memory.error().where == "cuMemAlloc_v2, CUDA_ERROR_OUT_OF_MEMORY, 1234 bytes");
    const auto other = check_driver(api, DriverResult::misaligned_address, "cuGraphLaunch", "");
    CHECK(other.error().code == ErrorCode::device);
    CHECK(other.error().where == "cuGraphLaunch, error 716");
}

TEST_CASE("Fake driver: calls need cuInit and a context", "[cuda][quick]") {
    const DriverApi api = fake_api();
    FakeDriver::reset();
    int32_t count = 0;
    CHECK(api.device_count(&count) == DriverResult::not_initialized);
    CHECK(api.init(0) == DriverResult::success);
    CHECK(api.device_count(&count) == DriverResult::success);
    CHECK(count == 1);
    DevicePointer pointer = 0;
    CHECK(api.memory_alloc(&pointer, 4) == DriverResult::invalid_context);
    FakeDriver::reset({.num_devices = 0});
    CHECK(api.init(0) == DriverResult::no_device);
}

TEST_CASE("Fake driver: memory is counted, limited and guarded", "[cuda][quick]") {
    const Started s({.memory_bytes = 1000});
    DevicePointer a = 0, b = 0;
    CHECK(s.api.memory_alloc(&a, 600) == DriverResult::success);
    CHECK(s.api.memory_alloc(&b, 600) == DriverResult::out_of_memory);
    CHECK(s.api.memory_alloc(&b, 400) == DriverResult::success);
    CHECK(FakeDriver::counts().num_live_allocations == 2);
    CHECK(FakeDriver::counts().live_bytes == 1000);
    size_t free = 1, total = 0;
    CHECK(s.api.memory_info(&free, &total) == DriverResult::success);
    CHECK(free == 0);
    CHECK(total == 1000);
    CHECK(s.api.memory_free(b + 4) == DriverResult::invalid_value);
    CHECK(s.api.memory_free(b) == DriverResult::success);
    std::vector<char> bytes(601);
    CHECK(s.api.copy_to_device(a, bytes.data(), 601) == DriverResult::invalid_value);
    CHECK(s.api.copy_to_device(a + 1, bytes.data(), 600) == DriverResult::invalid_value);
    // A write behind the end, as a kernel might do it.
    reinterpret_cast<char*>(a)[600] = 1;
    CHECK(s.api.memory_free(a) == DriverResult::illegal_address);
    CHECK(FakeDriver::last_error().find("an allocation of 600 bytes") != std::string::npos);
}

TEST_CASE("Fake driver: nothing happens before somebody waits", "[cuda][quick]") {
    const Started s;
    const DevicePointer a = s.floats(64), b = s.floats(64);
    const std::vector<float> in = counting(1);
    std::vector<float> out(64);
    CHECK(s.api.copy_to_device_async(a, in.data(), 256, s.stream) == DriverResult::success);
    CHECK(s.launch_chain(a, b, s.stream) == DriverResult::success);
    CHECK(s.api.copy_to_host_async(out.data(), b, 256, s.stream) == DriverResult::success);
    CHECK(out == std::vector<float>(64));
    CHECK(FakeDriver::counts().num_launches == 0);
    CHECK(s.api.stream_synchronize(s.stream) == DriverResult::success);
    for (size_t i = 0; i < 64; ++i) CHECK(out[i] == in[i ^ 1u] + 1);
    CHECK(FakeDriver::counts().num_launches == 1);
    CHECK(FakeDriver::counts().num_pageable_copies == 2);
    CHECK(FakeDriver::counts().num_synchronizations == 1);
    CHECK(FakeDriver::counts().bytes_to_host == 256);
    // An event that is asked for again and again is reached.
    EventHandle event = nullptr;
    CHECK(s.api.event_create(&event, kEventWithoutTiming) == DriverResult::success);
    CHECK(s.api.event_query(event) == DriverResult::success);
    CHECK(s.launch_chain(a, b, s.stream) == DriverResult::success);
    CHECK(s.launch_chain(b, a, s.stream) == DriverResult::success);
    CHECK(s.api.event_record(event, s.stream) == DriverResult::success);
    CHECK(s.api.event_query(event) == DriverResult::not_ready);
    CHECK(s.api.event_query(event) == DriverResult::success);
    CHECK(s.api.event_destroy(event) == DriverResult::success);
}

TEST_CASE("Fake driver: events order streams, and nothing else does", "[cuda][quick]") {
    const Started s;
    StreamHandle other = nullptr;
    EventHandle event = nullptr;
    CHECK(s.api.stream_create(&other, kStreamNonBlocking) == DriverResult::success);
    CHECK(s.api.event_create(&event, kEventWithoutTiming) == DriverResult::success);
    const DevicePointer a = s.floats(64), b = s.floats(64), c = s.floats(64);
    for (const bool is_ordered : {true, false}) {
        const std::vector<float> in = counting(1), old = counting(-500);
        CHECK(s.api.copy_to_device(a, in.data(), 256) == DriverResult::success);
        CHECK(s.api.copy_to_device(b, old.data(), 256) == DriverResult::success);
        CHECK(s.launch_chain(a, b, s.stream) == DriverResult::success);
        CHECK(s.api.event_record(event, s.stream) == DriverResult::success);
        if (is_ordered) {
            CHECK(s.api.stream_wait_event(other, event, 0) == DriverResult::success);
        }
        CHECK(s.launch_chain(b, c, other) == DriverResult::success);
        CHECK(s.api.stream_synchronize(other) == DriverResult::success);
        std::vector<float> out(64);
        CHECK(s.api.copy_to_host(out.data(), c, 256) == DriverResult::success);
        const std::vector<float>& from = is_ordered ? in : old;
        for (size_t i = 0; i < 64; ++i) {
            CHECK(out[i] == (is_ordered ? from[i] + 2 : from[i ^ 1u] + 1));
        }
        CHECK(s.api.stream_synchronize(s.stream) == DriverResult::success);
    }
    CHECK(s.api.event_destroy(event) == DriverResult::success);
}

TEST_CASE("Fake driver: graphs hold parameters and replay, over several streams", "[cuda][quick]") {
    const Started s;
    StreamHandle side = nullptr;
    EventHandle fork = nullptr, join = nullptr;
    CHECK(s.api.stream_create(&side, kStreamNonBlocking) == DriverResult::success);
    CHECK(s.api.event_create(&fork, kEventWithoutTiming) == DriverResult::success);
    CHECK(s.api.event_create(&join, kEventWithoutTiming) == DriverResult::success);
    const DevicePointer a = s.floats(64), b = s.floats(64), c = s.floats(64);
    CHECK(s.api.stream_begin_capture(s.stream, CaptureMode::relaxed) == DriverResult::success);
    CHECK(s.launch_chain(a, b, s.stream) == DriverResult::success);
    CHECK(s.api.event_record(fork, s.stream) == DriverResult::success);
    CHECK(s.api.stream_wait_event(side, fork, 0) == DriverResult::success);
    CHECK(s.launch_chain(b, c, side) == DriverResult::success);
    CHECK(s.api.event_record(join, side) == DriverResult::success);
    CHECK(s.api.stream_wait_event(s.stream, join, 0) == DriverResult::success);
    CHECK(s.launch_chain(c, a, s.stream) == DriverResult::success);
    GraphHandle graph = nullptr;
    CHECK(s.api.stream_end_capture(s.stream, &graph) == DriverResult::success);
    GraphExecHandle exec = nullptr;
    CHECK(s.api.graph_instantiate(&exec, graph, 0) == DriverResult::success);
    CHECK(s.api.graph_destroy(graph) == DriverResult::success);
    const std::vector<float> in = counting(1);
    CHECK(s.api.copy_to_device(a, in.data(), 256) == DriverResult::success);
    const uint64_t num_allocations = FakeDriver::counts().num_allocations;
    for (int i = 0; i < 2; ++i) {
        CHECK(s.api.graph_launch(exec, s.stream) == DriverResult::success);
    }
    CHECK(s.api.stream_synchronize(s.stream) == DriverResult::success);
    std::vector<float> out(64);
    CHECK(s.api.copy_to_host(out.data(), a, 256) == DriverResult::success);
    for (size_t i = 0; i < 64; ++i) CHECK(out[i] == in[i] + 6);
    CHECK(FakeDriver::counts().num_launches == 6);
    CHECK(FakeDriver::counts().num_graph_launches == 2);
    CHECK(FakeDriver::counts().num_allocations == num_allocations);
    CHECK(s.api.graph_exec_destroy(exec) == DriverResult::success);
    for (const EventHandle event : {fork, join})
        CHECK(s.api.event_destroy(event) == DriverResult::success);
}

TEST_CASE("Fake driver: what must not be captured breaks the capture", "[cuda][quick]") {
    const Started s;
    GraphHandle graph = nullptr;
    DevicePointer pointer = 0;
    CHECK(s.api.stream_begin_capture(nullptr, CaptureMode::global) ==
          DriverResult::stream_capture_unsupported);
    CHECK(s.api.stream_begin_capture(s.stream, CaptureMode::global) == DriverResult::success);
    CHECK(s.api.memory_alloc(&pointer, 4) == DriverResult::stream_capture_unsupported);
    CHECK(s.api.stream_synchronize(s.stream) == DriverResult::stream_capture_unsupported);
    CHECK(s.api.stream_end_capture(s.stream, &graph) == DriverResult::stream_capture_invalidated);
    CHECK(graph == nullptr);
    // A stream that was forked off and not joined again.
    StreamHandle side = nullptr;
    EventHandle fork = nullptr;
    CHECK(s.api.stream_create(&side, kStreamNonBlocking) == DriverResult::success);
    CHECK(s.api.event_create(&fork, kEventWithoutTiming) == DriverResult::success);
    const DevicePointer a = s.floats(64);
    CHECK(s.api.stream_begin_capture(s.stream, CaptureMode::global) == DriverResult::success);
    CHECK(s.api.event_record(fork, s.stream) == DriverResult::success);
    CHECK(s.api.stream_wait_event(side, fork, 0) == DriverResult::success);
    CHECK(s.launch_chain(a, a, side) == DriverResult::success);
    CHECK(s.api.stream_end_capture(s.stream, &graph) == DriverResult::stream_capture_unjoined);
    CHECK(s.api.event_destroy(fork) == DriverResult::success);
}

TEST_CASE("Fake driver: a capture on one device leaves the others free", "[cuda][quick]") {
    const Started s({.num_devices = 2});
    CHECK(s.api.stream_begin_capture(s.stream, CaptureMode::relaxed) == DriverResult::success);
    ContextHandle other = nullptr;
    CHECK(s.api.context_retain(&other, 1) == DriverResult::success);
    CHECK(s.api.context_set_current(other) == DriverResult::success);
    DevicePointer pointer = 0;
    CHECK(s.api.memory_alloc(&pointer, 4) == DriverResult::success);
    CHECK(s.api.context_synchronize() == DriverResult::success);
    CHECK(s.api.memory_free(pointer) == DriverResult::success);
    ContextHandle own = nullptr;
    CHECK(s.api.context_retain(&own, 0) == DriverResult::success);
    CHECK(s.api.context_set_current(own) == DriverResult::success);
    CHECK(s.api.context_synchronize() == DriverResult::stream_capture_unsupported);
    GraphHandle graph = nullptr;
    CHECK(s.api.stream_end_capture(s.stream, &graph) == DriverResult::success);
    CHECK(s.api.graph_destroy(graph) == DriverResult::success);
}

TEST_CASE("Fake driver: launches are checked as a device checks them", "[cuda][quick]") {
    const Started s({.compute_major = 8, .num_multiprocessors = 2});
    FloatsParams params{};
    void* pointers[] = {&params};
    LaunchConfig config{1, 1, 1, 65, 1, 1, 0, s.stream, nullptr, 0};
    CHECK(s.api.launch(&config, s.chain, pointers, nullptr) ==
          DriverResult::launch_out_of_resources);
    config.block_x = 64;
    config.shared_bytes = 64 * 1024;
    CHECK(s.api.launch(&config, s.chain, pointers, nullptr) == DriverResult::invalid_value);
    CHECK(s.api.function_set_attribute(s.chain, FunctionAttribute::max_dynamic_shared_bytes,
                                       64 * 1024) == DriverResult::success);
    LaunchAttribute attribute{LaunchAttributeId::programmatic_serialization, 0, {1}};
    config.attributes = &attribute;
    config.num_attributes = 1;  // Not before sm_90.
    CHECK(s.api.launch(&config, s.chain, pointers, nullptr) == DriverResult::invalid_value);
    attribute.id = LaunchAttributeId::cooperative;
    config.grid_x = 7;  // Three blocks with so much shared memory fit on each of two.
    CHECK(s.api.launch(&config, s.chain, pointers, nullptr) ==
          DriverResult::cooperative_launch_too_large);
    FunctionHandle function = nullptr;
    CHECK(s.api.module_function(&function, s.module, "no_such_kernel") == DriverResult::not_found);
    ModuleHandle module = nullptr;
    CHECK(s.api.module_load(&module, "no image of ours, whatever it is") ==
          DriverResult::invalid_image);
}

TEST_CASE("Fake driver: a kernel that breaks a rule spoils the context until it is reset",
          "[cuda][quick]") {
    const Started s;
    FunctionHandle function = nullptr;
    CHECK(s.api.module_function(&function, s.module, "primitive_grid") == DriverResult::success);
    FloatsParams params{};
    void* pointers[] = {&params};
    const LaunchConfig config{1, 1, 1, 32, 1, 1, 0, s.stream, nullptr, 0};
    CHECK(s.api.launch(&config, function, pointers, nullptr) == DriverResult::success);
    DevicePointer pointer = 0;
    CHECK(s.api.stream_synchronize(s.stream) == DriverResult::launch_failed);
    CHECK(FakeDriver::last_error().find("in a launch that is not cooperative") !=
          std::string::npos);
    CHECK(s.api.memory_alloc(&pointer, 4) == DriverResult::launch_failed);
    CHECK(s.api.context_reset(0) == DriverResult::success);
    CHECK(s.api.memory_alloc(&pointer, 4) == DriverResult::success);
    FakeDriver::lose_devices();
    CHECK(s.api.memory_alloc(&pointer, 4) == DriverResult::unknown);
}

TEST_CASE("Fake driver: what is asked into a cache lies in an allocation", "[cuda][quick]") {
    for (const uint32_t is_broken : {0u, 1u}) {
        const Started s;
        const DevicePointer a = s.floats(16), b = s.floats(16);
        FunctionHandle function = nullptr;
        REQUIRE(s.api.module_function(&function, s.module, "broken_prefetch") ==
                DriverResult::success);
        const LaunchConfig config{1, 1, 1, 16, 1, 1, 0, s.stream, nullptr, 0};
        BrokenParams params{reinterpret_cast<const float*>(a), reinterpret_cast<float*>(b), 16,
                            is_broken, nullptr};
        void* pointers[] = {&params};
        CHECK(s.api.launch(&config, function, pointers, nullptr) == DriverResult::success);
        const DriverResult result = s.api.stream_synchronize(s.stream);
        CHECK((result == DriverResult::success) == (is_broken == 0));
        const bool is_named =
            FakeDriver::last_error().find("not in device memory") != std::string::npos;
        CHECK(is_named == (is_broken == 1));
    }
}

TEST_CASE("Fake driver: each call can be made to fail once", "[cuda][quick]") {
    const auto scenario = [](const DriverApi& api) {
        ContextHandle context = nullptr;
        DevicePointer pointer = 0;
        StreamHandle stream = nullptr;
        std::vector<DriverResult> results = {api.init(0), api.context_retain(&context, 0)};
        results.push_back(api.context_set_current(context));
        results.push_back(api.memory_alloc(&pointer, 16));
        results.push_back(api.stream_create(&stream, 0));
        return results;
    };
    const DriverApi api = fake_api();
    const char* const names[] = {"cuInit", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent",
                                 "cuMemAlloc_v2", "cuStreamCreate"};
    for (size_t i = 0; i < 5; ++i) {
        FakeDriver::reset();
        FakeDriver::fail_call(i + 1, DriverResult::out_of_memory);
        const std::vector<DriverResult> results = scenario(api);
        CHECK(results[i] == DriverResult::out_of_memory);
        CHECK(FakeDriver::failed_call() == names[i]);
        for (size_t j = 0; j < i; ++j) CHECK(results[j] == DriverResult::success);
        // Later calls fail only where they need what this one would have given.
        CHECK(FakeDriver::counts().num_calls == 5);
    }
}

#if __has_include(<cuda.h>)
#include <cuda.h>
TEST_CASE("Driver table: types and numbers are those of cuda.h", "[cuda][quick]") {
    static_assert(sizeof(LaunchConfig) == sizeof(CUlaunchConfig));
    static_assert(offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
    static_assert(offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
    static_assert(offsetof(LaunchConfig, num_attributes) == offsetof(CUlaunchConfig, numAttrs));
    static_assert(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
    static_assert(offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
    static_assert(sizeof(DevicePointer) == sizeof(CUdeviceptr));
    const auto is = [](auto ours, auto theirs) {
        return static_cast<int64_t>(ours) == static_cast<int64_t>(theirs);
    };
    CHECK(is(DriverResult::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY));
    CHECK(is(DriverResult::no_binary_for_gpu, CUDA_ERROR_NO_BINARY_FOR_GPU));
    CHECK(is(DriverResult::unsupported_ptx_version, CUDA_ERROR_UNSUPPORTED_PTX_VERSION));
    CHECK(is(DriverResult::launch_failed, CUDA_ERROR_LAUNCH_FAILED));
    CHECK(is(DriverResult::peer_access_already_enabled, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED));
    CHECK(is(DriverResult::illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS));
    CHECK(is(DriverResult::system_driver_mismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH));
    CHECK(is(DriverResult::cooperative_launch_too_large, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE));
    CHECK(is(DriverResult::not_ready, CUDA_ERROR_NOT_READY));
    CHECK(is(DeviceAttribute::num_multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
    CHECK(is(DeviceAttribute::compute_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
    CHECK(is(DeviceAttribute::max_shared_bytes_per_block,
             CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
    CHECK(is(DeviceAttribute::has_cooperative_launch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH));
    CHECK(is(DeviceAttribute::l2_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
    CHECK(is(DeviceAttribute::memory_bus_bits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH));
    CHECK(is(DeviceAttribute::memory_clock_khz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE));
    CHECK(is(FunctionAttribute::num_registers, CU_FUNC_ATTRIBUTE_NUM_REGS));
    CHECK(is(FunctionAttribute::ptx_version, CU_FUNC_ATTRIBUTE_PTX_VERSION));
    CHECK(is(FunctionAttribute::max_dynamic_shared_bytes,
             CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
    CHECK(is(LaunchAttributeId::cooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE));
    CHECK(is(LaunchAttributeId::programmatic_serialization,
             CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION));
    CHECK(is(kStreamNonBlocking, CU_STREAM_NON_BLOCKING));
    CHECK(is(kEventWithoutTiming, CU_EVENT_DISABLE_TIMING));
    CHECK(is(CaptureMode::relaxed, CU_STREAM_CAPTURE_MODE_RELAXED));
}
#endif
