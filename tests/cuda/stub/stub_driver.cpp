// SPDX-License-Identifier: Apache-2.0
// A library that stands for the graphics driver, nvcuda.dll. It has one device that computes
// nothing, counts calls, and lets one of them fail. Unlike the fake driver it is found and opened
// as the real one is.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "driver/driver_api.h"

#define HOKKU_STUB extern "C" __declspec(dllexport)

using namespace hokku::cuda;

namespace {

int32_t num_calls = 0, fail_number = 0, num_live = 0;
const char* failed_name = "";

/// Success, unless it is this call's turn to fail.
DriverResult count(const char* name) {
    if (++num_calls != fail_number) return DriverResult::success;
    failed_name = name;
    return DriverResult::unknown;
}

template <class Handle>
DriverResult give(Handle* out, const char* name) {
    const DriverResult result = count(name);
    if (result == DriverResult::success) *out = reinterpret_cast<Handle>(uintptr_t{64});
    return result;
}

void* allocate(size_t bytes) {
    ++num_live;
    return std::calloc(1, bytes);
}

void release(void* memory) {
    --num_live;
    std::free(memory);
}

DriverResult copy(const char* name, void* to, const void* from, size_t bytes) {
    const DriverResult result = count(name);
    if (result == DriverResult::success) std::memcpy(to, from, bytes);
    return result;
}

void* host(DevicePointer pointer) {
    return reinterpret_cast<void*>(static_cast<uintptr_t>(pointer));
}

}  // namespace

// ---- for the test ------------------------------------------------------------------------------

/// The call of this number fails, counted from 1; 0: none.
HOKKU_STUB void hokku_stub_reset(int32_t number) {
    num_calls = 0;
    fail_number = number;
    failed_name = "";
}
/// Empty: none has.
HOKKU_STUB const char* hokku_stub_failed() {
    return failed_name;
}
HOKKU_STUB int32_t hokku_stub_live_allocations() {
    return num_live;
}

// ---- the driver --------------------------------------------------------------------------------

