// SPDX-License-Identifier: Apache-2.0
// FakeDriver: a CUDA driver whose devices are the emulator. Streams do nothing before something
// waits for them, so that a missing wait shows; calls are counted and can be made to fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "driver/driver_api.h"
#include "emulation/launch.h"

namespace hokku::emulation {

struct FakeDriverOptions {
    int32_t num_devices = 1;
    int32_t driver_version = 13000;
    int32_t compute_major = 9, compute_minor = 0;
    int32_t ptx_version = 0;  ///< That kernels were compiled for; 0: the device's own.
    int32_t num_multiprocessors = 4;
    uint64_t memory_bytes = uint64_t{1} << 30;     ///< Of each device, but for ...
    std::vector<uint64_t> memory_of_devices = {};  ///< ... the first ones, if any are here.
    bool has_peer_access = true;
    Schedule schedule = {};
};

/// Since the last reset.
struct FakeDriverCounts {
    uint64_t num_calls = 0;
    uint64_t num_allocations = 0;  ///< Of device and of pinned memory.
    uint64_t num_live_allocations = 0;
    uint64_t num_synchronizations = 0;
    uint64_t num_launches = 0;  ///< Kernels, those of graphs too.
    uint64_t num_graph_launches = 0;
    uint64_t num_pageable_copies = 0;  ///< Asynchronous ones of memory that is not pinned.
    uint64_t bytes_to_host = 0, bytes_to_device = 0;
    uint64_t live_bytes = 0;  ///< Of device memory.
};

/// There is one, as with the real driver. Contexts, memory and streams of before a reset are gone.
///
/// Threads: thread-safe; kernels of several threads run one after another.
class FakeDriver {
  public:
    static void reset(const FakeDriverOptions& options = {});
    static const FakeDriverCounts& counts();
    static void set_schedule(const Schedule& schedule);
    /// The call with this number (1: the next one) returns `result` once.
    static void fail_call(uint64_t number, cuda::DriverResult result);
    /// Name of the call that was made to fail; empty: not reached yet.
    static std::string failed_call();
    /// Every call on devices fails from now on, until their contexts are reset.
    static void lose_devices();
    /// The same of one of them.
    static void lose_device(int32_t device);
    /// Others take all memory of every device but so much.
    static void leave_free(uint64_t bytes);
    /// Bytes that are allocated on a device.
    static uint64_t used_bytes(int32_t device);
    /// Why a launch failed: what the emulator found.
    static std::string last_error();
};

/// The fake's functions by the real names.
class FakeDriverSymbols : public cuda::SymbolSource {
  public:
    [[nodiscard]] void* find(const char* name) const override;
    [[nodiscard]] std::string name() const override { return "fake driver"; }
    /// One function that this driver lacks; empty: none.
    std::string missing = {};
};

/// What cuModuleLoadData takes as an image: all kernels that are linked into the program.
inline constexpr char kEmulatedImage[] = "hokku emulated kernels";

}  // namespace hokku::emulation
