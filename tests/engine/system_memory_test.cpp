// SPDX-License-Identifier: Apache-2.0
#include "engine/system_memory.h"

#include <fstream>
#include <string>

#include "support/catch.h"
#include "support/scratch_folder.h"

using hokku::SystemMemory;

namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

void write_file(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

}  // namespace

TEST_CASE("system memory: without groups it is the system's", "[engine][quick]") {
    const hokku::testing::ScratchFolder root;
    write_file(root.path() / "proc/meminfo",
               "MemTotal:       16777216 kB\nMemFree:         1048576 kB\n"
               "MemAvailable:    8388608 kB\n");
    const SystemMemory memory = hokku::read_linux_memory(root.path());
    CHECK(memory.total_bytes == 16 * kGiB);
    CHECK(memory.available_bytes == 8 * kGiB);
}

TEST_CASE("system memory: the tightest group limits it, dropped files aside", "[engine][quick]") {
    const hokku::testing::ScratchFolder root;
    write_file(root.path() / "proc/meminfo",
               "MemTotal:       16777216 kB\nMemAvailable:    8388608 kB\n");
    SECTION("version 2") {
        write_file(root.path() / "proc/self/cgroup", "0::/user/app\n");
        const auto group = root.path() / "sys/fs/cgroup/user";
        write_file(group / "memory.max", std::to_string(4 * kGiB) + "\n");
        write_file(group / "memory.current", std::to_string(3 * kGiB) + "\n");
        write_file(group / "memory.stat", "anon 1\ninactive_file " + std::to_string(kGiB) +
                                              "\nactive_file " + std::to_string(kGiB / 2) + "\n");
        write_file(group / "app/memory.max", "max\n");
    }
    SECTION("version 1") {
        write_file(root.path() / "proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/x\n");
        const auto group = root.path() / "sys/fs/cgroup/memory/x";
        write_file(group / "memory.limit_in_bytes", std::to_string(4 * kGiB));
        write_file(group / "memory.usage_in_bytes", std::to_string(3 * kGiB));
        write_file(group / "memory.stat", "total_inactive_file " + std::to_string(3 * kGiB / 2));
    }
    const SystemMemory memory = hokku::read_linux_memory(root.path());
    CHECK(memory.total_bytes == 4 * kGiB);
    CHECK(memory.available_bytes == 4 * kGiB - 3 * kGiB / 2);
}

TEST_CASE("system memory: nothing known is no error", "[engine][quick]") {
    const hokku::testing::ScratchFolder root;
    CHECK(hokku::read_linux_memory(root.path()).total_bytes == 0);
    CHECK(hokku::peak_process_memory() > 1'000'000);
}

TEST_CASE("system memory: of this machine it is some, and not more than there is",
          "[engine][quick]") {
    const SystemMemory memory = hokku::read_system_memory();
    CHECK(memory.total_bytes > 100'000'000);
    CHECK(memory.available_bytes > 0);
    CHECK(memory.available_bytes <= memory.total_bytes);
}
