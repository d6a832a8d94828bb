// SPDX-License-Identifier: Apache-2.0
#include "base/read_fault_guard.h"

#include <utility>
#include <vector>

#include "support/catch.h"

using hokku::ReadFaultGuard;

TEST_CASE("ReadFaultGuard: places are given back, and running out is reported", "[base][quick]") {
    const std::vector<std::byte> memory(4096);
    for (int round = 0; round < 3; ++round) {
        std::vector<ReadFaultGuard> guards;
        while (auto guard = ReadFaultGuard::watch(memory)) guards.push_back(std::move(*guard));
        CHECK(guards.size() >= 1024);  // a split set may have that many shards
        CHECK(guards.size() < 100'000);
    }
    CHECK(ReadFaultGuard::watch(memory).has_value());
}
