// SPDX-License-Identifier: Apache-2.0
// ThreadCommunicator: the Communicator of ranks that are threads of this process and read each
// other's memory. The lanes of all ranks share the work of each call.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/communicator.h"

namespace hokku::cpu {

/// Threads: ends from any thread; each end from its own.
class ThreadGroup {
  public:
    /// num_ranks ranks of num_lanes threads each.
    ThreadGroup(uint32_t num_ranks, uint32_t num_lanes);
    ~ThreadGroup();
    ThreadGroup(const ThreadGroup&) = delete;
    ThreadGroup& operator=(const ThreadGroup&) = delete;

    [[nodiscard]] Communicator& end(uint32_t rank, uint32_t lane) {
        return *ends_[rank * num_lanes_ + lane];
    }

  private:
    struct Shared;
    class ThreadCommunicator;
    std::unique_ptr<Shared> shared_;
    std::vector<std::unique_ptr<Communicator>> ends_;
    uint32_t num_lanes_;
};

}  // namespace hokku::cpu
