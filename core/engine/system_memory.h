// SPDX-License-Identifier: Apache-2.0
// What memory this process has and could have: the system's figures and, on Linux, the cgroup
// limit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace hokku {

struct SystemMemory {
    uint64_t total_bytes = 0;      ///< 0: unknown.
    uint64_t available_bytes = 0;  ///< Without swapping others out; the page cache counts as free.
};

SystemMemory read_system_memory();

/// What Linux says of itself in proc/meminfo, proc/self/cgroup and sys/fs/cgroup (v2 and v1) below
/// `root`, which tests stage.
SystemMemory read_linux_memory(const std::filesystem::path& root);

/// Most memory that this process has held so far, in bytes; 0 where unknown.
uint64_t peak_process_memory();

}  // namespace hokku
