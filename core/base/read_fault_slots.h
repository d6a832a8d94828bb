// SPDX-License-Identifier: Apache-2.0
// The mappings that ReadFaultGuard watches, as the handler of read faults sees them, and the
// handler's installation, which each system does in its own way.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hokku {

/// One watched mapping. `begin` is 0 while the slot is not active. The handler reads slots without
/// locks, so all fields are lock-free atomics.
struct ReadFaultSlot {
    std::atomic<bool> is_taken{false};
    std::atomic<bool> has_fault{false};
    std::atomic<uintptr_t> begin{0};
    std::atomic<uintptr_t> end{0};
};
static_assert(std::atomic<uintptr_t>::is_always_lock_free);
static_assert(std::atomic<bool>::is_always_lock_free);

/// The slot of the watched mapping that holds this address; null for any other address.
/// Async-signal-safe.
ReadFaultSlot* find_read_fault_slot(uintptr_t address);

/// Installs the process-wide handler once; false when the system refuses it.
bool install_read_fault_handler();

/// Size of the pages of a mapping, at whose bounds it ends.
size_t mapping_page_bytes();

}  // namespace hokku
