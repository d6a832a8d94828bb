// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/work_shares.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "support/catch.h"

namespace hokku::cpu {
namespace {

using Part = WorkShares::Part;

TEST_CASE("WorkShares: a lane takes its own units in order, fewer at a time", "[quick]") {
    WorkShares shares(2);
    shares.open(0, 7, 100);
    uint32_t next = 0, last = 100;
    Part part;
    while (shares.take(0, 7, 2, part)) {
        CHECK(part.owner == 0);
        CHECK(part.begin == next);
        CHECK(part.end > part.begin);
        CHECK(part.end - part.begin <= last);
        last = part.end - part.begin;
        next = part.end;
    }
    CHECK(next == 100);
    CHECK_FALSE(shares.take(0, 7, 2, part));
}

TEST_CASE("WorkShares: who is done takes from the end of another's", "[quick]") {
    WorkShares shares(3);
    Part part;
    for (uint32_t lane = 0; lane < 3; ++lane) shares.open(lane, 1, lane == 1 ? 40 : 0);
    REQUIRE(shares.take(0, 1, 4, part));
    CHECK(part.owner == 1);
    CHECK(part.begin == 20);
    CHECK(part.end == 40);
    REQUIRE(shares.take(1, 1, 4, part));
    CHECK(part.owner == 1);
    CHECK(part.begin == 0);
    REQUIRE(shares.take(2, 1, 4, part));
    CHECK(part.end == 20);
}

TEST_CASE("WorkShares: a job that its owner has not begun is left alone", "[quick]") {
    WorkShares shares(2);
    Part part;
    shares.open(0, 5, 8);
    shares.open(1, 4, 8);  // Still at the job before.
    while (shares.take(0, 5, 2, part)) CHECK(part.owner == 0);
    REQUIRE(shares.take(1, 4, 2, part));
    CHECK(part.owner == 1);
}

TEST_CASE("WorkShares: odd ends and grains leave parts that begin at even units", "[quick]") {
    for (uint32_t units : {0u, 1u, 2u, 3u, 5u, 17u, 1001u, WorkShares::kMaxUnits}) {
        for (uint32_t grain : {0u, 1u, 3u, 64u}) {
            WorkShares shares(2);
            shares.open(0, 0, units);
            shares.open(1, 0, 0);
            uint32_t front = 0, back = units;
            Part part;
            for (uint32_t turn = 0;; ++turn) {
                const uint32_t lane = turn % 2;
                if (!shares.take(lane, 0, grain, part)) break;
                REQUIRE(part.owner == 0);
                REQUIRE(part.begin % 2 == 0);
                REQUIRE(part.begin < part.end);
                if (lane == 0) {
                    REQUIRE(part.begin == front);
                    front = part.end;
                } else {
                    REQUIRE(part.end == back);
                    back = part.begin;
                }
            }
            CHECK(front == back);
        }
    }
}

TEST_CASE("WorkShares: racing lanes do each unit of each job once", "[quick][threads]") {
    constexpr uint32_t kLanes = 4, kJobs = 2000;
    WorkShares shares(kLanes);
    const auto units_of = [](uint32_t job, uint32_t lane) { return (job * 37 + lane * 91) % 150; };
    std::vector<std::vector<std::atomic<uint8_t>>> done(kJobs);
    for (uint32_t job = 0; job < kJobs; ++job)
        done[job] = std::vector<std::atomic<uint8_t>>(size_t{kLanes} * 150);
    std::vector<std::thread> threads;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
        threads.emplace_back([&, lane] {
            for (uint32_t job = 0; job < kJobs; ++job) {
                shares.open(lane, job, units_of(job, lane));
                Part part;
                while (shares.take(lane, job, 4, part))
                    for (uint32_t unit = part.begin; unit < part.end; ++unit)
                        done[job][part.owner * size_t{150} + unit].fetch_add(1);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    uint32_t wrong = 0;
    for (uint32_t job = 0; job < kJobs; ++job)
        for (uint32_t lane = 0; lane < kLanes; ++lane)
            for (uint32_t unit = 0; unit < 150; ++unit)
                wrong += done[job][lane * size_t{150} + unit] != (unit < units_of(job, lane));
    CHECK(wrong == 0);
}

}  // namespace
}  // namespace hokku::cpu
