// SPDX-License-Identifier: Apache-2.0
#include "emulation/fakes/fake_driver.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "emulation/fakes/fake_state.h"
#include "emulation/runtime.h"

namespace hokku::emulation {

namespace {

constexpr size_t kGuard = 256;
constexpr std::byte kFill{0xff};  // Not a number, as everything that was not written yet.

bool has_intact_guards(const FakeAllocation& allocation) {
    const auto is_intact = [](std::byte b) { return b == kFill; };
    const std::byte* end = allocation.memory + kGuard + allocation.bytes;
    return std::all_of(allocation.memory, allocation.memory + kGuard, is_intact) &&
           std::all_of(end, end + kGuard, is_intact);
}

FakeAllocation allocate(size_t bytes, int32_t device, bool is_pinned_host) {
    const size_t whole = (bytes + 2 * kGuard + kGuard - 1) / kGuard * kGuard;
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(kGuard, whole));
    if (memory != nullptr) std::fill_n(memory, whole, kFill);
    return {memory, bytes, device, is_pinned_host};
}

uint64_t add_allocation(FakeState& state, const FakeAllocation& allocation) {
    ++state.counts.num_allocations;
    ++state.counts.num_live_allocations;
    if (!allocation.is_pinned_host) state.counts.live_bytes += allocation.bytes;
    const auto address = reinterpret_cast<uint64_t>(allocation.memory + kGuard);
    state.allocations[address] = allocation;
    return address;
}

uint64_t used_bytes(const FakeState& state, int32_t device) {
    uint64_t used = 0;
    for (const auto& [address, allocation] : state.allocations) {
        if (allocation.device == device && !allocation.is_pinned_host) used += allocation.bytes;
    }
    return used;
}

uint64_t memory_of(const FakeState& state, int32_t device) {
    const auto& known = state.options.memory_of_devices;
    const auto index = static_cast<size_t>(device);
    return index < known.size() ? known[index] : state.options.memory_bytes;
}

bool is_valid_device(const FakeState& state, int32_t device) {
    return device >= 0 && device < state.options.num_devices;
}

}  // namespace

FakeState& fake_state() {
    // Never destroyed: streams may have threads when the program ends.
    static FakeState& state = *new FakeState;
    return state;
}

int32_t& fake_current_device() {
    thread_local int32_t device = -1;
    return device;
}

FakeCall::FakeCall(const char* name, Needs needs) : state_(fake_state()), lock_(state_.mutex) {
    ++state_.counts.num_calls;
    if (state_.fail_number > 0 && --state_.fail_number == 0) {
        state_.failed_call = name;
        failure_ = state_.fail_result;
    } else if (needs != Needs::nothing && !state_.is_initialized) {
        failure_ = DriverResult::not_initialized;
    } else if (needs == Needs::context && !is_valid_device(state_, fake_current_device())) {
        failure_ = DriverResult::invalid_context;
    } else if (needs == Needs::context && state_.sticky != DriverResult::success) {
        failure_ = state_.sticky;
    } else if (needs == Needs::context && state_.lost_devices.contains(fake_current_device())) {
        failure_ = DriverResult::unknown;
    }
}

int32_t FakeCall::device() const {
    return fake_current_device();
}

bool release_allocation(FakeState& state, uint64_t address) {
    const auto found = state.allocations.find(address);
    if (found == state.allocations.end()) return false;
    const FakeAllocation allocation = found->second;
    if (!has_intact_guards(allocation)) {
        state.last_error = "something was written outside the bounds of an allocation of " +
                           std::to_string(allocation.bytes) + " bytes";
        state.sticky = DriverResult::illegal_address;
    }
    std::free(allocation.memory);
    state.allocations.erase(found);
    --state.counts.num_live_allocations;
    if (!allocation.is_pinned_host) state.counts.live_bytes -= allocation.bytes;
    return true;
}

void FakeDriver::reset(const FakeDriverOptions& options) {
    FakeState& state = fake_state();
    const std::lock_guard lock(state.mutex);
    for (const auto& stream : all_streams(state)) end_worker(state, *stream);
    state.streams.clear();
    state.default_streams.clear();
    while (!state.allocations.empty()) release_allocation(state, state.allocations.begin()->first);
    state.functions.clear();
    state.graph_execs.clear();
    state.options = options;
    state.counts = {};
    state.is_initialized = false;
    state.sticky = DriverResult::success;
    state.lost_devices.clear();
    state.fail_number = 0;
    state.failed_call.clear();
    state.last_error.clear();
    fake_current_device() = -1;
    set_others_turn(take_others_turn,
                    options.num_devices > 1 ? kResidentThreads / 4 : kResidentThreads);
    // Of memory that tests launch kernels on themselves nothing is known.
    set_memory_check([](const void* p, size_t bytes) {
        const FakeState& known = fake_state();
        return known.allocations.empty() ||
               is_allocated(known, reinterpret_cast<uint64_t>(p), bytes);
    });
}

