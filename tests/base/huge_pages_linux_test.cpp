// SPDX-License-Identifier: Apache-2.0
// Huge pages of mapped files on Linux: that they are asked for, and that they come.
#include <filesystem>
#include <fstream>
#include <string>

#include "base/mapped_file.h"
#include "base/page_hints.h"
#include "hokku/settle_file.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/huge_pages_linux.h"
#include "support/scratch_folder.h"

using namespace hokku;
using hokku::testing::facts_of;
using hokku::testing::kHugeBytes;

namespace {

constexpr size_t kFileBytes = 4 * kHugeBytes + 12'345;

/// In pieces smaller than a page, as a download may come.
void write_in_pieces(const std::filesystem::path& path) {
    std::ofstream file(path, std::ios::binary);
    for (size_t at = 0; at < kFileBytes; at += 1000)
        file << std::string(std::min<size_t>(1000, kFileBytes - at), static_cast<char>(at / 1000))
             << std::flush;
}

/// Whether files in this folder come in huge pages when they are read anew.
bool has_huge_pages(const std::filesystem::path& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const bool is_there = file >= 0 && fsync(file) == 0 &&
                          posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0 &&
                          testing::brings_huge_pages(
                              file, kFileBytes, {testing::kMadviseHuge, testing::kMadvisePopulate});
    close(file);
    return is_there;
}

}  // namespace

TEST_CASE("MappedFile: huge pages are asked for, from an address where they may begin",
          "[base][quick]") {
    if (!testing::system_notes_advice())
        return testing::report_skip("hardware: this system has no huge pages");
    const testing::ScratchFolder folder;
    write_in_pieces(folder / "model");
    const auto file = MappedFile::open(folder / "model").value();
    CHECK(reinterpret_cast<uintptr_t>(file->bytes().data()) % kHugeBytes == 0);
    CHECK(facts_of(file->bytes().data()).wants_huge);
}

TEST_CASE("settle_written_file: what was written in pieces is read back in huge pages",
          "[base][quick]") {
    const testing::ScratchFolder folder;
    write_in_pieces(folder / "probe");
    if (!has_huge_pages(folder / "probe"))
        return testing::report_skip("hardware: this file system brings no huge pages");
    write_in_pieces(folder / "model");
    settle_written_file(folder / "model", [] { return true; });
    const auto file = MappedFile::open(folder / "model").value();
    REQUIRE(populate_pages(file->bytes()));
    CHECK(facts_of(file->bytes().data()).huge_bytes == 4 * kHugeBytes);
}

TEST_CASE("collapse_pages: small pages become huge ones and hold the same", "[base][quick]") {
    if (!testing::system_collapses())
        return testing::report_skip("hardware: this system collapses no pages");
    std::string content(3 * kHugeBytes, '\0');
    for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7 + i / 251);
    const testing::SmallPagesFile small(content);
    const auto file = MappedFile::open(small.path()).value();
    const std::span<const std::byte> bytes = file->bytes();
    REQUIRE(populate_pages(bytes));
    REQUIRE(facts_of(bytes.data()).huge_bytes == 0);

    CHECK(collapse_pages(bytes.first(kHugeBytes - 1)));  // not a whole one
    CHECK(facts_of(bytes.data()).huge_bytes == 0);
    CHECK(collapse_pages(bytes.subspan(5, 2 * kHugeBytes)));
    CHECK(facts_of(bytes.data()).huge_bytes == kHugeBytes);
    CHECK(collapse_pages(bytes));
    CHECK(facts_of(bytes.data()).huge_bytes == 3 * kHugeBytes);
    CHECK(std::memcmp(bytes.data(), content.data(), content.size()) == 0);
}
