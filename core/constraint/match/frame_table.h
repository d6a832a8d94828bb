// SPDX-License-Identifier: Apache-2.0
// FrameTable: a hash table from frames to numbers that is emptied in no time, for the many small
// searches of Matcher.
#pragma once

#include <cstdint>
#include <vector>

#include "constraint/match/stack_pool.h"

namespace hokku::constraint {

/// Threads: one thread at a time.
class FrameTable {
  public:
    void clear() {
        ++epoch_;
        num_used_ = 0;
    }

    /// The number stored for `frame`, which is `initial` if it was not there.
    uint32_t& find_or_add(const Frame& frame, uint32_t initial, bool& is_new) {
        if ((num_used_ + 1) * 2 > slots_.size()) grow();
        Slot& slot = find(frame);
        is_new = slot.epoch != epoch_;
        if (is_new) {
            slot = {frame, initial, epoch_};
            ++num_used_;
        }
        return slot.value;
    }

    /// True when the frame was not there.
    bool insert(const Frame& frame) {
        bool is_new = false;
        find_or_add(frame, 0, is_new);
        return is_new;
    }

  private:
    struct Slot {
        Frame frame;
        uint32_t value = 0;
        uint64_t epoch = 0;
    };

    Slot& find(const Frame& frame) {
        uint64_t hash = (uint64_t{frame.position} << 32 | frame.count) * 0x9E3779B97F4A7C15u;
        hash = (hash ^ (hash >> 29) ^ frame.below) * 0xBF58476D1CE4E5B9u;
        size_t at = static_cast<size_t>(hash >> 32) & (slots_.size() - 1);
        while (slots_[at].epoch == epoch_ && !(slots_[at].frame == frame))
            at = (at + 1) & (slots_.size() - 1);
        return slots_[at];
    }

    void grow() {
        std::vector<Slot> old = std::move(slots_);
        slots_ = std::vector<Slot>(old.empty() ? 64 : old.size() * 2);
        for (const Slot& slot : old)
            if (slot.epoch == epoch_) find(slot.frame) = slot;
    }

    std::vector<Slot> slots_;
    size_t num_used_ = 0;
    uint64_t epoch_ = 1;
};

}  // namespace hokku::constraint
