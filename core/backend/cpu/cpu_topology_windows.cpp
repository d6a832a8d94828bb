// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include <algorithm>
#include <cstddef>

#include "backend/cpu/cpu_topology.h"
#include "backend/cpu/thread_team.h"

namespace hokku::cpu {

namespace {

/// Of a processor group's 64 CPUs those that this process may use. Groups beyond the first are only
/// on machines with more than 64 CPUs; there no affinity mask can be read, and all may be used.
KAFFINITY allowed_in_group(WORD group) {
    DWORD_PTR process = 0, system = 0;
    if (GetActiveProcessorGroupCount() > 1 ||
        GetProcessAffinityMask(GetCurrentProcess(), &process, &system) == 0) {
        const DWORD count = GetActiveProcessorCount(group);
        return count >= 64 ? ~KAFFINITY{0} : (KAFFINITY{1} << count) - 1;
    }
    return process;
}

}  // namespace

std::vector<uint32_t> allowed_cpus() {
    std::vector<uint32_t> cpus;
    for (WORD group = 0; group < GetActiveProcessorGroupCount(); ++group) {
        const KAFFINITY mask = allowed_in_group(group);
        for (uint32_t bit = 0; bit < 64; ++bit) {
            if ((mask >> bit & 1) != 0) cpus.push_back(uint32_t{group} * 64 + bit);
        }
    }
    if (cpus.empty()) cpus.push_back(0);
    return cpus;
}

namespace {

/// The higher, the faster the core; 0 where there is one kind. MinGW-w64 10 has no name for it: the
/// byte behind Flags (PROCESSOR_RELATIONSHIP, winnt.h of Windows 10).
BYTE efficiency_class(const PROCESSOR_RELATIONSHIP& core) {
    return (&core.Flags)[1];
}

/// Of the cores that this process may use: all, and those of the fastest kind.
struct CoreCounts {
    uint32_t all = 0, fast = 0;
};

CoreCounts count_cores() {
    CoreCounts counts;
    DWORD size = 0;
    GetLogicalProcessorInformationEx(RelationProcessorCore, nullptr, &size);
    std::vector<std::byte> buffer(size);
    auto* first = reinterpret_cast<SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX*>(buffer.data());
    if (size == 0 || GetLogicalProcessorInformationEx(RelationProcessorCore, first, &size) == 0)
        return counts;
    BYTE fastest = 0;
    for (DWORD at = 0; at + sizeof(DWORD) * 2 <= size;) {
        // NOLINTNEXTLINE: records of different sizes, as the system lays them out
        const auto* core =
            reinterpret_cast<const SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX*>(buffer.data() + at);
        const GROUP_AFFINITY& cpus = core->Processor.GroupMask[0];  // A core is in one group.
        if ((cpus.Mask & allowed_in_group(cpus.Group)) != 0) {
            ++counts.all;
            const BYTE kind = efficiency_class(core->Processor);
            if (kind > fastest) counts.fast = 0;
            fastest = std::max(fastest, kind);
            if (kind == fastest) ++counts.fast;
        }
        if (core->Size == 0) break;
        at += core->Size;
    }
    return counts;
}

uint32_t at_most_allowed(uint32_t count) {
    const auto num_allowed = static_cast<uint32_t>(allowed_cpus().size());
    return count == 0 ? num_allowed : std::min(count, num_allowed);
}

}  // namespace

uint32_t num_physical_cores() {
    return at_most_allowed(count_cores().all);
}

uint32_t default_num_threads() {
    return at_most_allowed(count_cores().fast);
}

uint32_t max_num_threads() {
    return static_cast<uint32_t>(allowed_cpus().size());
}

}  // namespace hokku::cpu
