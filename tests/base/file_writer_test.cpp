// SPDX-License-Identifier: Apache-2.0
#include "base/file_writer.h"

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "support/catch.h"
#include "support/scratch_folder.h"

using hokku::ErrorCode;
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

TEST_CASE("FileWriter: the name shows the old content until all of the new one is written",
          "[base][quick]") {
    const ScratchFolder folder;
    const fs::path path = folder / "file";
    std::ofstream(path) << "old";
    {
        auto writer = FileWriter::create(path);
        REQUIRE(writer.ok());
        REQUIRE(writer->append(bytes_of("????new")).ok());
        REQUIRE(writer->append(bytes_of(" text")).ok());
        REQUIRE(writer->write_at(0, bytes_of("the ")).ok());
        CHECK(writer->size_bytes() == 12);
        CHECK(content_of(path) == "old");
        CHECK(num_files(folder) == 2);
        REQUIRE(writer->commit().ok());
        CHECK(content_of(path) == "the new text");
    }
    CHECK(content_of(path) == "the new text");
    CHECK(num_files(folder) == 1);
}

TEST_CASE("FileWriter: what is not committed leaves nothing behind", "[base][quick]") {
    const ScratchFolder folder;
    {
        auto writer = FileWriter::create(folder / "file");
        REQUIRE(writer.ok());
        REQUIRE(writer->append(bytes_of("half")).ok());
        FileWriter moved = std::move(writer).value();
        REQUIRE(moved.append(bytes_of(" of it")).ok());
    }
    CHECK(num_files(folder) == 0);
}

TEST_CASE("FileWriter: leftovers of a crash are written over, a second writer is refused",
          "[base][quick]") {
    const ScratchFolder folder;
    std::ofstream(folder / "file.part") << "left by a process that was killed";
    auto writer = FileWriter::create(folder / "file");
    REQUIRE(writer.ok());
    const auto second = FileWriter::create(folder / "file");
    REQUIRE_FALSE(second.ok());
    CHECK(second.error().code == ErrorCode::io);
    CHECK(second.error().what.find("another process") != std::string::npos);
    REQUIRE(writer->append(bytes_of("new")).ok());
    REQUIRE(writer->commit().ok());
    CHECK(content_of(folder / "file") == "new");
}

TEST_CASE("FileWriter: a missing folder and a folder in its place are errors", "[base][quick]") {
    const ScratchFolder folder;
    const auto missing = FileWriter::create(folder.path() / "no" / "file");
    REQUIRE_FALSE(missing.ok());
    CHECK(missing.error().where.find("file.part") != std::string::npos);
    fs::create_directory(folder / "taken");
    auto writer = FileWriter::create(folder / "taken");
    REQUIRE(writer.ok());
    CHECK_FALSE(writer->commit().ok());
}
