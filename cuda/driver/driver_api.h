// SPDX-License-Identifier: Apache-2.0
// DriverApi: the functions of the CUDA driver as a table that is filled at run time, from the real
// library or from a fake of it. Nothing links to the driver.
#pragma once

#include <string>

#include "driver/driver_types.h"
#include "driver/symbols.h"
#include "hokku/result.h"

#if defined(_WIN32)
#define HOKKU_DRIVER_CALL __stdcall
#else
#define HOKKU_DRIVER_CALL
#endif

namespace hokku::cuda {

// X(member, name in the library, parameters)
#define HOKKU_DRIVER_FUNCTIONS(X)                                                                  \
    X(init, "cuInit", (uint32_t flags))                                                            \
    X(get_version, "cuDriverGetVersion", (int32_t * version))                                      \
    X(error_name, "cuGetErrorName", (DriverResult error, const char** name))                       \
    X(error_text, "cuGetErrorString", (DriverResult error, const char** text))                     \
    X(device_count, "cuDeviceGetCount", (int32_t * count))                                         \
    X(device_get, "cuDeviceGet", (DeviceOrdinal * device, int32_t index))                          \
    X(device_name, "cuDeviceGetName", (char* name, int32_t bytes, DeviceOrdinal device))           \
    X(device_memory, "cuDeviceTotalMem_v2", (size_t * bytes, DeviceOrdinal device))                \
    X(device_attribute, "cuDeviceGetAttribute",                                                    \
      (int32_t * value, DeviceAttribute attribute, DeviceOrdinal device))                          \
    X(can_access_peer, "cuDeviceCanAccessPeer",                                                    \
      (int32_t * can_access, DeviceOrdinal device, DeviceOrdinal peer))                            \
    X(context_retain, "cuDevicePrimaryCtxRetain", (ContextHandle * context, DeviceOrdinal device)) \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (DeviceOrdinal device))                     \
    X(context_reset, "cuDevicePrimaryCtxReset_v2", (DeviceOrdinal device))                         \
    X(context_set_current, "cuCtxSetCurrent", (ContextHandle context))                             \
    X(context_synchronize, "cuCtxSynchronize", ())                                                 \
    X(enable_peer_access, "cuCtxEnablePeerAccess", (ContextHandle peer, uint32_t flags))           \
    X(memory_info, "cuMemGetInfo_v2", (size_t * free, size_t * total))                             \
    X(memory_alloc, "cuMemAlloc_v2", (DevicePointer * pointer, size_t bytes))                      \
    X(memory_free, "cuMemFree_v2", (DevicePointer pointer))                                        \
    X(host_alloc, "cuMemHostAlloc", (void** pointer, size_t bytes, uint32_t flags))                \
    X(host_free, "cuMemFreeHost", (void* pointer))                                                 \
    X(copy_to_device, "cuMemcpyHtoD_v2", (DevicePointer to, const void* from, size_t bytes))       \
    X(copy_to_host, "cuMemcpyDtoH_v2", (void* to, DevicePointer from, size_t bytes))               \
    X(copy_to_device_async, "cuMemcpyHtoDAsync_v2",                                                \
      (DevicePointer to, const void* from, size_t bytes, StreamHandle stream))                     \
    X(copy_to_host_async, "cuMemcpyDtoHAsync_v2",                                                  \
      (void* to, DevicePointer from, size_t bytes, StreamHandle stream))                           \
    X(copy_on_device_async, "cuMemcpyDtoDAsync_v2",                                                \
      (DevicePointer to, DevicePointer from, size_t bytes, StreamHandle stream))                   \
    X(fill_bytes_async, "cuMemsetD8Async",                                                         \
      (DevicePointer to, uint8_t value, size_t bytes, StreamHandle stream))                        \
    X(module_load, "cuModuleLoadData", (ModuleHandle * module, const void* image))                 \
    X(module_unload, "cuModuleUnload", (ModuleHandle module))                                      \
    X(module_function, "cuModuleGetFunction",                                                      \
      (FunctionHandle * function, ModuleHandle module, const char* name))                          \
    X(function_attribute, "cuFuncGetAttribute",                                                    \
      (int32_t * value, FunctionAttribute attribute, FunctionHandle function))                     \
    X(function_set_attribute, "cuFuncSetAttribute",                                                \
      (FunctionHandle function, FunctionAttribute attribute, int32_t value))                       \
    X(max_active_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                            \
      (int32_t * blocks, FunctionHandle function, int32_t block_threads, size_t shared_bytes))     \
    X(launch, "cuLaunchKernelEx",                                                                  \
      (const LaunchConfig* config, FunctionHandle function, void** params, void** extra))          \
    X(stream_create, "cuStreamCreate", (StreamHandle * stream, uint32_t flags))                    \
    X(stream_destroy, "cuStreamDestroy_v2", (StreamHandle stream))                                 \
    X(stream_synchronize, "cuStreamSynchronize", (StreamHandle stream))                            \
    X(stream_wait_event, "cuStreamWaitEvent",                                                      \
      (StreamHandle stream, EventHandle event, uint32_t flags))                                    \
    X(stream_begin_capture, "cuStreamBeginCapture_v2", (StreamHandle stream, CaptureMode mode))    \
    X(stream_end_capture, "cuStreamEndCapture", (StreamHandle stream, GraphHandle * graph))        \
    X(event_create, "cuEventCreate", (EventHandle * event, uint32_t flags))                        \
    X(event_destroy, "cuEventDestroy_v2", (EventHandle event))                                     \
    X(event_record, "cuEventRecord", (EventHandle event, StreamHandle stream))                     \
    X(event_query, "cuEventQuery", (EventHandle event))                                            \
    X(event_synchronize, "cuEventSynchronize", (EventHandle event))                                \
    X(event_elapsed, "cuEventElapsedTime", (float* ms, EventHandle start, EventHandle end))        \
    X(graph_instantiate, "cuGraphInstantiateWithFlags",                                            \
      (GraphExecHandle * exec, GraphHandle graph, uint64_t flags))                                 \
    X(graph_launch, "cuGraphLaunch", (GraphExecHandle exec, StreamHandle stream))                  \
    X(graph_destroy, "cuGraphDestroy", (GraphHandle graph))                                        \
    X(graph_exec_destroy, "cuGraphExecDestroy", (GraphExecHandle exec))

struct DriverApi {
#define HOKKU_MEMBER(member, name, parameters) \
    DriverResult(HOKKU_DRIVER_CALL* member) parameters = nullptr;
    HOKKU_DRIVER_FUNCTIONS(HOKKU_MEMBER)
#undef HOKKU_MEMBER
};

/// The oldest driver API that has all of it: CUDA 12.0, as cuDriverGetVersion counts.
inline constexpr int32_t kMinDriverVersion = 12000;

/// Fills the table. Does not call the driver.
///
/// Errors : unsupported, naming the function that the library lacks.
Result<DriverApi> load_driver_api(const SymbolSource& library);

/// ok, or an error with the driver's name and text for `result`: "out of memory
/// (cuMemAlloc_v2, CUDA_ERROR_OUT_OF_MEMORY): 1234 bytes".
///
/// Errors : out_of_memory for the driver's, else device.
Result<void> check_driver(const DriverApi& api, DriverResult result, const char* call,
                          const std::string& what);

}  // namespace hokku::cuda
