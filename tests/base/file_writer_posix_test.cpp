// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/resource.h>

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "base/file_writer.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

using hokku::FileWriter;
using hokku::testing::ScratchFolder;
namespace fs = std::filesystem;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

std::string content_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

size_t num_files(const ScratchFolder& folder) {
    size_t count = 0;
    for (const auto& entry : fs::directory_iterator(folder.path()))
        if (!entry.path().empty()) ++count;
    return count;
}

}  // namespace

TEST_CASE("FileWriter: a file is its owner's alone, and links are not followed", "[base][quick]") {
    const ScratchFolder folder;
    auto writer = FileWriter::create(folder / "file");
    REQUIRE(writer.ok());
    REQUIRE(writer->commit().ok());
    constexpr fs::perms kOthers = fs::perms::group_all | fs::perms::others_all;
    CHECK((fs::status(folder / "file").permissions() & kOthers) == fs::perms::none);

    fs::create_symlink(folder / "elsewhere", folder / "link.part");
    CHECK_FALSE(FileWriter::create(folder / "link").ok());
    CHECK_FALSE(fs::exists(folder / "elsewhere"));
}

TEST_CASE("FileWriter: a disk that is full is an error and leaves the old file", "[base][quick]") {
    const ScratchFolder folder;
    const fs::path path = folder / "file";
    std::ofstream(path) << "old";
    struct rlimit before = {};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const auto handler = signal(SIGXFSZ, SIG_IGN);
    struct rlimit small = before;
    small.rlim_cur = 1000;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    std::string where;
    {
        auto writer = FileWriter::create(path);
        if (writer.ok()) {
            const auto written = writer->append(bytes_of(std::string(2000, 'x')));
            if (!written.ok()) where = written.error().message();
        }
    }
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    CHECK(where.find("file") != std::string::npos);
    CHECK(content_of(path) == "old");
    CHECK(num_files(folder) == 1);
}
