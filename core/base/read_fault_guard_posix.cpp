// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

#include "base/read_fault_guard.h"

namespace hokku {

namespace {

/// One watched mapping. `begin` is 0 while the slot is not active. The signal handler reads slots
/// without locks, so all fields are lock-free atomics.
struct Slot {
    std::atomic<bool> is_taken{false};
    std::atomic<bool> has_fault{false};
    std::atomic<uintptr_t> begin{0};
    std::atomic<uintptr_t> end{0};
};
static_assert(std::atomic<uintptr_t>::is_always_lock_free);
static_assert(std::atomic<bool>::is_always_lock_free);

// A signal handler has no argument of its own: what it needs is process-wide by nature.
constexpr size_t kMaxWatched = 2048;
std::array<Slot, kMaxWatched> g_slots;
std::atomic<size_t> g_num_used{0};  ///< Slots from here on were never taken.
struct sigaction g_previous;
size_t g_page_bytes = 0;

Slot* find_slot(uintptr_t address) {
    const size_t num_used = g_num_used.load(std::memory_order_acquire);
    for (size_t i = 0; i < num_used; ++i) {
        Slot& slot = g_slots[i];
        const uintptr_t begin = slot.begin.load();
        const uintptr_t end = slot.end.load();
        // Read again: the slot may have changed hands between the two loads.
        if (begin != 0 && begin == slot.begin.load() && address >= begin && address < end)
            return &slot;
    }
    return nullptr;
}

/// Maps zeros over the page of a fault within a watched mapping. Async-signal-safe.
bool repair(const siginfo_t* info) {
    if (info->si_code <= 0) return false;  // sent by a process, not by a memory access
    const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
    Slot* slot = find_slot(address);
    if (slot == nullptr) return false;
    // NOLINTNEXTLINE: the page of a faulting address has no other name than the number.
    void* page = reinterpret_cast<void*>(address & ~(g_page_bytes - 1));
    const void* mapped =
        mmap(page, g_page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (mapped == MAP_FAILED) return false;
    slot->has_fault.store(true);
    return true;
}

void pass_on(int signal_number, siginfo_t* info, void* context) {
    if ((g_previous.sa_flags & SA_SIGINFO) != 0 && g_previous.sa_sigaction != nullptr) {
        g_previous.sa_sigaction(signal_number, info, context);
        return;
    }
    if (g_previous.sa_handler != SIG_DFL && g_previous.sa_handler != SIG_IGN) {
        g_previous.sa_handler(signal_number);
        return;
    }
    if (info->si_code <= 0 && g_previous.sa_handler == SIG_IGN) return;
    // The default action is due: the access is tried again after the return and ends the process.
    struct sigaction by_default = {};
    by_default.sa_handler = SIG_DFL;
    sigaction(signal_number, &by_default, nullptr);
    if (info->si_code <= 0) raise(signal_number);
}

void on_bus_error(int signal_number, siginfo_t* info, void* context) {
    const int saved_errno = errno;
    if (!repair(info)) pass_on(signal_number, info, context);
    errno = saved_errno;
}

bool install_handler() {
    static std::once_flag once;
    static bool is_installed = false;
    std::call_once(once, [] {
        g_page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        // The previous handler must be known before ours can run.
        if (sigaction(SIGBUS, nullptr, &g_previous) != 0) return;
        struct sigaction action = {};
        action.sa_sigaction = on_bus_error;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&action.sa_mask);
        is_installed = sigaction(SIGBUS, &action, nullptr) == 0;
    });
    return is_installed;
}

}  // namespace

std::optional<ReadFaultGuard> ReadFaultGuard::watch(std::span<const std::byte> mapping) {
    if (!install_handler()) return std::nullopt;
    for (size_t i = 0; i < kMaxWatched; ++i) {
        Slot& slot = g_slots[i];
        if (slot.is_taken.exchange(true)) continue;
        size_t num_used = g_num_used.load();
        while (num_used < i + 1 && !g_num_used.compare_exchange_weak(num_used, i + 1)) {
        }
        const auto begin = reinterpret_cast<uintptr_t>(mapping.data());
        // The last page belongs to the mapping as a whole, past the end of the file too.
        const uintptr_t end = (begin + mapping.size() + g_page_bytes - 1) & ~(g_page_bytes - 1);
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
    Slot& slot = g_slots[slot_index_];
    slot.begin.store(0);
    slot.is_taken.store(false);
}

bool ReadFaultGuard::has_fault() const {
    return slot_index_ != kNoSlot && g_slots[slot_index_].has_fault.load();
}

}  // namespace hokku
