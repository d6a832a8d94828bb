// SPDX-License-Identifier: Apache-2.0
#include "base/read_fault_guard.h"

#include <array>
#include <utility>

#include "base/read_fault_slots.h"

namespace hokku {

namespace {

// A handler of faults has no argument of its own: what it needs is process-wide by nature.
constexpr size_t kMaxWatched = 2048;
std::array<ReadFaultSlot, kMaxWatched> g_slots;
std::atomic<size_t> g_num_used{0};  ///< Slots from here on were never taken.

}  // namespace

ReadFaultSlot* find_read_fault_slot(uintptr_t address) {
    const size_t num_used = g_num_used.load(std::memory_order_acquire);
    for (size_t i = 0; i < num_used; ++i) {
        ReadFaultSlot& slot = g_slots[i];
        const uintptr_t begin = slot.begin.load();
        const uintptr_t end = slot.end.load();
        // Read again: the slot may have changed hands between the two loads.
        if (begin != 0 && begin == slot.begin.load() && address >= begin && address < end)
            return &slot;
    }
    return nullptr;
}

std::optional<ReadFaultGuard> ReadFaultGuard::watch(std::span<const std::byte> mapping) {
    if (!install_read_fault_handler()) return std::nullopt;
    for (size_t i = 0; i < kMaxWatched; ++i) {
        ReadFaultSlot& slot = g_slots[i];
        if (slot.is_taken.exchange(true)) continue;
        size_t num_used = g_num_used.load();
        while (num_used < i + 1 && !g_num_used.compare_exchange_weak(num_used, i + 1)) {
        }
        const auto begin = reinterpret_cast<uintptr_t>(mapping.data());
        // The last page belongs to the mapping as a whole, past the end of the file too.
        const size_t page_bytes = mapping_page_bytes();
        const uintptr_t end = (begin + mapping.size() + page_bytes - 1) & ~(page_bytes - 1);
        slot.has_fault.store(false);
        slot.end.store(end);
        slot.begin.store(begin);
        return ReadFaultGuard(i);
    }
    return std::nullopt;
}

ReadFaultGuard::ReadFaultGuard(ReadFaultGuard&& other) noexcept
    : slot_index_(std::exchange(other.slot_index_, kNoSlot)) {}

ReadFaultGuard& ReadFaultGuard::operator=(ReadFaultGuard&& other) noexcept {
    std::swap(slot_index_, other.slot_index_);
    return *this;
}

ReadFaultGuard::~ReadFaultGuard() {
    if (slot_index_ == kNoSlot) return;
    ReadFaultSlot& slot = g_slots[slot_index_];
    slot.begin.store(0);
    slot.is_taken.store(false);
}

bool ReadFaultGuard::has_fault() const {
    return slot_index_ != kNoSlot && g_slots[slot_index_].has_fault.load();
}

}  // namespace hokku
