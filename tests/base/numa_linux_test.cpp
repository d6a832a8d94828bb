// SPDX-License-Identifier: Apache-2.0
// What Linux does with the advice on NUMA nodes, as far as a machine with one node can show it.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/numa.h"
#include "base/zeroed_pages.h"
#include "support/catch.h"
#include "support/golden.h"

using namespace hokku;

namespace {

std::vector<uint32_t> allowed() {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    std::vector<uint32_t> cpus;
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    return cpus;
}

/// Of linux/mempolicy.h: 0 is the default, 2 binds, 3 takes turns. -1: the system does not tell.
int policy() {
    int mode = -1;
    return syscall(SYS_get_mempolicy, &mode, nullptr, 0, nullptr, 0) == 0 ? mode : -1;
}
long set_policy(int mode, unsigned long nodes) {
    return syscall(SYS_set_mempolicy, mode, nodes != 0 ? &nodes : nullptr, nodes != 0 ? 64 : 0);
}

/// Whether this process may choose nodes: a container may forbid it, a kernel be without.
bool can_place() {
    const bool is_set = policy() == 0 && set_policy(3, 1) == 0;
    if (is_set) set_policy(0, 0);
    return is_set;
}
constexpr const char* kCannot = "hardware: this system lets nobody choose NUMA nodes";

/// The policy that /proc/self/numa_maps names for the mapping with this address.
std::string policy_of(const void* mapping) {
    std::ostringstream address;
    address << std::hex << reinterpret_cast<uintptr_t>(mapping);
    std::ifstream maps("/proc/self/numa_maps");
    for (std::string line; std::getline(maps, line);) {
        std::istringstream words(line);
        std::string at, name;
        words >> at >> name;
        if (at == address.str()) return name;
    }
    return {};
}

}  // namespace

TEST_CASE("ThreadBinding: the thread runs there, and afterwards where it might before",
          "[base][quick]") {
    const std::vector<uint32_t> before = allowed();
    const std::vector<uint32_t> last{before.back()};
    {
        const ThreadBinding binding(last);
        CHECK(binding.is_bound());
        CHECK(allowed() == last);
        CHECK(sched_getcpu() == static_cast<int>(last.front()));
    }
    CHECK(allowed() == before);
    const ThreadBinding none({});
    CHECK_FALSE(none.is_bound());
    CHECK(allowed() == before);
    const ThreadBinding impossible(std::vector<uint32_t>{100'000});
    CHECK_FALSE(impossible.is_bound());
    CHECK(allowed() == before);
}

TEST_CASE("InterleavedPages: pages come in turn while it lives, and only in this thread",
          "[base][quick]") {
    if (!can_place()) return testing::report_skip(kCannot);
    const std::vector<uint32_t> nodes{0};
    std::promise<void> placed;
    int others = -1;
    // Begun before, as threads inherit what their maker has chosen.
    std::thread other([&others, wait = placed.get_future()] {
        wait.wait();
        others = policy();
    });
    {
        const InterleavedPages placing(nodes);
        CHECK(placing.is_on());
        CHECK(policy() == 3);
        placed.set_value();
        other.join();
        CHECK(others == 0);
    }
    CHECK(policy() == 0);
    const InterleavedPages none({});
    CHECK_FALSE(none.is_on());
    CHECK(policy() == 0);
    const InterleavedPages absent(std::vector<uint32_t>{1000});
    CHECK_FALSE(absent.is_on());
    CHECK(policy() == 0);
}

TEST_CASE("InterleavedPages: what somebody else has chosen stays", "[base][quick]") {
    if (!can_place()) return testing::report_skip(kCannot);
    std::thread([] {
        REQUIRE(set_policy(2, 1) == 0);
        {
            const InterleavedPages placing(std::vector<uint32_t>{0});
            CHECK_FALSE(placing.is_on());
            CHECK(policy() == 2);
        }
        CHECK(policy() == 2);
    }).join();
}

TEST_CASE("place_memory: the system notes where pages shall come from", "[base][quick]") {
    if (!can_place()) return testing::report_skip(kCannot);
    constexpr size_t kBytes = 4 * kHugePageBytes;
    std::byte* memory = map_zeroed_pages(kBytes);
    REQUIRE(memory != nullptr);
    CHECK(policy_of(memory) == "default");
    CHECK_FALSE(place_memory({memory, kBytes}, {}));
    CHECK(policy_of(memory) == "default");
    CHECK(place_memory({memory, kBytes}, std::vector<uint32_t>{0}));
    CHECK(policy_of(memory).starts_with("prefer"));
    CHECK_FALSE(place_memory({memory, kBytes}, std::vector<uint32_t>{5000}));
    memory[kBytes - 1] = std::byte{1};
    CHECK(memory[0] == std::byte{0});
    unmap_zeroed_pages(memory, kBytes);
}
