// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "base/page_hints.h"

namespace hokku {
bool populate_pages(std::span<const std::byte> mapped) {
    if (mapped.empty()) return true;
#ifdef MADV_POPULATE_READ  // from Linux 5.14 on
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<uintptr_t>(mapped.data());
    const uintptr_t begin = first / page * page;
    // Nothing is written: the call has no form for constant memory.
    return madvise(reinterpret_cast<void*>(begin), first + mapped.size() - begin,
                   MADV_POPULATE_READ) == 0;
#else
    return false;
#endif
}

}  // namespace hokku
