// SPDX-License-Identifier: Apache-2.0
// ReadAhead: brings the pages of a mapped model into memory on a thread of its own, while the one
// that loads makes the tokenizer and the rest, so that the first token does not wait for the disk.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "engine/loaded_model.h"
#include "hokku/result.h"

namespace hokku {

/// Threads: made, finished and ended on one thread. The end stops the reading.
/// Cost   : reads each page once; nothing is kept.
class ReadAhead {
  public:
    /// The parts, which must outlive it, are read in their order.
    explicit ReadAhead(std::vector<std::span<const std::byte>> parts);
    ~ReadAhead();
    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;

    /// Reads along until nothing is left but the piece that the other thread is at, for which it
    /// does not wait, and reports the share that is read as that of [from, to].
    /// Errors : cancelled.
    Result<void> finish(const LoadControl& control, double from, double to);

  private:
    bool read_piece();
    template <class Visit>
    void for_each_span(uint64_t begin, uint64_t end, Visit visit) const;

    std::vector<std::span<const std::byte>> parts_;
    uint64_t total_bytes_ = 0;
    std::atomic<uint64_t> num_taken_{0};  ///< Bytes of all parts, by either thread.
    std::atomic<bool> is_stopped_{false};
    std::atomic<unsigned> sum_{0};  ///< Keeps the reads from being optimised away.
    std::thread thread_;            ///< Last: it uses all of the above.
};

}  // namespace hokku
