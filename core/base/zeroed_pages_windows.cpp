// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include "base/zeroed_pages.h"

namespace hokku {

// Huge pages need a privilege that users do not have, so plain ones, at a multiple of 64 KiB.
std::byte* map_zeroed_pages(size_t bytes) {
    return static_cast<std::byte*>(
        VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
}

void unmap_zeroed_pages(std::byte* memory, size_t /*bytes*/) {
    VirtualFree(memory, 0, MEM_RELEASE);
}

}  // namespace hokku
