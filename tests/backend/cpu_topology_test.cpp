// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu_topology.h"

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

/// A staged root folder, removed at the end.
class StagedRoot {
  public:
    void write(const std::string& file, const std::string& text) const {
        fs::create_directories((path() / file).parent_path());
        std::ofstream(path() / file) << text << "\n";
    }
    [[nodiscard]] const fs::path& path() const { return folder_.path(); }

  private:
    hokku::testing::ScratchFolder folder_;
};

}  // namespace

TEST_CASE("parse_cpu_list: ranges, single CPUs, malformed lists", "[backend][quick]") {
    CHECK(parse_cpu_list("0-3,8,10-11") == std::vector<uint32_t>{0, 1, 2, 3, 8, 10, 11});
    CHECK(parse_cpu_list("5") == std::vector<uint32_t>{5});
    CHECK(parse_cpu_list("").empty());
    CHECK(parse_cpu_list("3-1").empty());
    CHECK(parse_cpu_list("0-4294967295").empty());
    CHECK(parse_cpu_list("a").empty());
}

TEST_CASE("count_physical_cores: hyperthreads count once", "[backend][quick]") {
    const StagedRoot root;
    for (int cpu = 0; cpu < 8; ++cpu) {
        root.write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/core_cpus_list",
                   std::to_string(cpu % 4) + "," + std::to_string(cpu % 4 + 4));
    }
    const std::vector<uint32_t> all{0, 1, 2, 3, 4, 5, 6, 7}, some{0, 4, 5}, unknown{0, 40};
    CHECK(count_physical_cores(root.path(), all) == 4);
    CHECK(count_physical_cores(root.path(), some) == 2);
    CHECK(count_physical_cores(root.path(), unknown) == 2);
}

TEST_CASE("fast_cpus: of hybrid machines those that a slow core would not hold up",
          "[backend][quick]") {
    const std::vector<uint32_t> all{0, 1, 2, 3, 4, 5, 6, 7}, slow{4, 5}, none;
    const StagedRoot plain;
    CHECK(fast_cpus(plain.path(), all) == all);
    CHECK(fast_cpus(plain.path(), none).empty());

    // As Linux 5.16 and later tell it: two P cores of two threads each, four E cores.
    const StagedRoot intel;
    intel.write("sys/devices/cpu_core/cpus", "0-3");
    intel.write("sys/devices/cpu_atom/cpus", "4-7");
    CHECK(fast_cpus(intel.path(), all) == std::vector<uint32_t>{0, 1, 2, 3});
    // Bound to E cores, a program has these.
    CHECK(fast_cpus(intel.path(), slow) == slow);

    // Four little cores, three middle ones, a big one.
    const StagedRoot arm;
    const int capacities[] = {250, 250, 250, 250, 760, 760, 760, 1024};
    for (int cpu = 0; cpu < 8; ++cpu)
        arm.write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpu_capacity",
                  std::to_string(capacities[cpu]));
    CHECK(fast_cpus(arm.path(), all) == std::vector<uint32_t>{4, 5, 6, 7});
}

TEST_CASE("cgroup_cpu_limit: the tightest quota of group and parents, v2 and v1",
          "[backend][quick]") {
    const StagedRoot none;
    CHECK_FALSE(cgroup_cpu_limit(none.path()));

    const StagedRoot v2;
    v2.write("proc/self/cgroup", "0::/user/app");
    v2.write("sys/fs/cgroup/user/app/cpu.max", "max 100000");
    CHECK_FALSE(cgroup_cpu_limit(v2.path()));
    v2.write("sys/fs/cgroup/user/cpu.max", "250000 100000");
    CHECK(cgroup_cpu_limit(v2.path()) == 2.5);
    v2.write("sys/fs/cgroup/user/app/cpu.max", "150000 100000");
    CHECK(cgroup_cpu_limit(v2.path()) == 1.5);

    const StagedRoot v1;
    v1.write("proc/self/cgroup", "4:cpu,cpuacct:/docker/abc");
    v1.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "400000");
    v1.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
    CHECK(cgroup_cpu_limit(v1.path()) == 4.0);
}

TEST_CASE("default_num_threads: within what this process may use", "[backend][quick]") {
    CHECK(default_num_threads() >= 1);
    CHECK(default_num_threads() <= allowed_cpus().size());
}
