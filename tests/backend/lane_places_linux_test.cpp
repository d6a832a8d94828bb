// SPDX-License-Identifier: Apache-2.0
// That lanes run and memory comes from where they are told, as Linux shows it.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "backend/cpu/cpu_topology.h"
#include "backend/cpu/kv_pool.h"
#include "backend/cpu/thread_team.h"
#include "base/numa.h"
#include "base/zeroed_pages.h"
#include "support/catch.h"
#include "support/golden.h"

using namespace hokku;
using namespace hokku::cpu;

namespace {

using Cpus = std::vector<uint32_t>;

/// Where each lane may run during a step.
std::vector<Cpus> allowed_in(ThreadTeam& team) {
    std::vector<Cpus> allowed(team.size());
    team.run([](void* c,
                Lane lane) { (*static_cast<std::vector<Cpus>*>(c))[lane.index] = allowed_cpus(); },
             &allowed);
    return allowed;
}

/// Whether /proc/self/numa_maps says that the mapping with this address prefers a node.
bool is_placed(const void* mapping) {
    std::ostringstream address;
    address << std::hex << reinterpret_cast<uintptr_t>(mapping);
    std::ifstream maps("/proc/self/numa_maps");
    for (std::string line; std::getline(maps, line);)
        if (line.starts_with(address.str() + " prefer")) return true;
    return false;
}

bool can_place() {
    constexpr size_t kBytes = kHugePageBytes;
    std::byte* memory = map_zeroed_pages(kBytes);
    const bool is_done = memory != nullptr && place_memory({memory, kBytes}, Cpus{0});
    if (memory != nullptr) unmap_zeroed_pages(memory, kBytes);
    return is_done;
}

}  // namespace

TEST_CASE("ThreadTeam: each lane runs where it is told, the caller only for the time of a run",
          "[backend][quick][threads]") {
    const Cpus all = allowed_cpus();
    const Cpus first{all.front()}, last{all.back()};
    ThreadTeam team(3, {first, last, first});
    REQUIRE(team.size() == 3);
    for (int run = 0; run < 2; ++run) {
        CHECK(allowed_in(team) == std::vector<Cpus>{first, last, first});
        CHECK(allowed_cpus() == all);
    }
    ThreadTeam free(2);
    CHECK(allowed_in(free) == std::vector<Cpus>{all, all});
}

TEST_CASE("KvPool: large ones are placed, small ones lie in memory of others too",
          "[backend][quick]") {
    if (!can_place()) return hokku::testing::report_skip("hardware: no NUMA nodes can be chosen");
    ModelSpec spec;
    spec.layers.resize(1);
    spec.layers[0].mixer =
        AttentionSpec{.num_heads = 1, .num_kv_heads = 1, .key_dim = 64, .value_dim = 64};
    const uint32_t block = 0;
    for (const uint32_t num_blocks : {1u, 200u}) {
        KvPool pool = KvPool::create(spec, KvType::f32, num_blocks).value();
        const std::byte* memory = pool.pages(0, &block).keys;
        pool.place({});
        CHECK_FALSE(is_placed(memory));
        pool.place(Cpus{0});
        CHECK(is_placed(memory) == (pool.bytes() >= kHugePageBytes));
    }
}
