// SPDX-License-Identifier: Apache-2.0
#include "base/page_hints.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "base/zeroed_pages.h"

namespace hokku {

namespace {

/// The calls have no form for constant memory; none of those here writes.
[[maybe_unused]] int advise(uintptr_t begin, uintptr_t end, int advice) {
    return madvise(reinterpret_cast<void*>(begin), end - begin, advice);  // NOLINT
}

}  // namespace

void prefer_huge_pages([[maybe_unused]] std::span<const std::byte> mapped) {
#ifdef MADV_HUGEPAGE
    const auto begin = reinterpret_cast<uintptr_t>(mapped.data());
    static_cast<void>(advise(begin, begin + mapped.size(), MADV_HUGEPAGE));
#endif
}

bool populate_pages(std::span<const std::byte> mapped) {
    if (mapped.empty()) return true;
#ifdef MADV_POPULATE_READ  // from Linux 5.14 on
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<uintptr_t>(mapped.data());
    return advise(first / page * page, first + mapped.size(), MADV_POPULATE_READ) == 0;
#else
    return false;
#endif
}

void unmap_pages(std::span<const std::byte> mapped) {
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<uintptr_t>(mapped.data());
    static_cast<void>(advise(first / page * page, first + mapped.size(), MADV_DONTNEED));
}

bool collapse_pages([[maybe_unused]] std::span<const std::byte> mapped) {
#ifdef __linux__
    constexpr int kCollapse = 25;  // MADV_COLLAPSE, from Linux 6.1 on; C libraries lag behind
    const auto first = reinterpret_cast<uintptr_t>(mapped.data());
    const uintptr_t begin = (first + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
    const uintptr_t end = (first + mapped.size()) / kHugePageBytes * kHugePageBytes;
    if (begin >= end || advise(begin, end, kCollapse) == 0) return true;
    // In use, or no free huge page, at this moment.
    return errno == EAGAIN || errno == EBUSY || errno == ENOMEM;
#else
    return false;
#endif
}

void drop_written_pages([[maybe_unused]] const std::filesystem::path& path) {
#ifdef POSIX_FADV_DONTNEED
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file < 0) return;
    if (fsync(file) == 0) static_cast<void>(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED));
    close(file);
#endif
}

}  // namespace hokku
