// SPDX-License-Identifier: Apache-2.0
// KvCache: the bookkeeping of a paged KV pool: sequences, the prefixes they share, and which
// blocks are given up when room is needed. The keys and values themselves lie in the backend.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "hokku/result.h"
#include "kv/block_allocator.h"
#include "kv/prefix_tree.h"

namespace hokku {

class KvCache;

/// One sequence of tokens and the blocks that hold their KV. Gives its blocks back when destroyed;
/// what they hold stays cached. Must not outlive its cache.
class Sequence {
  public:
    Sequence() = default;
    ~Sequence();
    Sequence(Sequence&& other) noexcept;
    Sequence& operator=(Sequence&& other) noexcept;

    /// Tokens whose KV is stored. The next token has this position.
    [[nodiscard]] uint32_t length() const { return length_; }
    /// Block of each kKvBlockTokens positions, reserved ones included.
    [[nodiscard]] std::span<const uint32_t> blocks() const { return table_; }

  private:
    friend class KvCache;
    KvCache* cache_ = nullptr;
    std::vector<uint32_t> table_;
    uint32_t length_ = 0;
};

/// Life of a sequence: open(), then for each step reserve(), the backend's step, append().
///
/// Threads: one thread at a time. Only open(), fork() and growth allocate, and the
///          first reserve() of a sequence after it.
class KvCache {
  public:
    /// Copies the KV of one block over another: how the backend does it.
    using CopyBlock = std::function<void(uint32_t from, uint32_t to)>;

    KvCache(uint32_t num_blocks, uint32_t block_tokens, CopyBlock copy_block);
    KvCache(const KvCache&) = delete;
    KvCache& operator=(const KvCache&) = delete;

    /// A sequence that starts with the longest cached prefix of `prompt`, to the token, but leaves
    /// at least its last `least_left` tokens (one or more) to be evaluated: only that gives the
    /// logits to go on with. Full blocks are shared; of a block that is only partly wanted a copy
    /// is made.
    [[nodiscard]] Sequence open(std::span<const int32_t> prompt, uint32_t least_left = 1);
    /// A sequence without tokens.
    [[nodiscard]] Sequence open_empty();
    /// How many tokens from the front of `tokens` are cached.
    [[nodiscard]] uint32_t num_cached(std::span<const int32_t> tokens) const;
    /// Another sequence with the same tokens: full blocks are shared, one that is not full is
    /// copied. Both may go on in their own ways.
    /// Errors : limit_exceeded when there is no block for the copy.
    Result<Sequence> fork(const Sequence& source);

    /// Whether reserve() would succeed.
    [[nodiscard]] bool can_append(const Sequence& sequence, uint32_t num_tokens) const;
    /// Makes the block table cover `num_tokens` more, evicting cached blocks that nobody uses.
    /// Errors : limit_exceeded when all blocks are in use.
    Result<void> reserve(Sequence& sequence, uint32_t num_tokens);
    /// Notes that the KV of these tokens has been stored. Needs the room to be reserved.
    void append(Sequence& sequence, std::span<const int32_t> tokens);
    /// What the destructor does.
    void release(Sequence& sequence);
    /// Takes the memory that grow() needs, which cannot fail then. Allocates.
    void prepare_growth(uint32_t num_blocks);
    /// More blocks, as the backend has them now. Allocates; where that fails nothing has changed.
    void grow(uint32_t num_blocks);
    /// Forgets all cached blocks that no sequence uses.
    void clear();

    [[nodiscard]] uint32_t num_blocks() const { return allocator_.num_blocks(); }
    /// Blocks that are free or could be evicted.
    [[nodiscard]] uint32_t num_available() const;
    [[nodiscard]] uint32_t block_tokens() const { return block_tokens_; }
    [[nodiscard]] Result<void> check_invariants() const;
    /// The same, and that every reference to a block is that of the tree or of one of `all`, the
    /// sequences alive.
    [[nodiscard]] Result<void> check_invariants(std::span<const Sequence* const> all) const;
    /// Whether the blocks of a sequence hold exactly these tokens, in this order.
    [[nodiscard]] Result<void> check_contents(const Sequence& sequence,
                                              std::span<const int32_t> tokens) const;

  private:
    [[nodiscard]] uint32_t num_missing_blocks(const Sequence& sequence, uint32_t num_tokens) const;
    [[nodiscard]] std::optional<uint32_t> take_block();
    void use_block(Sequence& sequence, uint32_t block);
    void reuse_part(Sequence& sequence, PrefixTree::Match match);
    bool copy_part(Sequence& sequence, uint32_t block, uint32_t num_tokens);
    void merge_twin(uint32_t& block);

    uint32_t block_tokens_;
    CopyBlock copy_block_;
    BlockAllocator allocator_;
    PrefixTree tree_;
};

}  // namespace hokku
