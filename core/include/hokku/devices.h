// SPDX-License-Identifier: Apache-2.0
// The devices that models can run on, as this machine has them, for display and for scripts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hokku {

struct DeviceInfo {
    std::string id;                         ///< "cpu".
    std::string name;                       ///< As the maker calls it.
    std::vector<std::string> instructions;  ///< Of those that kernels use: "avx2", "neon_dot".
    std::vector<std::string> kernels;       ///< Kernel tables that run here, best first.
    uint32_t num_physical_cores = 0;        ///< That this process may use.
    uint32_t num_logical_cpus = 0;          ///< That this process may use.
    uint32_t default_threads = 0;
    uint64_t total_memory_bytes = 0, available_memory_bytes = 0;
};

/// The processors. Never fails: what cannot be found out is 0 or empty.
std::vector<DeviceInfo> list_devices();

/// What a model and its context take of a machine's memory.
struct MemoryNeeds {
    uint32_t trained_context = 0;  ///< Tokens; 0: unknown.
    uint64_t kv_bytes_per_token = 0, weight_bytes = 0;
    uint64_t available_bytes = 0;  ///< 0: unknown.
};
/// Tokens of the context that Engine::load() chooses on the CPU where LoadOptions names none.
/// Where not even the least fits, that.
uint32_t automatic_context(const MemoryNeeds& needs);

struct GpuInfo {
    std::string id;  ///< "cuda:0", as LoadOptions::device takes it.
    std::string name;
    std::string architecture;  ///< "9.0"
    std::string driver;        ///< "CUDA 13.0": what the driver knows.
    uint64_t total_memory_bytes = 0;
};
struct GpuList {
    std::vector<GpuInfo> gpus;
    std::string note;  ///< Why there are none, for people.
};
/// Loads the plug-in and the driver, which may take a second the first time.
GpuList list_gpus();

}  // namespace hokku
