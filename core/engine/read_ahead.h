// SPDX-License-Identifier: Apache-2.0
// ReadAhead: brings the pages of a mapped model into memory on a thread of its own, while the one
// that loads makes the tokenizer and the rest, and while the first step runs behind it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "engine/loaded_model.h"
#include "hokku/result.h"

namespace hokku {

/// Afterwards, when somebody has needed all of it, pages that lay in memory in small ones are moved
/// to huge ones, where the system does that, slowly, as it is at the cost of who computes.
///
/// Threads: wait_for() from any; the rest on the one that made it. The end stops it.
/// Cost   : reads each page once; nothing is kept.
class ReadAhead {
  public:
    /// The parts, which must outlive it, are read in their order, into memory of these NUMA nodes
    /// in turn; of any without them.
    explicit ReadAhead(std::vector<std::span<const std::byte>> parts,
                       std::vector<uint32_t> nodes = {});
    ~ReadAhead();
    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;

    /// Waits until the first `bytes` of all parts are there; allocates nothing.
    void wait_for(uint64_t bytes) {
        if (num_read_.load(std::memory_order_acquire) < bytes) wait_longer(bytes);
        if (bytes >= total_bytes_ && !is_used_.load(std::memory_order_relaxed)) note_use();
    }

    /// Waits until no more than `left` bytes are still to come, and reports how far that is as a
    /// share of [from, to].
    /// Errors : cancelled.
    Result<void> finish(const LoadControl& control, double from, double to, uint64_t left = 0);

  private:
    void wait_longer(uint64_t bytes);
    void read_piece();
    void note_use();
    void collapse();
    bool is_stopped_within(std::chrono::nanoseconds pause);
    template <class Visit>
    void for_each_span(uint64_t begin, uint64_t end, Visit visit) const;

    std::vector<std::span<const std::byte>> parts_;
    uint64_t total_bytes_ = 0;
    std::atomic<uint64_t> num_read_{0};  ///< Bytes of all parts.
    std::atomic<bool> is_stopped_{false};
    std::atomic<bool> is_used_{false};  ///< Somebody has waited for all.
    std::mutex mutex_;                  ///< For who waits; where there is no thread, for who reads.
    std::condition_variable has_more_;
    std::condition_variable wake_;  ///< Of the thread, when all is read.
    unsigned sum_ = 0;              ///< Keeps the reads from being optimised away.
    std::thread thread_;            ///< Last: it uses all of the above.
};

}  // namespace hokku
