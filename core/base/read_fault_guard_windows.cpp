// SPDX-License-Identifier: Apache-2.0
// Source: Microsoft, "Reading and Writing From a File View": a page that cannot be read raises
// EXCEPTION_IN_PAGE_ERROR.
#include <windows.h>

#include <mutex>

#include "base/read_fault_slots.h"

namespace hokku {

namespace {

std::atomic_flag g_is_replacing = ATOMIC_FLAG_INIT;

/// Puts reserved address space in the place of the view. A single page of a view cannot be
/// replaced, and memory for a whole model may not be there: pages get some when they are read.
bool replace_view(ReadFaultSlot& slot) {
    while (g_is_replacing.test_and_set(std::memory_order_acquire)) Sleep(0);
    bool is_replaced = slot.has_fault.load();  // Another thread may have been here first.
    if (!is_replaced) {
        void* begin = reinterpret_cast<void*>(slot.begin.load());  // NOLINT: no other name for it
        const size_t bytes = slot.end.load() - slot.begin.load();
        is_replaced = UnmapViewOfFile(begin) != 0 &&
                      VirtualAlloc(begin, bytes, MEM_RESERVE, PAGE_READONLY) == begin;
        if (is_replaced) slot.has_fault.store(true);
    }
    g_is_replacing.clear(std::memory_order_release);
    return is_replaced;
}

bool give_zeros(uintptr_t address) {
    void* at = reinterpret_cast<void*>(address);  // NOLINT: a faulting address has no other name
    return VirtualAlloc(at, 1, MEM_COMMIT, PAGE_READONLY) != nullptr;
}

LONG CALLBACK on_exception(EXCEPTION_POINTERS* pointers) {
    const EXCEPTION_RECORD& record = *pointers->ExceptionRecord;
    const bool is_page_error = record.ExceptionCode == EXCEPTION_IN_PAGE_ERROR;
    // An access violation only inside a view that was replaced, or that is being replaced.
    if (!is_page_error && record.ExceptionCode != EXCEPTION_ACCESS_VIOLATION)
        return EXCEPTION_CONTINUE_SEARCH;
    constexpr ULONG_PTR kRead = 0;
    if (record.NumberParameters < 2 || record.ExceptionInformation[0] != kRead)
        return EXCEPTION_CONTINUE_SEARCH;
    const uintptr_t address = record.ExceptionInformation[1];
    ReadFaultSlot* slot = find_read_fault_slot(address);
    if (slot == nullptr) return EXCEPTION_CONTINUE_SEARCH;
    if (!replace_view(*slot) || !give_zeros(address)) return EXCEPTION_CONTINUE_SEARCH;
    return EXCEPTION_CONTINUE_EXECUTION;
}

}  // namespace

bool install_read_fault_handler() {
    static std::once_flag once;
    static bool is_installed = false;
    std::call_once(once,
                   [] { is_installed = AddVectoredExceptionHandler(1, on_exception) != nullptr; });
    return is_installed;
}

size_t mapping_page_bytes() {
    return 4096;  // On x86-64 and ARM64 alike.
}

}  // namespace hokku