// A function of these parameters; what follows is its body.
#define HOKKU_CALL(name, ...) HOKKU_STUB DriverResult HOKKU_DRIVER_CALL name(__VA_ARGS__)
// One that does nothing but count.
#define HOKKU_COUNT(name, ...)      \
    HOKKU_CALL(name, __VA_ARGS__) { \
        return count(#name);        \
    }
// One that gives a value or a handle.
#define HOKKU_GIVE(name, type, given, ...)                 \
    HOKKU_CALL(name, type* out, ##__VA_ARGS__) {           \
        const DriverResult result = count(#name);          \
        if (result == DriverResult::success) *out = given; \
        return result;                                     \
    }
#define HOKKU_HANDLE(name, type, ...)            \
    HOKKU_CALL(name, type* out, ##__VA_ARGS__) { \
        return give(out, #name);                 \
    }

HOKKU_COUNT(cuInit, uint32_t)
HOKKU_GIVE(cuDriverGetVersion, int32_t, 13000)
HOKKU_CALL(cuGetErrorName, DriverResult error, const char** name) {
    *name = error == DriverResult::unknown ? "CUDA_ERROR_UNKNOWN" : nullptr;
    return DriverResult::success;
}
HOKKU_CALL(cuGetErrorString, DriverResult, const char** text) {
    *text = "the stub was told to fail";
    return DriverResult::success;
}
HOKKU_GIVE(cuDeviceGetCount, int32_t, 1)
HOKKU_GIVE(cuDeviceGet, DeviceOrdinal, 0, int32_t)
HOKKU_CALL(cuDeviceGetName, char* name, int32_t bytes, DeviceOrdinal) {
    std::snprintf(name, static_cast<size_t>(bytes), "Stub");
    return count("cuDeviceGetName");
}
HOKKU_GIVE(cuDeviceTotalMem_v2, size_t, size_t{1} << 33, DeviceOrdinal)
HOKKU_CALL(cuDeviceGetAttribute, int32_t* value, DeviceAttribute attribute, DeviceOrdinal) {
    *value = attribute == DeviceAttribute::compute_major                ? 9
             : attribute == DeviceAttribute::num_multiprocessors        ? 4
             : attribute == DeviceAttribute::max_shared_bytes_per_block ? 200 << 10
             : attribute == DeviceAttribute::compute_minor              ? 0
                                                                        : 1;
    return count("cuDeviceGetAttribute");
}
HOKKU_GIVE(cuDeviceCanAccessPeer, int32_t, 0, DeviceOrdinal, DeviceOrdinal)
HOKKU_HANDLE(cuDevicePrimaryCtxRetain, ContextHandle, DeviceOrdinal)
HOKKU_COUNT(cuDevicePrimaryCtxRelease_v2, DeviceOrdinal)
HOKKU_COUNT(cuDevicePrimaryCtxReset_v2, DeviceOrdinal)
HOKKU_COUNT(cuCtxSetCurrent, ContextHandle)
HOKKU_COUNT(cuCtxSynchronize)
HOKKU_COUNT(cuCtxEnablePeerAccess, ContextHandle, uint32_t)
HOKKU_CALL(cuMemGetInfo_v2, size_t* free, size_t* total) {
    *free = *total = size_t{1} << 33;
    return count("cuMemGetInfo_v2");
}
HOKKU_CALL(cuMemAlloc_v2, DevicePointer* pointer, size_t bytes) {
    const DriverResult result = count("cuMemAlloc_v2");
    if (result == DriverResult::success)
        *pointer = static_cast<DevicePointer>(reinterpret_cast<uintptr_t>(allocate(bytes)));
    return result;
}
HOKKU_CALL(cuMemFree_v2, DevicePointer pointer) {
    release(host(pointer));
    return count("cuMemFree_v2");
}
HOKKU_CALL(cuMemHostAlloc, void** pointer, size_t bytes, uint32_t) {
    const DriverResult result = count("cuMemHostAlloc");
    if (result == DriverResult::success) *pointer = allocate(bytes);
    return result;
}
HOKKU_CALL(cuMemFreeHost, void* pointer) {
    release(pointer);
    return count("cuMemFreeHost");
}
HOKKU_CALL(cuMemcpyHtoD_v2, DevicePointer to, const void* from, size_t bytes) {
    return copy("cuMemcpyHtoD_v2", host(to), from, bytes);
}
HOKKU_CALL(cuMemcpyDtoH_v2, void* to, DevicePointer from, size_t bytes) {
    return copy("cuMemcpyDtoH_v2", to, host(from), bytes);
}
HOKKU_CALL(cuMemcpyHtoDAsync_v2, DevicePointer to, const void* from, size_t bytes, StreamHandle) {
    return copy("cuMemcpyHtoDAsync_v2", host(to), from, bytes);
}
HOKKU_CALL(cuMemcpyDtoHAsync_v2, void* to, DevicePointer from, size_t bytes, StreamHandle) {
    return copy("cuMemcpyDtoHAsync_v2", to, host(from), bytes);
}
HOKKU_CALL(cuMemcpyDtoDAsync_v2, DevicePointer to, DevicePointer from, size_t bytes, StreamHandle) {
    return copy("cuMemcpyDtoDAsync_v2", host(to), host(from), bytes);
}
HOKKU_CALL(cuMemsetD8Async, DevicePointer to, uint8_t value, size_t bytes, StreamHandle) {
    std::memset(host(to), value, bytes);
    return count("cuMemsetD8Async");
}
HOKKU_HANDLE(cuModuleLoadData, ModuleHandle, const void*)
HOKKU_COUNT(cuModuleUnload, ModuleHandle)
HOKKU_HANDLE(cuModuleGetFunction, FunctionHandle, ModuleHandle, const char*)
HOKKU_GIVE(cuFuncGetAttribute, int32_t, 90, FunctionAttribute, FunctionHandle)
HOKKU_COUNT(cuFuncSetAttribute, FunctionHandle, FunctionAttribute, int32_t)
HOKKU_GIVE(cuOccupancyMaxActiveBlocksPerMultiprocessor, int32_t, 2, FunctionHandle, int32_t, size_t)
HOKKU_COUNT(cuLaunchKernelEx, const LaunchConfig*, FunctionHandle, void**, void**)
HOKKU_HANDLE(cuStreamCreate, StreamHandle, uint32_t)
HOKKU_COUNT(cuStreamDestroy_v2, StreamHandle)
HOKKU_COUNT(cuStreamSynchronize, StreamHandle)
HOKKU_COUNT(cuStreamWaitEvent, StreamHandle, EventHandle, uint32_t)
HOKKU_COUNT(cuStreamBeginCapture_v2, StreamHandle, CaptureMode)
HOKKU_CALL(cuStreamEndCapture, StreamHandle, GraphHandle* graph) {
    return give(graph, "cuStreamEndCapture");
}
HOKKU_HANDLE(cuEventCreate, EventHandle, uint32_t)
HOKKU_COUNT(cuEventDestroy_v2, EventHandle)
HOKKU_COUNT(cuEventRecord, EventHandle, StreamHandle)
HOKKU_COUNT(cuEventQuery, EventHandle)
HOKKU_COUNT(cuEventSynchronize, EventHandle)
HOKKU_GIVE(cuEventElapsedTime, float, 1.0f, EventHandle, EventHandle)
HOKKU_HANDLE(cuGraphInstantiateWithFlags, GraphExecHandle, GraphHandle, uint64_t)
HOKKU_COUNT(cuGraphLaunch, GraphExecHandle, StreamHandle)
HOKKU_COUNT(cuGraphDestroy, GraphHandle)
HOKKU_COUNT(cuGraphExecDestroy, GraphExecHandle)