const FakeDriverCounts& FakeDriver::counts() {
    return fake_state().counts;
}

void FakeDriver::set_schedule(const Schedule& schedule) {
    fake_state().options.schedule = schedule;
}

void FakeDriver::fail_call(uint64_t number, DriverResult result) {
    FakeState& state = fake_state();
    state.fail_number = number;
    state.fail_result = result;
    state.failed_call.clear();
}

std::string FakeDriver::failed_call() {
    return fake_state().failed_call;
}

void FakeDriver::lose_devices() {
    fake_state().sticky = DriverResult::unknown;
}

void FakeDriver::lose_device(int32_t device) {
    fake_state().lost_devices.insert(device);
}

void FakeDriver::leave_free(uint64_t bytes) {
    FakeState& state = fake_state();
    state.options.memory_of_devices.clear();
    for (int32_t device = 0; device < state.options.num_devices; ++device)
        state.options.memory_of_devices.push_back(used_bytes(device) + bytes);
}

uint64_t FakeDriver::used_bytes(int32_t device) {
    return emulation::used_bytes(fake_state(), device);
}

std::string FakeDriver::last_error() {
    return fake_state().last_error;
}

void* FakeDriverSymbols::find(const char* name) const {
    if (missing == name) return nullptr;
#define HOKKU_FIND(member, symbol, parameters) \
    if (std::strcmp(name, symbol) == 0) return reinterpret_cast<void*>(&fake::member);
    HOKKU_DRIVER_FUNCTIONS(HOKKU_FIND)
#undef HOKKU_FIND
    return nullptr;
}

