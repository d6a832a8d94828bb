// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <cstdint>

#include "base/zeroed_pages.h"

namespace hokku {

namespace {

constexpr size_t rounded(size_t bytes) {
    return (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
}

}  // namespace

std::byte* map_zeroed_pages(size_t bytes) {
    // Mapped with room to spare and trimmed to the alignment of a huge page.
    const size_t wanted = rounded(bytes), mapped = wanted + kHugePageBytes;
    void* memory =
        mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* begin = static_cast<std::byte*>(memory);
    const size_t before =
        (kHugePageBytes - reinterpret_cast<uintptr_t>(begin) % kHugePageBytes) % kHugePageBytes;
    if (before > 0) munmap(begin, before);
    if (before < kHugePageBytes) munmap(begin + before + wanted, kHugePageBytes - before);
#ifdef MADV_HUGEPAGE
    madvise(begin + before, wanted, MADV_HUGEPAGE);
#endif
    return begin + before;
}

void unmap_zeroed_pages(std::byte* memory, size_t bytes) {
    munmap(memory, rounded(bytes));
}

}  // namespace hokku
