// SPDX-License-Identifier: Apache-2.0
// What Linux's tables hold of a mapped file.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/page_hints.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/scratch_folder.h"

using namespace hokku;

namespace {

size_t page_bytes() {
    return static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

/// Whether this process's tables hold the page of each. Nothing where the system does not tell.
/// Source : Linux, Documentation/admin-guide/mm/pagemap.rst: 64 bits a page, the highest: present.
std::optional<std::vector<bool>> are_present(std::span<const std::byte> mapped) {
    std::FILE* const map = std::fopen("/proc/self/pagemap", "rb");
    if (map == nullptr) return std::nullopt;
    const uintptr_t first = reinterpret_cast<uintptr_t>(mapped.data()) / page_bytes();
    const size_t count = (mapped.size() + page_bytes() - 1) / page_bytes();
    std::vector<uint64_t> entries(count);
    const bool is_read = std::fseek(map, static_cast<long>(first * 8), SEEK_SET) == 0 &&
                         std::fread(entries.data(), 8, count, map) == count;
    std::fclose(map);
    if (!is_read) return std::nullopt;
    std::vector<bool> present;
    for (const uint64_t entry : entries) present.push_back(entry >> 63 == 1);
    return present;
}

/// What is missing is a machine: emulators of a processor take the call and do nothing.
constexpr const char* kCannot = "hardware: this machine populates no pages, or does not show it";

bool system_populates() {
#ifdef MADV_POPULATE_READ
    const size_t size = page_bytes();
    void* const page = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return false;
    const bool is_done = madvise(page, size, MADV_POPULATE_READ) == 0;
    const auto present = are_present({static_cast<const std::byte*>(page), size});
    munmap(page, size);
    return is_done && present && present->front();
#else
    return false;
#endif
}

}  // namespace

TEST_CASE("populate_pages: the pages named are in the tables of the process", "[base][quick]") {
    if (!system_populates()) return testing::report_skip(kCannot);
    const testing::ScratchFolder folder;
    constexpr size_t kPages = 512;
    std::ofstream(folder / "bytes", std::ios::binary) << std::string(kPages * page_bytes(), 'x');
    const auto file = MappedFile::open(folder / "bytes").value();
    const std::span<const std::byte> bytes = file->bytes();
    CHECK(are_present(bytes).value() == std::vector<bool>(kPages, false));

    // From the middle of one page to that of another.
    const size_t half = page_bytes() / 2;
    CHECK(populate_pages(bytes.subspan(300 * page_bytes() + half, 9 * page_bytes())));
    const std::vector<bool> part = are_present(bytes).value();
    for (size_t page = 300; page <= 309; ++page) CHECK(part[page]);

    CHECK(populate_pages(bytes));
    CHECK(are_present(bytes).value() == std::vector<bool>(kPages, true));
}

TEST_CASE("populate_pages: a page that is gone is told, not touched", "[base][quick]") {
    if (!system_populates()) return testing::report_skip(kCannot);
    const testing::ScratchFolder folder;
    std::ofstream(folder / "bytes", std::ios::binary) << std::string(8 * page_bytes(), 'x');
    const auto file = MappedFile::open(folder / "bytes").value();
    std::filesystem::resize_file(folder / "bytes", page_bytes());
    CHECK(populate_pages(file->bytes().first(page_bytes())));
    CHECK_FALSE(populate_pages(file->bytes()));
    CHECK_FALSE(file->has_read_fault());
}
