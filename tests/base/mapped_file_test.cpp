// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>
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

TEST_CASE("MappedFile: only regular files with content are opened, without waiting",
          "[base][quick]") {
    const ScratchFolder folder;
    write_file(folder / "empty", "");
    REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
    std::filesystem::create_symlink("gone", folder / "link");
    const int socket_file = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::string socket_path = (folder / "socket").string();
    REQUIRE(socket_path.size() < sizeof(address.sun_path));
    std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
    REQUIRE(bind(socket_file, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);

    for (const bool use_mapping : {true, false}) {
        using Catch::Contains;
        CHECK_THAT(error_of(folder / "absent", use_mapping), Contains("no such file"));
        CHECK_THAT(error_of(folder / "empty", use_mapping), Contains("empty"));
        CHECK_THAT(error_of(folder / "pipe", use_mapping), Contains("named pipe"));
        CHECK_THAT(error_of(folder / "link", use_mapping), Contains("link points to a file"));
        CHECK_THAT(error_of(folder / "socket", use_mapping), Contains("socket"));
        CHECK_THAT(error_of(folder.path(), use_mapping), Contains("folder"));
        CHECK_THAT(error_of("/dev/zero", use_mapping), Contains("device"));
        CHECK_THAT(error_of("/dev/null", use_mapping), Contains("device"));
    }
    close(socket_file);
}

TEST_CASE("MappedFile: a mapped file that shrinks reads as zeros and says so", "[base][quick]") {
    const ScratchFolder folder;
    constexpr size_t kSize = size_t{256} << 10;
    write_file(folder / "shrinks", std::string(kSize, 'x'));
    write_file(folder / "stays", std::string(kSize, 'y'));
    auto shrinks = MappedFile::open(folder / "shrinks");
    auto stays = MappedFile::open(folder / "stays");
    REQUIRE(shrinks.ok());
    REQUIRE(stays.ok());
    const std::byte* bytes = shrinks.value()->bytes().data();
    CHECK(touch(bytes) == 'x');
    REQUIRE(truncate((folder / "shrinks").c_str(), 5000) == 0);

    CHECK(touch(bytes + 4999) == 'x');
    CHECK_FALSE(shrinks.value()->has_read_fault());
    CHECK(touch(bytes + kSize - 1) == 0);
    CHECK(shrinks.value()->has_read_fault());
    CHECK(touch(bytes + kSize - 2) == 0);  // the same page again: no new fault
    CHECK(shrinks.value()->has_read_fault());

    int sum = -1;
    std::thread other([&] {
        sum = 0;
        for (size_t i = 8192; i < kSize; i += 512) sum += touch(bytes + i);
    });
    other.join();
    CHECK(sum == 0);
    CHECK(shrinks.value()->has_read_fault());
    CHECK_FALSE(stays.value()->has_read_fault());
    CHECK(touch(stays.value()->bytes().data() + kSize - 1) == 'y');
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
    REQUIRE(truncate((folder / "file").c_str(), 5000) == 0);
    CHECK_FALSE(read.value()->load(900'000, 900'001));
    const auto all = read.value()->load_all();
    REQUIRE_FALSE(all.ok());
    CHECK(all.error().code == ErrorCode::io);
}
