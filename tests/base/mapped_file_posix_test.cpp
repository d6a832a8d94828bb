// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/read_fault_guard.h"
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

TEST_CASE("MappedFile: only regular files are opened, without waiting", "[base][quick]") {
    const ScratchFolder folder;
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
        CHECK_THAT(error_of(folder / "pipe", use_mapping), Contains("named pipe"));
        CHECK_THAT(error_of(folder / "link", use_mapping), Contains("link points to a file"));
        CHECK_THAT(error_of(folder / "socket", use_mapping), Contains("socket"));
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
    std::filesystem::resize_file(folder / "shrinks", 5000);

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

TEST_CASE("MappedFile: what cannot be mapped is read", "[base][quick]") {
    const ScratchFolder folder;
    const std::string content(100'000, 'x');
    write_file(folder / "file", content);
    // As on a network mount that refuses mappings: no place is left to watch one for read faults.
    const std::vector<std::byte> memory(4096);
    std::vector<hokku::ReadFaultGuard> guards;
    while (auto guard = hokku::ReadFaultGuard::watch(memory)) guards.push_back(std::move(*guard));
    const auto opened = MappedFile::open(folder / "file");
    REQUIRE(opened.ok());
    CHECK_FALSE(opened.value()->is_mapped());
    REQUIRE(opened.value()->load_all().ok());
    const auto bytes = opened.value()->bytes();
    CHECK(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) == content);
    guards.clear();
    CHECK(MappedFile::open(folder / "file").value()->is_mapped());
}
