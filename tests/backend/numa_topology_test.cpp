// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/numa_topology.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "backend/cpu/thread_team.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

namespace fs = std::filesystem;
using namespace hokku::cpu;

namespace {

using Cpus = std::vector<uint32_t>;

/// A root folder with the files that Linux has of nodes.
class Machine {
  public:
    explicit Machine(const std::string& online) { write("online", online); }
    /// Of two nodes.
    Machine(const std::string& first, const std::string& second) : Machine("0-1") {
        node(0, first);
        node(1, second);
    }
    void node(int id, const std::string& cpus) const {
        write("node" + std::to_string(id) + "/cpulist", cpus);
    }
    void write(const std::string& file, const std::string& text) const {
        const fs::path path = folder_.path() / "sys/devices/system/node" / file;
        fs::create_directories(path.parent_path());
        std::ofstream(path) << text << "\n";
    }
    [[nodiscard]] const fs::path& root() const { return folder_.path(); }

  private:
    hokku::testing::ScratchFolder folder_;
};

const Cpus kEight{0, 1, 2, 3, 4, 5, 6, 7};

}  // namespace

TEST_CASE("numa_nodes: nothing to choose where there is one node, or none is told",
          "[backend][quick]") {
    const Machine one("0");
    one.node(0, "0-7");
    CHECK(numa_nodes(one.root(), kEight).empty());
    const hokku::testing::ScratchFolder nothing;
    CHECK(numa_nodes(nothing.path(), kEight).empty());
    CHECK(place_lanes({}, 8).cpus.empty());
    CHECK(place_lanes({}, 8).nodes_of(0, 8).empty());
}

TEST_CASE("numa_nodes: two nodes with the CPUs of each", "[backend][quick]") {
    const Machine two("0,2,4,6", "1,3,5,7");
    const auto nodes = numa_nodes(two.root(), kEight);
    REQUIRE(nodes.size() == 2);
    CHECK(nodes[0].cpus == Cpus{0, 2, 4, 6});
    CHECK(nodes[1].cpus == Cpus{1, 3, 5, 7});
    CHECK(nodes[0].num_cores == 4);
    CHECK(numa_node_ids(nodes) == Cpus{0, 1});
}

TEST_CASE("numa_nodes: memory without CPUs is no place for lanes or weights", "[backend][quick]") {
    const Machine cxl("0-2");
    cxl.node(0, "0-3");
    cxl.node(1, "4-7");
    cxl.node(2, "");
    CHECK(numa_node_ids(numa_nodes(cxl.root(), kEight)) == Cpus{0, 1});
    const Machine single("0,2");
    single.node(0, "0-7");
    single.node(2, "");
    CHECK(numa_nodes(single.root(), kEight).empty());
}

TEST_CASE("numa_nodes: only CPUs that the process may use", "[backend][quick]") {
    const Machine two("0-3", "4-7");
    CHECK(numa_nodes(two.root(), Cpus{0, 1, 2}).empty());  // all on one node
    const auto nodes = numa_nodes(two.root(), Cpus{2, 3, 4, 5, 6, 7});
    REQUIRE(nodes.size() == 2);
    CHECK(nodes[0].cpus == Cpus{2, 3});
    CHECK(place_lanes(nodes, 6).nodes == Cpus{0, 0, 1, 1, 1, 1});
}

TEST_CASE("numa_nodes: damaged files are as one node", "[backend][quick]") {
    const Machine names("0-");
    names.node(0, "0-3");
    names.node(1, "4-7");
    CHECK(numa_nodes(names.root(), kEight).empty());
    const Machine absent("0-1");
    absent.node(0, "0-7");
    CHECK(numa_nodes(absent.root(), kEight).empty());
    const Machine garbage("0-3", "4-x");
    CHECK(numa_nodes(garbage.root(), kEight).empty());
    const Machine twice("0-4", "3-7");
    CHECK(numa_nodes(twice.root(), kEight).empty());
    const Machine nowhere("0-3", "4-6");
    CHECK(numa_nodes(nowhere.root(), kEight).empty());
}

TEST_CASE("numa_nodes: hyperthreads and slow cores do not count for the lanes",
          "[backend][quick]") {
    const Machine hybrid("0-3", "4-7");
    // Node 0: two fast cores of two threads each. Node 1: a fast core, two slow ones, a fast one.
    hybrid.write("../../cpu_core/cpus", "0-4,7");
    for (int cpu = 0; cpu < 4; ++cpu)
        hybrid.write("../cpu/cpu" + std::to_string(cpu) + "/topology/core_cpus_list",
                     cpu < 2 ? "0-1" : "2-3");
    const auto nodes = numa_nodes(hybrid.root(), kEight);
    REQUIRE(nodes.size() == 2);
    CHECK(nodes[0].num_cores == 2);
    CHECK(nodes[1].num_cores == 2);
    CHECK(nodes[1].cpus == Cpus{4, 5, 6, 7});
}

TEST_CASE("place_lanes: neighbours share a node, in proportion to the cores", "[backend][quick]") {
    const std::vector<NumaNode> nodes{{.id = 0, .cpus = {0, 1, 2, 3, 4, 5}, .num_cores = 6},
                                      {.id = 3, .cpus = {6, 7}, .num_cores = 2}};
    const LanePlaces places = place_lanes(nodes, 4);
    CHECK(places.nodes == Cpus{0, 0, 0, 3});
    CHECK(places.cpus[2] == nodes[0].cpus);
    CHECK(places.cpus[3] == nodes[1].cpus);
    CHECK(places.nodes_of(0, 2) == Cpus{0});
    CHECK(places.nodes_of(2, 2) == Cpus{0, 3});
    CHECK(places.nodes_of(3, 5) == Cpus{3});
    CHECK(place_lanes(nodes, 16).nodes_of(12, 4) == Cpus{3});
    for (uint32_t num_lanes = 0; num_lanes < 40; ++num_lanes)
        CHECK(place_lanes(nodes, num_lanes).nodes.size() == num_lanes);
}
