// SPDX-License-Identifier: Apache-2.0
#include "kv/kv_cache.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

namespace hokku {

Sequence::~Sequence() {
    if (cache_ != nullptr) cache_->release(*this);
}

Sequence::Sequence(Sequence&& other) noexcept {
    *this = std::move(other);
}

Sequence& Sequence::operator=(Sequence&& other) noexcept {
    if (this == &other) return *this;
    if (cache_ != nullptr) cache_->release(*this);
    cache_ = std::exchange(other.cache_, nullptr);
    table_ = std::move(other.table_);
    length_ = std::exchange(other.length_, 0);
    return *this;
}

KvCache::KvCache(uint32_t num_blocks, uint32_t block_tokens, CopyBlock copy_block)
    : block_tokens_(block_tokens),
      copy_block_(std::move(copy_block)),
      allocator_(num_blocks),
      tree_(allocator_, block_tokens) {}

Sequence KvCache::open_empty() {
    Sequence sequence;
    sequence.table_.reserve(allocator_.num_blocks());
    sequence.cache_ = this;
    return sequence;
}

void KvCache::use_block(Sequence& sequence, uint32_t block) {
    allocator_.retain(block);
    sequence.table_.push_back(block);
}

Sequence KvCache::open(std::span<const int32_t> prompt, uint32_t least_left) {
    assert(least_left > 0 && "without an evaluated token there are no logits");
    Sequence sequence = open_empty();
    std::span<const int32_t> wanted =
        prompt.first(prompt.size() - std::min<size_t>(prompt.size(), least_left));
    uint32_t parent = PrefixTree::kRoot;
    while (!wanted.empty()) {
        const PrefixTree::Match match =
            tree_.find_child(parent, wanted.first(std::min<size_t>(wanted.size(), block_tokens_)));
        if (match.num_tokens == 0) break;
        if (match.num_tokens < block_tokens_) {
            reuse_part(sequence, match);
            break;
        }
        use_block(sequence, match.block);
        sequence.length_ += block_tokens_;
        wanted = wanted.subspan(block_tokens_);
        parent = match.block;
    }
    return sequence;
}

// A block that holds nothing beyond the match and that nobody uses can be written on as it is;
// any other is copied, so that what it holds stays as it is for others.
void KvCache::reuse_part(Sequence& sequence, PrefixTree::Match match) {
    const bool is_whole = tree_.tokens(match.block).size() == match.num_tokens;
    if (is_whole && allocator_.ref_count(match.block) == 1) {
        use_block(sequence, match.block);
        sequence.length_ += match.num_tokens;
        return;
    }
    copy_part(sequence, match.block, match.num_tokens);
}

/// Goes on with a copy of a block's first tokens. False when there is no block for it.
bool KvCache::copy_part(Sequence& sequence, uint32_t block, uint32_t num_tokens) {
    allocator_.retain(block);  // not to be evicted to make room for its own copy
    const std::optional<uint32_t> copy = take_block();
    if (copy) {
        copy_block_(block, *copy);
        tree_.insert(*copy, tree_.parent(block));
        tree_.extend(*copy, tree_.tokens(block).first(num_tokens));
        sequence.table_.push_back(*copy);
        sequence.length_ += num_tokens;
    }
    allocator_.release(block);
    return copy.has_value();
}

uint32_t KvCache::num_cached(std::span<const int32_t> tokens) const {
    uint32_t count = 0, parent = PrefixTree::kRoot;
    while (count < tokens.size()) {
        const auto rest = tokens.subspan(count);
        const PrefixTree::Match match =
            tree_.find_child(parent, rest.first(std::min<size_t>(rest.size(), block_tokens_)));
        count += match.num_tokens;
        if (match.num_tokens < block_tokens_) break;
        parent = match.block;
    }
    return count;
}

Result<Sequence> KvCache::fork(const Sequence& source) {
    assert(source.cache_ == this && "the sequence belongs to another cache");
    Sequence sequence = open_empty();
    const uint32_t num_full = source.length_ / block_tokens_;
    for (uint32_t i = 0; i < num_full; ++i) use_block(sequence, source.table_[i]);
    sequence.length_ = num_full * block_tokens_;
    const uint32_t rest = source.length_ - sequence.length_;
    if (rest > 0 && !copy_part(sequence, source.table_[num_full], rest))
        return Error{ErrorCode::limit_exceeded, "the KV cache has no block left for a copy", "",
                     "one block"};
    return sequence;
}

std::optional<uint32_t> KvCache::take_block() {
    std::optional<uint32_t> block = allocator_.allocate();
    if (!block && tree_.evict_one()) block = allocator_.allocate();
    return block;
}

uint32_t KvCache::num_missing_blocks(const Sequence& sequence, uint32_t num_tokens) const {
    const uint64_t needed =
        (uint64_t{sequence.length_} + num_tokens + block_tokens_ - 1) / block_tokens_;
    const uint64_t present = sequence.table_.size();
    return needed > present ? static_cast<uint32_t>(needed - present) : 0;
}

uint32_t KvCache::num_available() const {
    return allocator_.num_free() + tree_.num_evictable();
}

bool KvCache::can_append(const Sequence& sequence, uint32_t num_tokens) const {
    const uint32_t missing = num_missing_blocks(sequence, num_tokens);
    return missing == 0 || missing <= num_available();
}

Result<void> KvCache::reserve(Sequence& sequence, uint32_t num_tokens) {
    assert(sequence.cache_ == this && "the sequence belongs to another cache");
    const uint32_t missing = num_missing_blocks(sequence, num_tokens);
    if (missing == 0) return {};
    if (missing > num_available()) {
        return Error{ErrorCode::limit_exceeded,
                     "the KV cache has " + std::to_string(num_available()) + " blocks left for " +
                         std::to_string(num_tokens) + " tokens",
                     "", std::to_string(missing) + " blocks"};
    }
    // It may be older than the last growth, and a block must not be lost on its way here.
    if (sequence.table_.capacity() < sequence.table_.size() + missing)
        sequence.table_.reserve(allocator_.num_blocks());
    for (uint32_t i = 0; i < missing; ++i) sequence.table_.push_back(take_block().value());
    return {};
}

void KvCache::append(Sequence& sequence, std::span<const int32_t> tokens) {
    assert(num_missing_blocks(sequence, static_cast<uint32_t>(tokens.size())) == 0 &&
           "the room was not reserved");
    while (!tokens.empty()) {
        const uint32_t index = sequence.length_ / block_tokens_;
        const uint32_t filled = sequence.length_ % block_tokens_;
        const uint32_t block = sequence.table_[index];
        if (filled == 0)
            tree_.insert(block, index == 0 ? PrefixTree::kRoot : sequence.table_[index - 1]);
        assert(tree_.tokens(block).size() == filled && "position and cache length differ");
        const auto part = tokens.first(std::min<size_t>(tokens.size(), block_tokens_ - filled));
        tree_.extend(block, part);
        if (filled + part.size() == block_tokens_) merge_twin(sequence.table_[index]);
        sequence.length_ += static_cast<uint32_t>(part.size());
        tokens = tokens.subspan(part.size());
    }
}

// Two sequences may have evaluated the same tokens side by side. Only one block of them is kept, or
// what follows would be found below one and not below the other.
void KvCache::merge_twin(uint32_t& block) {
    const uint32_t twin = tree_.find_twin(block);
    if (twin == PrefixTree::kNone) return;
    allocator_.retain(twin);
    tree_.remove(block);
    allocator_.release(block);
    block = twin;
}

// The last block is touched first, so that of one sequence the end is evicted before the start.
void KvCache::release(Sequence& sequence) {
    assert(sequence.cache_ == this && "the sequence belongs to another cache");
    for (auto block = sequence.table_.rbegin(); block != sequence.table_.rend(); ++block) {
        if (tree_.contains(*block)) tree_.touch(*block);
        allocator_.release(*block);
    }
    sequence.table_.clear();
    sequence.length_ = 0;
    sequence.cache_ = nullptr;
}

void KvCache::prepare_growth(uint32_t num_blocks) {
    allocator_.reserve(num_blocks);
    tree_.reserve(num_blocks);
}

void KvCache::grow(uint32_t num_blocks) {
    prepare_growth(num_blocks);
    allocator_.grow(num_blocks);
    tree_.grow();
}

void KvCache::clear() {
    while (tree_.evict_one()) {
    }
}

Result<void> KvCache::check_invariants() const {
    if (auto checked = allocator_.check_invariants(); !checked.ok()) return checked;
    return tree_.check_invariants();
}

Result<void> KvCache::check_invariants(std::span<const Sequence* const> all) const {
    if (auto checked = check_invariants(); !checked.ok()) return checked;
    std::vector<uint32_t> counts(num_blocks(), 0);
    for (uint32_t block = 0; block < num_blocks(); ++block) counts[block] = tree_.contains(block);
    for (const Sequence* sequence : all)
        for (const uint32_t block : sequence->table_) ++counts[block];
    for (uint32_t block = 0; block < num_blocks(); ++block) {
        if (counts[block] != allocator_.ref_count(block))
            return Error{ErrorCode::device,
                         std::to_string(allocator_.ref_count(block)) + " references are counted",
                         "KV block " + std::to_string(block), std::to_string(counts[block])};
    }
    return {};
}

Result<void> KvCache::check_contents(const Sequence& sequence,
                                     std::span<const int32_t> tokens) const {
    const auto broken = [](std::string what) {
        return Error{ErrorCode::device, std::move(what), "KV sequence", ""};
    };
    if (sequence.length_ > tokens.size()) return broken("it is longer than its tokens");
    if (sequence.table_.size() * block_tokens_ < sequence.length_)
        return broken("its blocks do not hold its length");
    uint32_t parent = PrefixTree::kRoot;
    for (uint32_t start = 0; start < sequence.length_; start += block_tokens_) {
        const uint32_t block = sequence.table_[start / block_tokens_];
        const auto wanted =
            tokens.subspan(start, std::min(block_tokens_, sequence.length_ - start));
        if (!tree_.contains(block) || tree_.parent(block) != parent)
            return broken("a block is not where the tree has it");
        const auto stored = tree_.tokens(block);
        if (!std::equal(stored.begin(), stored.end(), wanted.begin(), wanted.end()))
            return broken("a block holds other tokens");
        parent = block;
    }
    return {};
}

}  // namespace hokku
