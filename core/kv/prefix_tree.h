// SPDX-License-Identifier: Apache-2.0
// PrefixTree: which tokens lie in which KV block, as a tree: a node is a block, its parent holds
// the tokens before it. The tree keeps one reference to each of its blocks, so that they outlive
// the sequence that filled them until they are evicted. It compares tokens, not hashes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hokku/result.h"
#include "kv/block_allocator.h"

namespace hokku {

/// Invariants, besides those of the links: only a full block has children; a block in use by a
/// sequence has its parent in use by it too; a block that is not full is in use by one at most.
///
/// Threads: one thread at a time. Only reserve() and grow() allocate later on.
class PrefixTree {
  public:
    static constexpr uint32_t kRoot = UINT32_MAX;  ///< Parent of a sequence's first block.
    static constexpr uint32_t kNone = UINT32_MAX - 1;

    /// `allocator` must outlive the tree.
    PrefixTree(BlockAllocator& allocator, uint32_t block_tokens);

    /// Takes the memory that grow() needs for so many blocks.
    void reserve(uint32_t num_blocks);
    /// Follows the allocator. Allocates.
    void grow();

    struct Match {
        uint32_t block = kNone;
        uint32_t num_tokens = 0;
    };
    /// The child of `parent` that shares the longest prefix with `tokens`.
    [[nodiscard]] Match find_child(uint32_t parent, std::span<const int32_t> tokens) const;

    /// Adds a block without tokens below `parent`, which must be full.
    void insert(uint32_t block, uint32_t parent);
    /// Adds tokens to a block that has room for them.
    void extend(uint32_t block, std::span<const int32_t> tokens);
    /// Another full block with the same parent and tokens as this full one; kNone if there is none.
    [[nodiscard]] uint32_t find_twin(uint32_t block) const;
    /// Takes a block without children out of the tree.
    void remove(uint32_t block);
    /// Makes the block the one used last.
    void touch(uint32_t block);

    /// Frees the block that nobody uses and that was used longest ago, and that has no children.
    bool evict_one();
    /// Blocks that evict_one() could free one after another.
    [[nodiscard]] uint32_t num_evictable() const;

    [[nodiscard]] bool contains(uint32_t block) const { return nodes_[block].parent != kNone; }
    [[nodiscard]] bool has_children(uint32_t block) const {
        return nodes_[block].first_child != kNone;
    }
    [[nodiscard]] uint32_t parent(uint32_t block) const { return nodes_[block].parent; }
    [[nodiscard]] std::span<const int32_t> tokens(uint32_t block) const;

    [[nodiscard]] Result<void> check_invariants() const;

  private:
    struct Node {
        uint32_t parent = kNone;  ///< kNone: the block is not in the tree.
        uint32_t first_child = kNone, next_sibling = kNone;
        uint32_t num_tokens = 0;
        uint64_t last_used = 0;
    };
    uint32_t& first_child_of(uint32_t parent);
    [[nodiscard]] bool is_evictable(uint32_t block) const;

    BlockAllocator& allocator_;
    uint32_t block_tokens_;
    uint32_t root_child_ = kNone;
    uint64_t clock_ = 0;
    std::vector<Node> nodes_;      ///< By block.
    std::vector<int32_t> tokens_;  ///< [num_blocks, block_tokens]
};

}  // namespace hokku
