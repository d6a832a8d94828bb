// SPDX-License-Identifier: Apache-2.0
#include "constraint/match/stack_pool.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace hokku::constraint {

namespace {

constexpr size_t kFirstSlots = 1024;

uint64_t pair_key(StackSetId a, StackSetId b) {
    return (uint64_t{std::min(a, b)} << 32) | std::max(a, b);
}

uint32_t hash_frames(std::span<const Frame> frames, bool has_end, bool has_unknown) {
    uint64_t hash = 0x9E3779B97F4A7C15u + (has_end ? 1u : 0u) + (has_unknown ? 2u : 0u);
    const auto mix = [&hash](uint64_t value) {
        hash = (hash ^ value) * 0xFF51AFD7ED558CCDu;
        hash ^= hash >> 32;
    };
    for (const Frame& frame : frames) {
        mix((uint64_t{frame.position} << 32) | frame.count);
        mix(frame.below);
    }
    return static_cast<uint32_t>(hash);
}

}  // namespace

StackPool::StackPool(const Grammar& grammar) : grammar_(&grammar) {
    rehash(kFirstSlots);
    Merge none, end, unknown;
    end.has_end = true;
    unknown.has_unknown = true;
    intern(none);
    intern(end);
    intern(unknown);
}

size_t StackPool::memory_bytes() const {
    return sets_.capacity() * sizeof(Set) + frames_.capacity() * sizeof(Frame) +
           slots_.capacity() * sizeof(StackSetId) + unions_.size() * 4 * sizeof(uint64_t);
}

// Of two frames that differ in the counter alone, one may allow all that the other allows: without
// a maximum the higher counter, else the lower one of those that have reached the minimum.
// Needs the frames sorted by position, what lies below, counter.
void StackPool::drop_redundant(std::vector<Frame>& frames) const {
    size_t num_kept = 0;
    for (size_t i = 0; i < frames.size(); ++i) {
        const Frame frame = frames[i];
        const Rule& rule = grammar_->rules[grammar_->positions[frame.position].rule];
        if (num_kept > 0) {
            Frame& last = frames[num_kept - 1];
            if (frame == last) continue;
            const bool same = rule.is_counted && frame.position == last.position &&
                              frame.below == last.below && frame.count < kFarInside;
            if (same && rule.max_count == kUnbounded) {
                last.count = frame.count;
                continue;
            }
            if (same && last.count >= rule.min_count) continue;
        }
        frames[num_kept++] = frame;
    }
    frames.resize(num_kept);
}

/// Merges frames of the same position and counter. False: a union of what lies below is missing
/// and has been put on top of merges_; `merge` may have moved.
bool StackPool::merge_step(Merge& merge) {
    std::vector<Frame>& frames = merge.frames;
    work_ += frames.size();
    std::sort(frames.begin(), frames.end(), [](const Frame& a, const Frame& b) {
        return std::tie(a.position, a.below, a.count) < std::tie(b.position, b.below, b.count);
    });
    drop_redundant(frames);
    std::sort(frames.begin(), frames.end(), [](const Frame& a, const Frame& b) {
        return std::tie(a.position, a.count, a.below) < std::tie(b.position, b.count, b.below);
    });
    size_t num_kept = 0;
    for (size_t i = 0; i < frames.size(); ++i) {
        const Frame frame = frames[i];
        if (num_kept == 0 || frames[num_kept - 1].position != frame.position ||
            frames[num_kept - 1].count != frame.count) {
            frames[num_kept++] = frame;
            continue;
        }
        StackSetId& below = frames[num_kept - 1].below;
        if (below == frame.below) continue;
        const uint64_t key = pair_key(below, frame.below);
        const auto known = unions_.find(key);
        if (known != unions_.end()) {
            below = known->second;
            continue;
        }
        // Close the gap that the merges so far have left, so that a second try goes on from here.
        frames.erase(frames.begin() + static_cast<ptrdiff_t>(num_kept),
                     frames.begin() + static_cast<ptrdiff_t>(i));
        Merge inner;
        inner.memo_key = key;
        for (const StackSetId id : {below, frame.below}) {
            const auto part = this->frames(id);
            inner.frames.insert(inner.frames.end(), part.begin(), part.end());
            inner.has_end |= sets_[id].has_end;
            inner.has_unknown |= sets_[id].has_unknown;
        }
        merges_.push_back(std::move(inner));
        return false;
    }
    frames.resize(num_kept);
    return true;
}

