// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <windows.h>

#include <string>

#include "support/catch.h"
#include "support/gguf_writer.h"

using hokku::ErrorCode;
using hokku::MappedFile;
using hokku::testing::ScratchFolder;
using hokku::testing::write_file;

namespace {

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

TEST_CASE("MappedFile: devices and pipes are not opened", "[base][quick]") {
    for (const bool use_mapping : {true, false}) {
        for (const char* name :
             {R"(\\.\NUL)", R"(\\.\pipe\hokku-test)", R"(\\.\COM1)", "NUL", "//./pipe/hokku-test",
              R"(\\?\pipe\hokku-test)", R"(\\host\pipe\hokku-test)", R"(\\?\UNC\host\pipe\x)"})
            CHECK_THAT(error_of(name, use_mapping), Catch::Contains("device"));
    }
}

TEST_CASE("MappedFile: the system refuses to shorten a mapped file", "[base][quick]") {
    const ScratchFolder folder;
    write_file(folder / "file", std::string(100'000, 'x'));
    auto file = MappedFile::open(folder / "file");
    REQUIRE(file.ok());
    std::error_code error;
    std::filesystem::resize_file(folder / "file", 5000, error);
    CHECK(error);
    CHECK(touch(file.value()->bytes().data() + 99'999) == 'x');
    CHECK_FALSE(file.value()->has_read_fault());
}

TEST_CASE("MappedFile: a mapping whose medium fails reads as zeros and says so", "[base][quick]") {
    const ScratchFolder folder;
    constexpr size_t kSize = size_t{256} << 10;
    write_file(folder / "fails", std::string(kSize, 'x'));
    write_file(folder / "stays", std::string(kSize, 'y'));
    auto fails = MappedFile::open(folder / "fails");
    auto stays = MappedFile::open(folder / "stays");
    REQUIRE(fails.ok());
    REQUIRE(stays.ok());
    const std::byte* bytes = fails.value()->bytes().data();
    CHECK(touch(bytes) == 'x');

    // What the system raises when it cannot read a page: here by hand, as no medium fails.
    const ULONG_PTR parameters[] = {0, reinterpret_cast<ULONG_PTR>(bytes + 9000), 0xC0000185};
    RaiseException(EXCEPTION_IN_PAGE_ERROR, 0, 3, parameters);
    CHECK(fails.value()->has_read_fault());
    for (size_t i = 0; i < kSize; i += 1000) REQUIRE(touch(bytes + i) == 0);
    CHECK(touch(bytes + kSize - 1) == 0);
    CHECK_FALSE(stays.value()->has_read_fault());
    CHECK(touch(stays.value()->bytes().data() + kSize - 1) == 'y');
}
