// SPDX-License-Identifier: Apache-2.0
// BlockAllocator: hands out the fixed number of KV blocks of a pool and counts the references to
// each. It knows nothing of what lies in a block.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hokku/result.h"

namespace hokku {

/// Threads: one thread at a time. Only reserve() and grow() allocate later on.
class BlockAllocator {
  public:
    explicit BlockAllocator(uint32_t num_blocks);

    /// Takes the memory that grow() needs, which cannot fail then.
    void reserve(uint32_t num_blocks);
    /// More blocks, all free. Allocates; where that fails nothing has changed.
    void grow(uint32_t num_blocks);
    /// A free block with one reference; nullopt when all are in use.
    [[nodiscard]] std::optional<uint32_t> allocate();
    /// One more reference. Needs a block in use.
    void retain(uint32_t block);
    /// One reference less; with the last one the block is free again.
    void release(uint32_t block);

    [[nodiscard]] uint32_t ref_count(uint32_t block) const { return ref_counts_[block]; }
    [[nodiscard]] uint32_t num_blocks() const { return static_cast<uint32_t>(ref_counts_.size()); }
    [[nodiscard]] uint32_t num_free() const { return static_cast<uint32_t>(free_.size()); }

    /// The free list holds exactly the blocks without references, each once.
    [[nodiscard]] Result<void> check_invariants() const;

  private:
    std::vector<uint32_t> ref_counts_;
    std::vector<uint32_t> free_;  ///< A stack; the lowest block is handed out first at the start.
};

}  // namespace hokku
