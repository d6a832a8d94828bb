// SPDX-License-Identifier: Apache-2.0
// The collective calls of ranks that are threads, against what one thread computes from all values.
#include "backend/cpu/thread_communicator.h"

#include <atomic>
#include <random>
#include <vector>

#include "backend/cpu/thread_team.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::cpu;

namespace {

/// Runs task(rank, lane, end) on every thread of num_ranks times num_lanes.
template <class Task>
void run_ranks(uint32_t num_ranks, uint32_t num_lanes, Task&& task) {
    ThreadTeam team(num_ranks * num_lanes);
    REQUIRE(team.size() == num_ranks * num_lanes);
    ThreadGroup group(num_ranks, num_lanes);
    auto run = [&](Lane lane) {
        const uint32_t rank = lane.index / num_lanes, own_lane = lane.index % num_lanes;
        task(rank, own_lane, group.end(rank, own_lane));
    };
    team.run([](void* context, Lane lane) { (*static_cast<decltype(run)*>(context))(lane); }, &run);
}

std::vector<float> random_values(size_t n, uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(n);
    for (float& value : values) value = normal(random);
    return values;
}

}  // namespace

TEST_CASE("ThreadCommunicator: all_reduce adds in the order of the ranks, on every rank",
          "[backend][quick][threads]") {
    for (const uint32_t num_ranks : {1u, 2u, 3u, 4u}) {
        for (const uint32_t num_lanes : {1u, 3u}) {
            for (const size_t n : {size_t{0}, size_t{1}, size_t{17}, size_t{1000}}) {
                CAPTURE(num_ranks, num_lanes, n);
                std::vector<std::vector<float>> values(num_ranks);
                for (uint32_t rank = 0; rank < num_ranks; ++rank)
                    values[rank] = random_values(n, 7 * rank + 1);
                std::vector<float> expected = values[0];
                for (uint32_t rank = 1; rank < num_ranks; ++rank)
                    for (size_t i = 0; i < n; ++i) expected[i] += values[rank][i];
                // A second call with the same memory: the sums, num_ranks times.
                std::vector<float> again = expected;
                for (uint32_t rank = 1; rank < num_ranks; ++rank)
                    for (size_t i = 0; i < n; ++i) again[i] += expected[i];

                std::vector<std::vector<float>> first(num_ranks);
                run_ranks(num_ranks, num_lanes,
                          [&](uint32_t rank, uint32_t lane, Communicator& end) {
                              end.all_reduce(values[rank]);
                              if (lane == 0) first[rank] = values[rank];
                              end.all_reduce({});  // nobody goes on before it is copied
                              end.all_reduce(values[rank]);
                          });
                for (uint32_t rank = 0; rank < num_ranks; ++rank) {
                    CHECK(first[rank] == expected);
                    CHECK(values[rank] == again);
                }
            }
        }
    }
}

TEST_CASE("ThreadCommunicator: lanes see what the others of their rank wrote before a call",
          "[backend][quick][threads]") {
    constexpr uint32_t kRanks = 2, kLanes = 2, kRounds = 200;
    std::vector<std::vector<float>> values(kRanks, std::vector<float>(kLanes));
    std::vector<uint32_t> num_wrong(kRanks * kLanes);
    run_ranks(kRanks, kLanes, [&](uint32_t rank, uint32_t lane, Communicator& end) {
        for (uint32_t round = 0; round < kRounds; ++round) {
            values[rank][lane] = static_cast<float>(round + rank);
            end.all_reduce(values[rank]);
            for (const float sum : values[rank])
                if (sum != static_cast<float>(2 * round + 1)) ++num_wrong[rank * kLanes + lane];
            end.all_reduce({});
        }
    });
    CHECK(num_wrong == std::vector<uint32_t>(kRanks * kLanes));
}

TEST_CASE("ThreadCommunicator: all_gather puts uneven parts of rows side by side",
          "[backend][quick][threads]") {
    constexpr uint32_t kRows = 3;
    for (const uint32_t num_lanes : {1u, 2u}) {
        const std::vector<uint32_t> cols = {40, 0, 17};
        const uint32_t whole_cols = 57;
        std::vector<std::vector<float>> parts, wholes(3);
        std::atomic<uint32_t> num_wrong = 0;
        for (uint32_t rank = 0; rank < 3; ++rank) {
            parts.push_back(random_values(size_t{kRows} * cols[rank], rank + 1));
            if (rank != 1) wholes[rank].resize(size_t{kRows} * whole_cols);
        }
        run_ranks(3, num_lanes, [&](uint32_t rank, uint32_t, Communicator& end) {
            if (end.rank() != rank || end.num_ranks() != 3) ++num_wrong;
            end.all_gather({.part = parts[rank].data(),
                            .rows = kRows,
                            .cols = cols[rank],
                            .first_col = rank == 0 ? 0u : 40u,
                            .whole = wholes[rank].empty() ? nullptr : wholes[rank].data(),
                            .whole_cols = whole_cols});
        });
        for (size_t row = 0; row < kRows; ++row) {
            for (size_t i = 0; i < 40; ++i)
                CHECK(wholes[0][row * whole_cols + i] == parts[0][row * 40 + i]);
            for (size_t i = 0; i < 17; ++i)
                CHECK(wholes[0][row * whole_cols + 40 + i] == parts[2][row * 17 + i]);
        }
        CHECK(num_wrong == 0);
        CHECK(wholes[2] == wholes[0]);
        CHECK(wholes[1].empty());
    }
}