namespace fake {

DriverResult init(uint32_t) {
    HOKKU_FAKE_CALL("cuInit", nothing)
    if (call.state().options.num_devices == 0) return DriverResult::no_device;
    call.state().is_initialized = true;
    return DriverResult::success;
}

DriverResult get_version(int32_t* version) {
    HOKKU_FAKE_CALL("cuDriverGetVersion", nothing)
    *version = call.state().options.driver_version;
    return DriverResult::success;
}

DriverResult error_name(DriverResult error, const char** name) {
    switch (error) {
        case DriverResult::success:
            *name = "CUDA_SUCCESS";
            break;
        case DriverResult::out_of_memory:
            *name = "CUDA_ERROR_OUT_OF_MEMORY";
            break;
        case DriverResult::launch_failed:
            *name = "CUDA_ERROR_LAUNCH_FAILED";
            break;
        case DriverResult::unknown:
            *name = "CUDA_ERROR_UNKNOWN";
            break;
        default:
            *name = nullptr;
            return DriverResult::invalid_value;
    }
    return DriverResult::success;
}

DriverResult error_text(DriverResult error, const char** text) {
    *text = error == DriverResult::out_of_memory ? "out of memory" : "the fake driver failed";
    return DriverResult::success;
}

DriverResult device_count(int32_t* count) {
    HOKKU_FAKE_CALL("cuDeviceGetCount", init)
    *count = call.state().options.num_devices;
    return DriverResult::success;
}

DriverResult device_get(DeviceOrdinal* device, int32_t index) {
    HOKKU_FAKE_CALL("cuDeviceGet", init)
    if (!is_valid_device(call.state(), index)) return DriverResult::invalid_device;
    *device = index;
    return DriverResult::success;
}

DriverResult device_name(char* name, int32_t bytes, DeviceOrdinal device) {
    HOKKU_FAKE_CALL("cuDeviceGetName", init)
    std::snprintf(name, static_cast<size_t>(bytes), "Emulated device %d", device);
    return DriverResult::success;
}

DriverResult device_memory(size_t* bytes, DeviceOrdinal device) {
    HOKKU_FAKE_CALL("cuDeviceTotalMem_v2", init)
    *bytes = memory_of(call.state(), device);
    return DriverResult::success;
}

DriverResult device_attribute(int32_t* value, DeviceAttribute attribute, DeviceOrdinal device) {
    HOKKU_FAKE_CALL("cuDeviceGetAttribute", init)
    const FakeDriverOptions& options = call.state().options;
    if (!is_valid_device(call.state(), device)) return DriverResult::invalid_device;
    switch (attribute) {
        case DeviceAttribute::num_multiprocessors:
            *value = options.num_multiprocessors;
            break;
        case DeviceAttribute::compute_major:
            *value = options.compute_major;
            break;
        case DeviceAttribute::compute_minor:
            *value = options.compute_minor;
            break;
        case DeviceAttribute::l2_bytes:
            *value = 1 << 20;
            break;
        case DeviceAttribute::threads_per_multiprocessor:
            *value = 2048;
            break;
        case DeviceAttribute::registers_per_multiprocessor:
            *value = 65536;
            break;
        case DeviceAttribute::shared_bytes_per_multiprocessor:
            *value = static_cast<int32_t>(kMaxSharedBytes) + 1024;
            break;
        case DeviceAttribute::max_shared_bytes_per_block:
            *value = static_cast<int32_t>(kMaxSharedBytes);
            break;
        case DeviceAttribute::has_cooperative_launch:
            *value = 1;
            break;
        case DeviceAttribute::pci_device:
            *value = device;
            break;
        default:
            *value = 0;
    }
    return DriverResult::success;
}

DriverResult can_access_peer(int32_t* can_access, DeviceOrdinal device, DeviceOrdinal peer) {
    HOKKU_FAKE_CALL("cuDeviceCanAccessPeer", init)
    *can_access = call.state().options.has_peer_access && device != peer ? 1 : 0;
    return DriverResult::success;
}

DriverResult context_retain(ContextHandle* context, DeviceOrdinal device) {
    HOKKU_FAKE_CALL("cuDevicePrimaryCtxRetain", init)
    if (!is_valid_device(call.state(), device)) return DriverResult::invalid_device;
    *context = reinterpret_cast<ContextHandle>(static_cast<uintptr_t>(device) + 1);
    return DriverResult::success;
}

DriverResult context_release(DeviceOrdinal) {
    HOKKU_FAKE_CALL("cuDevicePrimaryCtxRelease_v2", init)
    return DriverResult::success;
}

DriverResult context_reset(DeviceOrdinal device) {
    HOKKU_FAKE_CALL("cuDevicePrimaryCtxReset_v2", init)
    FakeState& state = call.state();
    state.sticky = DriverResult::success;
    state.lost_devices.erase(device);
    state.default_streams.erase(device);
    for (const auto& stream : all_streams(state)) {
        if (stream->device == device) end_worker(state, *stream);
    }
    std::erase_if(state.streams, [&](const auto& s) { return s.second->device == device; });
    std::erase_if(state.graph_execs, [&](const auto& g) { return g.second->device == device; });
    state.changed.notify_all();
    std::vector<uint64_t> addresses;
    for (const auto& [address, allocation] : state.allocations) {
        if (allocation.device == device) addresses.push_back(address);
    }
    for (const uint64_t address : addresses) release_allocation(state, address);
    return DriverResult::success;
}

DriverResult context_set_current(ContextHandle context) {
    HOKKU_FAKE_CALL("cuCtxSetCurrent", init)
    const auto number = static_cast<int32_t>(reinterpret_cast<uintptr_t>(context)) - 1;
    if (number >= call.state().options.num_devices) return DriverResult::invalid_context;
    fake_current_device() = number;
    return DriverResult::success;
}

DriverResult enable_peer_access(ContextHandle, uint32_t) {
    HOKKU_FAKE_CALL("cuCtxEnablePeerAccess", context)
    return call.state().options.has_peer_access ? DriverResult::success
                                                : DriverResult::invalid_context;
}

DriverResult memory_info(size_t* free, size_t* total) {
    HOKKU_FAKE_CALL("cuMemGetInfo_v2", context)
    *total = memory_of(call.state(), call.device());
    *free = *total - used_bytes(call.state(), call.device());
    return DriverResult::success;
}

DriverResult memory_alloc(DevicePointer* pointer, size_t bytes) {
    HOKKU_FAKE_CALL("cuMemAlloc_v2", context)
    FakeState& state = call.state();
    if (bytes == 0) return DriverResult::invalid_value;
    if (is_capturing(state, call.device())) return DriverResult::stream_capture_unsupported;
    if (used_bytes(state, call.device()) + bytes > memory_of(state, call.device())) {
        return DriverResult::out_of_memory;
    }
    const FakeAllocation allocation = allocate(bytes, call.device(), false);
    if (allocation.memory == nullptr) return DriverResult::out_of_memory;
    *pointer = add_allocation(state, allocation);
    return DriverResult::success;
}

DriverResult memory_free(DevicePointer pointer) {
    HOKKU_FAKE_CALL("cuMemFree_v2", context)
    FakeState& state = call.state();
    const DriverResult result = drain_all(state);  // The driver waits, too.
    ++state.counts.num_synchronizations;
    if (!release_allocation(state, pointer)) return DriverResult::invalid_value;
    return result != DriverResult::success ? result : state.sticky;
}

DriverResult host_alloc(void** pointer, size_t bytes, uint32_t) {
    HOKKU_FAKE_CALL("cuMemHostAlloc", context)
    if (bytes == 0) return DriverResult::invalid_value;
    const FakeAllocation allocation = allocate(bytes, call.device(), true);
    if (allocation.memory == nullptr) return DriverResult::out_of_memory;
    *pointer = reinterpret_cast<void*>(add_allocation(call.state(), allocation));
    return DriverResult::success;
}

DriverResult host_free(void* pointer) {
    HOKKU_FAKE_CALL("cuMemFreeHost", context)
    const bool is_known = release_allocation(call.state(), reinterpret_cast<uint64_t>(pointer));
    return is_known ? DriverResult::success : DriverResult::invalid_value;
}

DriverResult module_load(ModuleHandle* module, const void* image) {
    HOKKU_FAKE_CALL("cuModuleLoadData", context)
    if (std::memcmp(image, kEmulatedImage, sizeof kEmulatedImage) != 0) {
        return DriverResult::invalid_image;
    }
    *module = reinterpret_cast<ModuleHandle>(uintptr_t{1});
    return DriverResult::success;
}

DriverResult module_unload(ModuleHandle) {
    HOKKU_FAKE_CALL("cuModuleUnload", context)
    return DriverResult::success;
}

DriverResult module_function(FunctionHandle* function, ModuleHandle, const char* name) {
    HOKKU_FAKE_CALL("cuModuleGetFunction", context)
    const Kernel* kernel = find_kernel(name);
    if (kernel == nullptr) return DriverResult::not_found;
    call.state().functions.push_back(std::make_unique<FakeFunction>(FakeFunction{kernel}));
    *function = reinterpret_cast<FunctionHandle>(call.state().functions.back().get());
    return DriverResult::success;
}

DriverResult function_attribute(int32_t* value, FunctionAttribute attribute,
                                FunctionHandle handle) {
    HOKKU_FAKE_CALL("cuFuncGetAttribute", context)
    const auto& function = *reinterpret_cast<const FakeFunction*>(handle);
    const FakeDriverOptions& options = call.state().options;
    const int32_t version = options.compute_major * 10 + options.compute_minor;
    switch (attribute) {
        case FunctionAttribute::max_threads:
            *value = static_cast<int32_t>(function.kernel->max_threads);
            break;
        case FunctionAttribute::max_dynamic_shared_bytes:
            *value = function.max_dynamic_shared_bytes;
            break;
        case FunctionAttribute::ptx_version:
            *value = options.ptx_version != 0 ? options.ptx_version : version;
            break;
        case FunctionAttribute::binary_version:
            *value = version;
            break;
        default:
            *value = 0;
    }
    return DriverResult::success;
}

DriverResult function_set_attribute(FunctionHandle handle, FunctionAttribute attribute,
                                    int32_t value) {
    HOKKU_FAKE_CALL("cuFuncSetAttribute", context)
    auto& function = *reinterpret_cast<FakeFunction*>(handle);
    if (attribute != FunctionAttribute::max_dynamic_shared_bytes || value < 0 ||
        value > static_cast<int32_t>(kMaxSharedBytes)) {
        return DriverResult::invalid_value;
    }
    function.max_dynamic_shared_bytes = value;
    return DriverResult::success;
}

DriverResult max_active_blocks(int32_t* blocks, FunctionHandle handle, int32_t block_threads,
                               size_t shared_bytes) {
    HOKKU_FAKE_CALL("cuOccupancyMaxActiveBlocksPerMultiprocessor", context)
    const auto& function = *reinterpret_cast<const FakeFunction*>(handle);
    if (block_threads <= 0) return DriverResult::invalid_value;
    *blocks = 2048 / block_threads;
    if (block_threads > static_cast<int32_t>(function.kernel->max_threads)) *blocks = 0;
    if (shared_bytes > 0) {
        *blocks = std::min(*blocks, static_cast<int32_t>(kMaxSharedBytes / shared_bytes));
    }
    return DriverResult::success;
}

}  // namespace fake
}  // namespace hokku::emulation
