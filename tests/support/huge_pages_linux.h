// SPDX-License-Identifier: Apache-2.0
// What Linux tells of a mapping in /proc/self/smaps, and whether this machine has huge pages for
// files, found out without our own code.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace hokku::testing {

inline constexpr size_t kHugeBytes = size_t{2} << 20;
// Of mman-common.h; C libraries lag behind.
inline constexpr int kMadviseHuge = 14, kMadvisePopulate = 22, kMadviseCollapse = 25;

struct MappingFacts {
    size_t huge_bytes = 0;    ///< Of a file or shared memory, entered as huge pages.
    bool wants_huge = false;  ///< MADV_HUGEPAGE was called.
};

/// Source: Linux, Documentation/filesystems/proc.rst.
inline MappingFacts facts_of(const void* mapping) {
    std::ostringstream address;
    address << std::hex << reinterpret_cast<uintptr_t>(mapping) << '-';
    std::ifstream maps("/proc/self/smaps");
    MappingFacts facts;
    bool is_inside = false;
    for (std::string line; std::getline(maps, line);) {
        std::istringstream words(line);
        std::string first;
        words >> first;
        if (first.find('-') != std::string::npos && first.back() != ':')
            is_inside = first.starts_with(address.str());
        if (!is_inside) continue;
        size_t kilobytes = 0;
        if (first == "FilePmdMapped:" || first == "ShmemPmdMapped:") {
            words >> kilobytes;
            facts.huge_bytes += kilobytes << 10;
        }
        if (first == "VmFlags:") facts.wants_huge = line.find(" hg") != std::string::npos;
    }
    return facts;
}

/// Whether `advice` (of madvise) on a mapping of this file from a multiple of a huge page on brings
/// huge pages.
inline bool brings_huge_pages(int file, size_t bytes, std::vector<int> advice) {
    void* room = mmap(nullptr, bytes + kHugeBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return false;
    auto* place = static_cast<std::byte*>(room);
    place += (kHugeBytes - reinterpret_cast<uintptr_t>(place) % kHugeBytes) % kHugeBytes;
    bool has_huge = mmap(place, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) != MAP_FAILED;
    for (const int each : advice) has_huge = has_huge && madvise(place, bytes, each) == 0;
    has_huge = has_huge && facts_of(place).huge_bytes > 0;
    munmap(room, bytes + kHugeBytes);
    return has_huge;
}

/// Whether MADV_HUGEPAGE shows in the facts of a mapping: not with emulators of a processor.
inline bool system_notes_advice() {
    void* pages = mmap(nullptr, kHugeBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return false;
    const bool is_noted =
        madvise(pages, kHugeBytes, kMadviseHuge) == 0 && facts_of(pages).wants_huge;
    munmap(pages, kHugeBytes);
    return is_noted;
}

/// Shared memory written in small pieces, with a path: what can be collapsed on every kernel that
/// collapses at all.
class SmallPagesFile {
  public:
    explicit SmallPagesFile(const std::string& content)
        : file_(memfd_create("small pages", MFD_CLOEXEC)) {
        constexpr size_t kPiece = 4096;
        for (size_t at = 0; at < content.size(); at += kPiece)
            if (write(file_, content.data() + at, std::min(kPiece, content.size() - at)) < 0)
                return;
    }
    ~SmallPagesFile() { close(file_); }
    SmallPagesFile(const SmallPagesFile&) = delete;
    SmallPagesFile& operator=(const SmallPagesFile&) = delete;

    [[nodiscard]] int file() const { return file_; }
    [[nodiscard]] std::filesystem::path path() const {
        return "/proc/self/fd/" + std::to_string(file_);
    }

  private:
    int file_;
};

/// Whether this machine collapses such files.
inline bool system_collapses() {
    const SmallPagesFile probe(std::string(2 * kHugeBytes, 'x'));
    return brings_huge_pages(probe.file(), 2 * kHugeBytes, {kMadviseCollapse});
}

}  // namespace hokku::testing
