// SPDX-License-Identifier: Apache-2.0
// ThreadTeam: a fixed set of threads that run one function together (SPMD), with a barrier that
// spins before it sleeps. The forward pass is one such function, so a step costs no dispatch.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/cpu/barrier.h"

namespace hokku::cpu {

/// One thread's view of a running team, or of a part of one that works together.
struct Lane {
    uint32_t index = 0;  ///< Of a team: 0 is the calling thread.
    uint32_t count = 1;
    Barrier* shared_barrier = nullptr;  ///< Of all `count` lanes; may be null for one.

    /// Waits until all lanes are here; what they wrote before is visible after.
    void barrier() const;
    /// This lane's share [begin, end) of `total` items, in multiples of `unit`.
    struct Range {
        uint32_t begin, end;
    };
    [[nodiscard]] Range share(uint32_t total, uint32_t unit = 1) const;
};

/// Threads: run() on the owning thread only. The other lanes sleep between runs.
class ThreadTeam {
  public:
    /// Starts num_threads - 1 threads; fewer when the system refuses them: see size().
    /// `lane_cpus`: the CPUs on which each lane may run, the calling thread during run() only;
    /// none: wherever the system lets them.
    explicit ThreadTeam(uint32_t num_threads, std::vector<std::vector<uint32_t>> lane_cpus = {});
    ~ThreadTeam();
    ThreadTeam(const ThreadTeam&) = delete;
    ThreadTeam& operator=(const ThreadTeam&) = delete;

    /// Calls task(context, lane) on every lane and returns when all have returned. No allocation.
    void run(void (*task)(void* context, Lane lane), void* context);
    [[nodiscard]] uint32_t size() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Threads to use by default (at least 1): fast cores that this process may run on, within the
/// cgroup quota.
uint32_t default_num_threads();

/// Threads that can run at the same time (at least 1): logical CPUs that this process may run on,
/// within the cgroup quota rounded up.
uint32_t max_num_threads();

}  // namespace hokku::cpu
