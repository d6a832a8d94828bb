// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/thread_team.h"

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "support/catch.h"

using hokku::cpu::Lane;
using hokku::cpu::ThreadTeam;

TEST_CASE("ThreadTeam: what lanes write before a barrier is visible to all after it",
          "[backend][quick][threads][lanes]") {
    for (const uint32_t num_threads : {1u, 2u, 3u, 5u}) {
        ThreadTeam team(num_threads);
        REQUIRE(team.size() == num_threads);
        struct Shared {
            std::vector<uint64_t> values;
            std::vector<uint64_t> sums;
        } shared{std::vector<uint64_t>(num_threads), std::vector<uint64_t>(num_threads)};
        constexpr uint32_t kRounds = 200;
        for (int run = 0; run < 10; ++run) {
            team.run(
                [](void* context, Lane lane) {
                    auto& s = *static_cast<Shared*>(context);
                    for (uint32_t round = 0; round < kRounds; ++round) {
                        s.values[lane.index] = round + lane.index;
                        lane.barrier();
                        for (const uint64_t value : s.values) s.sums[lane.index] += value;
                        lane.barrier();
                    }
                },
                &shared);
        }
        // Each round adds sum(round + index) over the lanes.
        const uint64_t n = num_threads;
        const uint64_t expected =
            10 * (n * (kRounds * (kRounds - 1) / 2) + kRounds * (n * (n - 1) / 2));
        for (const uint64_t sum : shared.sums) CHECK(sum == expected);
    }
}

TEST_CASE("ThreadTeam: lanes that slept run the next task", "[backend][quick][threads]") {
    ThreadTeam team(3);
    std::vector<int> counts(3);
    for (int i = 0; i < 4; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        team.run([](void* c, Lane lane) { ++(*static_cast<std::vector<int>*>(c))[lane.index]; },
                 &counts);
    }
    CHECK(counts == std::vector<int>{4, 4, 4});
}

TEST_CASE("Lane: shares cover all items once, in whole units", "[backend][quick]") {
    for (const uint32_t count : {1u, 2u, 3u, 7u, 16u}) {
        for (const uint32_t unit : {1u, 4u, 16u}) {
            for (const uint32_t total : {0u, 1u, 5u, 16u, 31u, 151936u}) {
                uint32_t next = 0;
                for (uint32_t index = 0; index < count; ++index) {
                    const Lane::Range range = Lane{index, count, nullptr}.share(total, unit);
                    CHECK(range.begin == next);
                    CHECK((range.begin % unit == 0 || range.begin == total));
                    next = range.end;
                }
                CHECK(next == total);
            }
        }
    }
}
