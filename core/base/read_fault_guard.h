// SPDX-License-Identifier: Apache-2.0
// ReadFaultGuard: survives pages of a mapped file that cannot be read, because the file shrank or
// the medium failed. Such a page then reads as zeros and a flag is raised, instead of the process
// dying. Nothing else is caught: every other fault goes to the handler that was there before.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace hokku {

/// Watches one mapping while it lives. The first guard installs the process-wide handler.
///
/// Needs  : destroyed before the mapping is taken away.
/// Threads: has_fault is thread-safe; faults are caught on any thread.
/// Cost   : nothing until a fault; then one page is mapped over each page that fails.
class ReadFaultGuard {
  public:
    /// nullopt when too many mappings are watched or the handler cannot be installed.
    static std::optional<ReadFaultGuard> watch(std::span<const std::byte> mapping);

    ReadFaultGuard(ReadFaultGuard&& other) noexcept;
    ReadFaultGuard& operator=(ReadFaultGuard&& other) noexcept;
    ~ReadFaultGuard();

    /// Whether a page has failed: from then on for good, as its zeros stay.
    [[nodiscard]] bool has_fault() const;

  private:
    explicit ReadFaultGuard(size_t slot_index) : slot_index_(slot_index) {}
    static constexpr size_t kNoSlot = static_cast<size_t>(-1);
    size_t slot_index_ = kNoSlot;
};

}  // namespace hokku
