// SPDX-License-Identifier: Apache-2.0
#include "kv/prefix_tree.h"

#include <algorithm>
#include <cassert>
#include <string>

namespace hokku {

PrefixTree::PrefixTree(BlockAllocator& allocator, uint32_t block_tokens)
    : allocator_(allocator),
      block_tokens_(block_tokens),
      nodes_(allocator.num_blocks()),
      tokens_(size_t{allocator.num_blocks()} * block_tokens, 0) {}

void PrefixTree::reserve(uint32_t num_blocks) {
    nodes_.reserve(num_blocks);
    tokens_.reserve(size_t{num_blocks} * block_tokens_);
}

void PrefixTree::grow() {
    nodes_.resize(allocator_.num_blocks());
    tokens_.resize(size_t{allocator_.num_blocks()} * block_tokens_, 0);
}

std::span<const int32_t> PrefixTree::tokens(uint32_t block) const {
    return {tokens_.data() + size_t{block} * block_tokens_, nodes_[block].num_tokens};
}

PrefixTree::Match PrefixTree::find_child(uint32_t parent, std::span<const int32_t> wanted) const {
    Match best;
    uint32_t child = parent == kRoot ? root_child_ : nodes_[parent].first_child;
    for (; child != kNone; child = nodes_[child].next_sibling) {
        const std::span<const int32_t> stored = tokens(child);
        const auto differs =
            std::mismatch(stored.begin(), stored.end(), wanted.begin(), wanted.end()).first;
        const auto num_equal = static_cast<uint32_t>(differs - stored.begin());
        if (num_equal > best.num_tokens) best = {child, num_equal};
    }
    return best;
}

uint32_t& PrefixTree::first_child_of(uint32_t parent) {
    return parent == kRoot ? root_child_ : nodes_[parent].first_child;
}

void PrefixTree::insert(uint32_t block, uint32_t parent) {
    assert(!contains(block) && "the block is in the tree already");
    assert((parent == kRoot || nodes_[parent].num_tokens == block_tokens_) &&
           "only a full block has a successor");
    allocator_.retain(block);
    uint32_t& first = first_child_of(parent);
    nodes_[block] = Node{.parent = parent, .next_sibling = first, .last_used = ++clock_};
    first = block;
}

void PrefixTree::extend(uint32_t block, std::span<const int32_t> added) {
    Node& node = nodes_[block];
    assert(contains(block) && node.num_tokens + added.size() <= block_tokens_ &&
           "the block has no room for the tokens");
    std::copy(
        added.begin(), added.end(),
        tokens_.begin() + static_cast<ptrdiff_t>(size_t{block} * block_tokens_) + node.num_tokens);
    node.num_tokens += static_cast<uint32_t>(added.size());
}

uint32_t PrefixTree::find_twin(uint32_t block) const {
    const std::span<const int32_t> wanted = tokens(block);
    const uint32_t up = nodes_[block].parent;
    uint32_t other = up == kRoot ? root_child_ : nodes_[up].first_child;
    for (; other != kNone; other = nodes_[other].next_sibling) {
        const std::span<const int32_t> stored = tokens(other);
        if (other != block &&
            std::equal(stored.begin(), stored.end(), wanted.begin(), wanted.end()))
            return other;
    }
    return kNone;
}

void PrefixTree::touch(uint32_t block) {
    nodes_[block].last_used = ++clock_;
}

bool PrefixTree::is_evictable(uint32_t block) const {
    return contains(block) && allocator_.ref_count(block) == 1;
}

uint32_t PrefixTree::num_evictable() const {
    uint32_t count = 0;
    for (uint32_t block = 0; block < nodes_.size(); ++block) count += is_evictable(block);
    return count;
}

bool PrefixTree::evict_one() {
    uint32_t oldest = kNone;
    for (uint32_t block = 0; block < nodes_.size(); ++block) {
        if (!is_evictable(block) || has_children(block)) continue;
        if (oldest == kNone || nodes_[block].last_used < nodes_[oldest].last_used) oldest = block;
    }
    if (oldest == kNone) return false;
    remove(oldest);
    return true;
}

void PrefixTree::remove(uint32_t block) {
    assert(!has_children(block) && "children would lose their prefix");
    uint32_t* link = &first_child_of(nodes_[block].parent);
    while (*link != block) link = &nodes_[*link].next_sibling;
    *link = nodes_[block].next_sibling;
    nodes_[block] = Node{};
    allocator_.release(block);
}

Result<void> PrefixTree::check_invariants() const {
    const auto broken = [](std::string what, uint32_t block) {
        return Error{ErrorCode::device, std::move(what), "KV block " + std::to_string(block), ""};
    };
    std::vector<uint32_t> times_linked(nodes_.size(), 0);
    const auto count_children = [&](uint32_t first) {
        for (uint32_t child = first; child != kNone; child = nodes_[child].next_sibling) {
            if (child >= nodes_.size() || ++times_linked[child] > 1) return false;
        }
        return true;
    };
    if (!count_children(root_child_)) return broken("a block is linked twice", root_child_);
    for (uint32_t block = 0; block < nodes_.size(); ++block) {
        if (!count_children(nodes_[block].first_child))
            return broken("a child is linked twice", block);
    }
    for (uint32_t block = 0; block < nodes_.size(); ++block) {
        const Node& node = nodes_[block];
        if (times_linked[block] != (contains(block) ? 1u : 0u))
            return broken("the links do not match the tree", block);
        if (!contains(block)) continue;
        const uint32_t count = allocator_.ref_count(block);
        if (count == 0) return broken("a block of the tree is free", block);
        if (node.num_tokens > block_tokens_) return broken("too many tokens", block);
        if (node.num_tokens < block_tokens_ && node.first_child != kNone)
            return broken("a block that is not full has children", block);
        if (node.num_tokens < block_tokens_ && count > 2)
            return broken("a block that is not full has several users", block);
        if (node.parent != kRoot && count > 1 && allocator_.ref_count(node.parent) < 2)
            return broken("a block in use has a parent that is not", block);
    }
    return {};
}

}  // namespace hokku
