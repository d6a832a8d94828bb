// SPDX-License-Identifier: Apache-2.0
#include "base/zeroed_pages.h"

#include <sys/mman.h>

#include "base/aligned_pages_posix.h"

namespace hokku {

namespace {

constexpr size_t rounded(size_t bytes) {
    return (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
}

}  // namespace

std::byte* map_zeroed_pages(size_t bytes) {
    std::byte* memory = map_aligned_pages(rounded(bytes), PROT_READ | PROT_WRITE);
#ifdef MADV_HUGEPAGE
    if (memory != nullptr) madvise(memory, rounded(bytes), MADV_HUGEPAGE);
#endif
    return memory;
}

void unmap_zeroed_pages(std::byte* memory, size_t bytes) {
    munmap(memory, rounded(bytes));
}

}  // namespace hokku
