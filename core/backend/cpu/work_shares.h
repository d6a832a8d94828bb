// SPDX-License-Identifier: Apache-2.0
// WorkShares: how lanes divide one job when none of them may wait for the slowest.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace hokku::cpu {

/// Each lane has a share of the job, numbered units, and takes them in order, ever fewer at a time;
/// a lane that has done its own takes from the end of what another has left. Who does a unit
/// depends on the clock: its result may not.
/// Threads: any, as described below; no locks, no allocation after the constructor.
class WorkShares {
  public:
    static constexpr uint32_t kMaxUnits = (1u << 22) - 1;

    explicit WorkShares(uint32_t num_lanes);

    /// Units [begin, end) of `owner`'s share.
    struct Part {
        uint32_t owner = 0, begin = 0, end = 0;
    };

    /// Lane `lane` begins job number `turn` with `num_units` (at most kMaxUnits) of its own. All
    /// lanes begin the same jobs in the same order, each when it is done with the one before: when
    /// take() has returned false to it. A lane may be up to 2^20 jobs ahead of another.
    void open(uint32_t lane, uint32_t turn, uint32_t num_units);

    /// Gives lane `lane` the next units of job `turn`, `grain` or more at a time unless fewer are
    /// left; parts begin at multiples of 2. False: there are none left, but others may still be at
    /// work on theirs, or may not have begun.
    bool take(uint32_t lane, uint32_t turn, uint32_t grain, Part& part);

  private:
    /// The job's number, modulo 2^20, and the units that are left.
    struct alignas(64) Word {
        std::atomic<uint64_t> value{0};
    };

    uint32_t num_lanes_;
    std::unique_ptr<Word[]> words_;
};

}  // namespace hokku::cpu
