// SPDX-License-Identifier: Apache-2.0
// How many threads this process can use well: physical cores, affinity mask and cgroup quota, read
// from the system. For Linux that is the kernel's files, whose root folder is a parameter so that
// tests can stage machines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hokku::cpu {

/// Logical CPUs of a kernel list such as "0-3,8,10-11"; empty when malformed.
std::vector<uint32_t> parse_cpu_list(std::string_view text);

/// Those of `cpus` that are among `others`.
std::vector<uint32_t> in_both(std::span<const uint32_t> cpus, std::span<const uint32_t> others);

/// Of a file that the kernel shows; nothing if it cannot be read.
std::optional<std::string> read_first_line(const std::filesystem::path& path);

/// Distinct physical cores among `cpus`, by sys/devices/system/cpu/cpuN/topology below `root`.
/// A CPU whose topology cannot be read counts as a core of its own.
uint32_t count_physical_cores(const std::filesystem::path& root, std::span<const uint32_t> cpus);

/// Those of `cpus` on fast cores, where a machine has cores of several kinds: work is cut into
/// equal parts, which a slow core would hold up. Below `root`, sys/devices/cpu_core/cpus lists the
/// fast ones of Intel's hybrids, and cpuN/cpu_capacity is the speed on ARM (fast: 60 % of the
/// best). All of `cpus` where neither tells kinds apart.
std::vector<uint32_t> fast_cpus(const std::filesystem::path& root, std::span<const uint32_t> cpus);

/// CPUs' worth of run time that the cgroups (v2 or v1) of this process allow, the tightest of the
/// group and its parents; nullopt when unlimited. Reads proc/self/cgroup and sys/fs/cgroup.
std::optional<double> cgroup_cpu_limit(const std::filesystem::path& root);

/// Logical CPUs that this process may run on.
std::vector<uint32_t> allowed_cpus();

/// Distinct physical cores among them; at least 1.
uint32_t num_physical_cores();

}  // namespace hokku::cpu