StackSetId StackPool::make(std::vector<Frame>& frames, bool has_end, bool has_unknown) {
    merges_.clear();
    merges_.push_back({std::move(frames), has_end, has_unknown, 0});
    frames = {};
    for (;;) {
        if (work_ > work_limit_) return kNothing;
        if (!merge_step(merges_.back())) continue;
        const StackSetId id = intern(merges_.back());
        const uint64_t key = merges_.back().memo_key;
        if (merges_.size() == 1) {
            frames = std::move(merges_.back().frames);  // Keeps its memory for the caller.
            frames.clear();
            return id;
        }
        unions_.emplace(key, id);
        merges_.pop_back();
    }
}

StackSetId StackPool::intern(const Merge& merge) {
    Set set;
    set.has_end = merge.has_end;
    set.has_unknown = merge.has_unknown;
    set.first = static_cast<uint32_t>(frames_.size());
    for (const Frame& frame : merge.frames) {
        const uint32_t depth = sets_[frame.below].depth + 1;
        if (frame.below == kNothing || depth > kMaxDepth) continue;
        set.depth = std::max(set.depth, depth);
        frames_.push_back(frame);
    }
    set.num = static_cast<uint32_t>(frames_.size()) - set.first;
    if (set.num == 0 && !set.has_end && !set.has_unknown && !sets_.empty()) return kNothing;
    const auto added = std::span(frames_).subspan(set.first);
    set.hash = hash_frames(added, set.has_end, set.has_unknown);
    const size_t mask = slots_.size() - 1;
    for (size_t slot = set.hash & mask; slots_[slot] != kNothing; slot = (slot + 1) & mask) {
        const StackSetId id = slots_[slot];
        const Set& other = sets_[id];
        if (other.hash != set.hash || other.num != set.num || other.has_end != set.has_end ||
            other.has_unknown != set.has_unknown)
            continue;
        if (std::equal(added.begin(), added.end(), frames_.begin() + other.first)) {
            frames_.resize(set.first);
            return id;
        }
    }
    sets_.push_back(set);
    const auto id = static_cast<StackSetId>(sets_.size() - 1);
    if (sets_.size() * 2 > slots_.size()) {
        rehash(slots_.size() * 2);
    } else {
        insert_hash(id);
    }
    return id;
}

void StackPool::insert_hash(StackSetId id) {
    if (id == kNothing) return;
    const size_t mask = slots_.size() - 1;
    size_t slot = sets_[id].hash & mask;
    while (slots_[slot] != kNothing) slot = (slot + 1) & mask;
    slots_[slot] = id;
}

void StackPool::rehash(size_t num_slots) {
    slots_.assign(num_slots, kNothing);
    for (StackSetId id = 1; id < sets_.size(); ++id) insert_hash(id);
}

void StackPool::collect(std::span<StackSetId> roots) {
    std::vector<bool> needed(sets_.size(), false);
    needed[kNothing] = needed[kEnd] = needed[kUnknown] = true;
    for (const StackSetId root : roots) needed[root] = true;
    for (StackSetId id = static_cast<StackSetId>(sets_.size()); id-- > 0;) {
        if (!needed[id]) continue;
        for (const Frame& frame : frames(id)) needed[frame.below] = true;
    }
    std::vector<StackSetId> new_ids(sets_.size(), kNothing);
    std::vector<Set> sets;
    std::vector<Frame> kept;
    sets.reserve(static_cast<size_t>(std::count(needed.begin(), needed.end(), true)));
    for (StackSetId id = 0; id < sets_.size(); ++id) {
        if (!needed[id]) continue;
        Set set = sets_[id];
        const auto first = static_cast<uint32_t>(kept.size());
        for (Frame frame : frames(id)) {
            frame.below = new_ids[frame.below];
            kept.push_back(frame);
        }
        set.first = first;
        set.hash = hash_frames(std::span(kept).subspan(first), set.has_end, set.has_unknown);
        new_ids[id] = static_cast<StackSetId>(sets.size());
        sets.push_back(set);
    }
    sets_ = std::move(sets);
    frames_ = std::move(kept);
    unions_.clear();
    size_t num_slots = kFirstSlots;
    while (num_slots < sets_.size() * 2) num_slots *= 2;
    rehash(num_slots);
    for (StackSetId& root : roots) root = new_ids[root];
}

}  // namespace hokku::constraint
