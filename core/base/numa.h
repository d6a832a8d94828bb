// SPDX-License-Identifier: Apache-2.0
// On which NUMA nodes threads run and memory lies, for machines with several. All of it is advice:
// where the system refuses (a container may), things are as they would be without. Only on Linux.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hokku {

/// Keeps the calling thread on these CPUs while it lives, then where it was allowed before.
class ThreadBinding {
  public:
    explicit ThreadBinding(std::span<const uint32_t> cpus);
    ~ThreadBinding();
    ThreadBinding(const ThreadBinding&) = delete;
    ThreadBinding& operator=(const ThreadBinding&) = delete;

    [[nodiscard]] bool is_bound() const { return is_bound_; }

  private:
    static constexpr size_t kMaxCpus = 4096;
    uint64_t before_[kMaxCpus / 64] = {};
    bool is_bound_ = false;
};

/// Pages of this memory that come from now on are taken in turn from these nodes; from one node
/// while it has any. Nothing without nodes. False: the system refuses.
bool place_memory(std::span<std::byte> memory, std::span<const uint32_t> nodes);

/// While it lives, pages that the calling thread brings into memory, those of files too, are
/// taken in turn from these nodes, unless somebody has chosen otherwise for the process (numactl).
/// Nothing without nodes.
class InterleavedPages {
  public:
    explicit InterleavedPages(std::span<const uint32_t> nodes);
    ~InterleavedPages();
    InterleavedPages(const InterleavedPages&) = delete;
    InterleavedPages& operator=(const InterleavedPages&) = delete;

    [[nodiscard]] bool is_on() const { return is_on_; }

  private:
    bool is_on_ = false;
};

}  // namespace hokku
