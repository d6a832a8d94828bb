// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include "interrupts.h"

namespace hokku::cli {

namespace {

// The system's handler has no argument of its own.
std::mutex g_mutex;  // guards g_current and its life; also keeps events one at a time
Interrupts* g_current = nullptr;

BOOL WINAPI on_console_event(DWORD event) {
    if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT) return FALSE;
    const std::lock_guard lock(g_mutex);
    if (g_current == nullptr) return FALSE;
    g_current->deliver();
    return TRUE;
}

void set_current(Interrupts* interrupts) {
    const std::lock_guard lock(g_mutex);
    g_current = interrupts;
}

}  // namespace

/// The system calls the handler on a new thread for each event.
struct Interrupts::Source {
    explicit Source(Interrupts& interrupts) {
        set_current(&interrupts);
        SetConsoleCtrlHandler(on_console_event, TRUE);
    }
    ~Source() {
        SetConsoleCtrlHandler(on_console_event, FALSE);
        set_current(nullptr);
    }
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;
};

Interrupts::Interrupts() : source_(std::make_unique<Source>(*this)) {}
Interrupts::~Interrupts() = default;

}  // namespace hokku::cli
