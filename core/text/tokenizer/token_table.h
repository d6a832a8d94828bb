// SPDX-License-Identifier: Apache-2.0
// Two flat hash tables that a vocabulary is searched with: byte string -> id, and pair of ids ->
// merge. Open addressing, no allocation per entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "hokku/tokenizer.h"

namespace hokku {

/// Maps byte strings to token ids. Keys are views into one block of bytes that the owner keeps
/// alive and passes to each call (so that owner and table may move).
///
/// Threads: find() is safe from any thread once all is inserted.
class TokenTable {
  public:
    /// A table for at most `num_keys` keys. `seed` keeps files from being made to collide.
    TokenTable(size_t num_keys, uint64_t seed);

    /// Inserts bytes [offset, offset + length) of `block`; false, with nothing changed, when that
    /// string is already there. Needs: length <= 65535.
    bool insert(std::string_view block, uint32_t offset, uint32_t length, TokenId id);
    [[nodiscard]] std::optional<TokenId> find(std::string_view block, std::string_view key) const;

  private:
    struct Slot {
        uint32_t offset = 0;
        uint16_t length = 0;
        uint16_t tag = 0;  // bits of the hash
        TokenId id = -1;   // -1: empty
    };
    std::vector<Slot> slots_;  // a power of two
    size_t mask_ = 0;
    uint64_t seed_ = 0;
};

struct Merge {
    uint32_t rank = 0;    ///< Lower is earlier.
    TokenId merged = -1;  ///< Of the two tokens together.
};

/// Maps a pair of token ids to its merge.
///
/// Threads: find() is safe from any thread once all is inserted.
class MergeTable {
  public:
    MergeTable(size_t num_merges, uint64_t seed);

    /// The first merge of a pair stays.
    void insert(TokenId left, TokenId right, Merge merge);
    /// nullptr when the pair does not merge.
    [[nodiscard]] const Merge* find(TokenId left, TokenId right) const {
        const uint64_t key = key_of(left, right);
        for (size_t index = first_slot(key);; index = (index + 1) & mask_) {
            const Slot& slot = slots_[index];
            if (slot.key == key) return &slot.merge;
            if (slot.key == kEmpty) return nullptr;
        }
    }

  private:
    static constexpr uint64_t kEmpty = ~uint64_t{0};  // ids are never negative
    struct Slot {
        uint64_t key = kEmpty;
        Merge merge;
    };
    static uint64_t key_of(TokenId left, TokenId right) {
        return (uint64_t{static_cast<uint32_t>(left)} << 32) | static_cast<uint32_t>(right);
    }
    [[nodiscard]] size_t first_slot(uint64_t key) const {
        return static_cast<size_t>((key * multiplier_) >> shift_);
    }
    std::vector<Slot> slots_;  // a power of two
    size_t mask_ = 0;
    int shift_ = 0;
    uint64_t multiplier_ = 0;  // odd and random: a universal hash
};

/// A seed that differs from run to run.
uint64_t random_seed();

}  // namespace hokku
