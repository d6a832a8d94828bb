// SPDX-License-Identifier: Apache-2.0
#include "hokku/devices.h"

#include <algorithm>

#include "support/catch.h"

TEST_CASE("devices: the CPU is always there, with kernels that run on it", "[engine][quick]") {
    const auto devices = hokku::list_devices();
    REQUIRE_FALSE(devices.empty());
    const hokku::DeviceInfo& cpu = devices.front();
    CHECK(cpu.id == "cpu");
    CHECK_FALSE(cpu.name.empty());
    CHECK(std::count(cpu.kernels.begin(), cpu.kernels.end(), "reference") == 1);
    CHECK(cpu.num_physical_cores >= 1);
    CHECK(cpu.num_logical_cpus >= cpu.num_physical_cores);
    CHECK(cpu.default_threads >= 1);
    CHECK(cpu.available_memory_bytes > 0);
    CHECK(cpu.total_memory_bytes >= cpu.available_memory_bytes);
}
