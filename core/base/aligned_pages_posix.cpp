// SPDX-License-Identifier: Apache-2.0
#include "base/aligned_pages_posix.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "base/round_up.h"
#include "base/zeroed_pages.h"

namespace hokku {

std::byte* map_aligned_pages(size_t bytes, int protection) {
    // Mapped with room to spare and trimmed.
    const size_t wanted = round_up(bytes, static_cast<size_t>(sysconf(_SC_PAGESIZE)));
    const size_t mapped = wanted + kHugePageBytes;
    void* memory = mmap(nullptr, mapped, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* begin = static_cast<std::byte*>(memory);
    const size_t before =
        (kHugePageBytes - reinterpret_cast<uintptr_t>(begin) % kHugePageBytes) % kHugePageBytes;
    if (before > 0) munmap(begin, before);
    if (before < kHugePageBytes) munmap(begin + before + wanted, kHugePageBytes - before);
    return begin + before;
}

}  // namespace hokku
