// SPDX-License-Identifier: Apache-2.0
// Communicator: what the ranks of a tensor-parallel model tell each other. An interface only:
// threads of one process are behind it on CPUs, a collective library between GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hokku {

/// Columns [first_col, first_col + cols) of a matrix are this rank's part of it.
struct GatherCall {
    const float* part = nullptr;  ///< [rows][cols], contiguous.
    uint32_t rows = 0, cols = 0, first_col = 0;
    /// [rows][whole_cols], or null: this rank does not need it. Its first thread's counts.
    float* whole = nullptr;
    uint32_t whole_cols = 0;
};

/// One end of a group of ranks. All ranks make the same calls in the same order, of equal sizes but
/// for the columns of their parts. Each call is complete when it returns: for this rank and, as far
/// as its own memory goes, for what others wrote there. Between devices the values lie in their
/// memory, and calls are complete in their turn in the device's stream.
///
/// Threads: an end belongs to one thread. Where a rank has several threads, each has an end and
///          passes the same arguments; what they wrote before a call is visible in it.
class Communicator {
  public:
    virtual ~Communicator() = default;
    [[nodiscard]] virtual uint32_t rank() const = 0;
    [[nodiscard]] virtual uint32_t num_ranks() const = 0;

    /// Each value becomes the sum of all ranks' values, added in the order of the ranks: the same
    /// bits on every rank and in every run.
    virtual void all_reduce(std::span<float> values) = 0;
    /// Puts the parts of all ranks next to each other, where a rank wants the whole.
    virtual void all_gather(const GatherCall& call) = 0;
};

}  // namespace hokku
