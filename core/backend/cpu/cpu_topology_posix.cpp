// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <thread>

#include "backend/cpu/cpu_topology.h"
#include "backend/cpu/thread_team.h"

#ifdef __linux__
#include <sched.h>
#endif

namespace hokku::cpu {

std::vector<uint32_t> allowed_cpus() {
    std::vector<uint32_t> cpus;
#ifdef __linux__
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        for (uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
        }
    }
#endif
    if (cpus.empty()) {
        const uint32_t count = std::max(std::thread::hardware_concurrency(), 1u);
        for (uint32_t cpu = 0; cpu < count; ++cpu) cpus.push_back(cpu);
    }
    return cpus;
}

uint32_t num_physical_cores() {
    return std::max(count_physical_cores("/", allowed_cpus()), 1u);
}

uint32_t default_num_threads() {
    uint32_t count = std::max(count_physical_cores("/", fast_cpus("/", allowed_cpus())), 1u);
    if (const auto limit = cgroup_cpu_limit("/")) {
        const double whole = std::max(std::floor(*limit), 1.0);
        count = static_cast<uint32_t>(std::min(whole, static_cast<double>(count)));
    }
    return count;
}

uint32_t max_num_threads() {
    const auto count = static_cast<double>(allowed_cpus().size());
    const double limit = cgroup_cpu_limit("/").value_or(count);
    return static_cast<uint32_t>(std::clamp(std::ceil(limit), 1.0, std::max(count, 1.0)));
}

}  // namespace hokku::cpu
