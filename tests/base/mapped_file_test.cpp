// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <cstring>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/gguf_writer.h"

using hokku::ErrorCode;
using hokku::MappedFile;
using hokku::testing::ScratchFolder;
using hokku::testing::write_file;

namespace {

std::string text_of(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

/// Reads through a pointer that the compiler must not look behind.
int touch(const std::byte* at) {
    const volatile std::byte* byte = at;
    return std::to_integer<int>(*byte);
}

std::string error_of(const std::filesystem::path& path, bool use_mapping) {
    const auto opened = MappedFile::open(path, use_mapping);
    REQUIRE_FALSE(opened.ok());
    CHECK(opened.error().code == ErrorCode::io);
    CHECK_THAT(opened.error().message(), Catch::Contains(path.filename().string()));
    return opened.error().what;
}

}  // namespace

TEST_CASE("MappedFile: mapping and reading give the same bytes", "[base][quick]") {
    const ScratchFolder folder;
    std::string content;
    for (int i = 0; i < 700'000; ++i) content.push_back(static_cast<char>(i * 7 + i / 256));
    write_file(folder / "file", content);

    auto mapped = MappedFile::open(folder / "file");
    REQUIRE(mapped.ok());
    CHECK(mapped.value()->is_mapped());
    CHECK(text_of(*mapped.value()) == content);

    auto read = MappedFile::open(folder / "file", false);
    REQUIRE(read.ok());
    MappedFile& file = *read.value();
    CHECK_FALSE(file.is_mapped());
    // Out of order and with gaps, as a parser that skips arrays does.
    for (const auto& [begin, end] : {std::pair<size_t, size_t>{0, 24},
                                     {10, 300'000},
                                     {600'000, 600'001},
                                     {599'000, 600'010},
                                     {699'999, 700'000}}) {
        REQUIRE(file.load(begin, end));
        CHECK(std::memcmp(file.bytes().data() + begin, content.data() + begin, end - begin) == 0);
    }
    REQUIRE(file.load_all().ok());
    CHECK(text_of(file) == content);
    CHECK_FALSE(file.has_read_fault());
}

TEST_CASE("MappedFile: absent and empty files and folders are named as such", "[base][quick]") {
    const ScratchFolder folder;
    write_file(folder / "empty", "");
    for (const bool use_mapping : {true, false}) {
        using Catch::Contains;
        CHECK_THAT(error_of(folder / "absent", use_mapping), Contains("no such file"));
        CHECK_THAT(error_of(folder.path() / "absent folder" / "file", use_mapping),
                   Contains("no such file"));
        CHECK_THAT(error_of(folder / "empty", use_mapping), Contains("empty"));
        CHECK_THAT(error_of(folder.path(), use_mapping), Contains("folder"));
    }
}

TEST_CASE("MappedFile: reading a file can be cancelled between pieces", "[base][quick]") {
    const ScratchFolder folder;
    constexpr size_t kPiece = size_t{8} << 20;
    write_file(folder / "file", std::string(kPiece + 5, 'x'));
    auto file = MappedFile::open(folder / "file", false);
    REQUIRE(file.ok());
    std::vector<size_t> seen;
    const auto stopped = file.value()->load_all([&](size_t done) {
        seen.push_back(done);
        return done == 0;
    });
    REQUIRE_FALSE(stopped.ok());
    CHECK(stopped.error().code == hokku::ErrorCode::cancelled);
    CHECK(seen == std::vector<size_t>{0, kPiece});
    REQUIRE(file.value()->load_all().ok());
    CHECK(touch(file.value()->bytes().data() + kPiece + 4) == 'x');
}

TEST_CASE("MappedFile: reading a file that shrank is an error", "[base][quick]") {
    const ScratchFolder folder;
    write_file(folder / "file", std::string(1'000'000, 'x'));
    auto read = MappedFile::open(folder / "file", false);
    REQUIRE(read.ok());
    REQUIRE(read.value()->load(0, 24));
    std::filesystem::resize_file(folder / "file", 5000);
    CHECK_FALSE(read.value()->load(900'000, 900'001));
    const auto all = read.value()->load_all();
    REQUIRE_FALSE(all.ok());
    CHECK(all.error().code == ErrorCode::io);
}
