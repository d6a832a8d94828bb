// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver API that the plug-in uses, declared by ourselves so that it builds
// where no toolkit is installed. tests/cuda compares it with cuda.h where there is one.
// Source : cuda.h of CUDA 13.0; what is used exists since CUDA 12.0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hokku::cuda {

enum class DriverResult : int32_t {
    success = 0,
    invalid_value = 1,
    out_of_memory = 2,
    not_initialized = 3,
    no_device = 100,
    invalid_device = 101,
    invalid_image = 200,
    invalid_context = 201,
    no_binary_for_gpu = 209,
    unsupported_ptx_version = 222,
    invalid_handle = 400,
    not_found = 500,
    not_ready = 600,
    illegal_address = 700,
    launch_out_of_resources = 701,
    peer_access_already_enabled = 704,
    misaligned_address = 716,
    launch_failed = 719,
    cooperative_launch_too_large = 720,
    system_driver_mismatch = 803,
    stream_capture_unsupported = 900,
    stream_capture_invalidated = 901,
    stream_capture_unjoined = 904,
    unknown = 999,
};

using DeviceOrdinal = int32_t;   ///< CUdevice
using DevicePointer = uint64_t;  ///< CUdeviceptr
// Handles of the driver; what they point to is its own matter.
using ContextHandle = struct DriverContext*;
using ModuleHandle = struct DriverModule*;
using FunctionHandle = struct DriverFunction*;
using StreamHandle = struct DriverStream*;
using EventHandle = struct DriverEvent*;
using GraphHandle = struct DriverGraph*;
using GraphExecHandle = struct DriverGraphExec*;

enum class DeviceAttribute : int32_t {
    clock_khz = 13,
    num_multiprocessors = 16,
    is_integrated = 18,
    pci_bus = 33,
    pci_device = 34,
    memory_clock_khz = 36,
    memory_bus_bits = 37,
    l2_bytes = 38,
    threads_per_multiprocessor = 39,
    pci_domain = 50,
    compute_major = 75,
    compute_minor = 76,
    shared_bytes_per_multiprocessor = 81,
    registers_per_multiprocessor = 82,
    has_cooperative_launch = 95,
    max_shared_bytes_per_block = 97,
};

enum class FunctionAttribute : int32_t {
    max_threads = 0,
    static_shared_bytes = 1,
    local_bytes = 3,
    num_registers = 4,
    ptx_version = 5,
    binary_version = 6,
    max_dynamic_shared_bytes = 8,
};

inline constexpr uint32_t kStreamNonBlocking = 1;
inline constexpr uint32_t kEventWithoutTiming = 2;
inline constexpr uint32_t kHostMemoryPortable = 1;
enum class CaptureMode : int32_t { global = 0, thread_local_ = 1, relaxed = 2 };

enum class LaunchAttributeId : int32_t { cooperative = 2, programmatic_serialization = 6 };

/// CUlaunchAttribute: the value is a union of 64 bytes.
struct LaunchAttribute {
    LaunchAttributeId id;
    int32_t padding;
    union {
        int32_t flag;
        uint64_t bytes[8];
    } value;
};

/// CUlaunchConfig
struct LaunchConfig {
    uint32_t grid_x, grid_y, grid_z;
    uint32_t block_x, block_y, block_z;
    uint32_t shared_bytes;
    StreamHandle stream;
    LaunchAttribute* attributes;
    uint32_t num_attributes;
};

}  // namespace hokku::cuda
