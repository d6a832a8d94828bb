// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mutex>

#include "base/read_fault_slots.h"

namespace hokku {

namespace {

// A signal handler has no argument of its own: what it needs is process-wide by nature.
struct sigaction g_previous;
size_t g_page_bytes = 0;

/// Maps zeros over the page of a fault within a watched mapping. Async-signal-safe.
bool repair(const siginfo_t* info) {
    if (info->si_code <= 0) return false;  // sent by a process, not by a memory access
    const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
    ReadFaultSlot* slot = find_read_fault_slot(address);
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

}  // namespace

bool install_read_fault_handler() {
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

size_t mapping_page_bytes() {
    return g_page_bytes;
}

}  // namespace hokku
