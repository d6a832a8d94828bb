// SPDX-License-Identifier: Apache-2.0
#include "kv/block_allocator.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <string>

namespace hokku {

BlockAllocator::BlockAllocator(uint32_t num_blocks) : ref_counts_(num_blocks, 0) {
    free_.resize(num_blocks);
    std::iota(free_.rbegin(), free_.rend(), 0u);
}

void BlockAllocator::reserve(uint32_t num_blocks) {
    free_.reserve(num_blocks);
    ref_counts_.reserve(num_blocks);
}

void BlockAllocator::grow(uint32_t num_blocks) {
    assert(num_blocks >= this->num_blocks());
    reserve(num_blocks);
    for (uint32_t block = num_blocks; block > this->num_blocks(); --block)
        free_.push_back(block - 1);
    ref_counts_.resize(num_blocks, 0);
}

std::optional<uint32_t> BlockAllocator::allocate() {
    if (free_.empty()) return std::nullopt;
    const uint32_t block = free_.back();
    free_.pop_back();
    ref_counts_[block] = 1;
    return block;
}

void BlockAllocator::retain(uint32_t block) {
    assert(ref_counts_[block] > 0 && "a free block cannot be retained");
    ++ref_counts_[block];
}

void BlockAllocator::release(uint32_t block) {
    assert(ref_counts_[block] > 0 && "a free block cannot be released");
    if (--ref_counts_[block] == 0) free_.push_back(block);
}

Result<void> BlockAllocator::check_invariants() const {
    const auto broken = [](std::string what, uint32_t block) {
        return Error{ErrorCode::device, std::move(what), "KV block " + std::to_string(block), ""};
    };
    std::vector<bool> is_free(ref_counts_.size(), false);
    for (const uint32_t block : free_) {
        if (block >= ref_counts_.size()) return broken("the free list names no block", block);
        if (is_free[block]) return broken("the block is in the free list twice", block);
        if (ref_counts_[block] != 0) return broken("a free block has references", block);
        is_free[block] = true;
    }
    for (uint32_t block = 0; block < ref_counts_.size(); ++block) {
        if (ref_counts_[block] == 0 && !is_free[block])
            return broken("a block without references is not free", block);
    }
    return {};
}

}  // namespace hokku
