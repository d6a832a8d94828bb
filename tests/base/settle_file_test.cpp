// SPDX-License-Identifier: Apache-2.0
#include "hokku/settle_file.h"

#include <fstream>
#include <iterator>
#include <string>

#include "base/page_hints.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

using namespace hokku;

namespace {

constexpr size_t kFileBytes = (size_t{20} << 20) + 4321;

std::string content() {
    std::string bytes(kFileBytes, '\0');
    for (size_t i = 0; i < kFileBytes; ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
    return bytes;
}

std::string read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("settle_written_file: the file holds what was written, whether or not it goes on",
          "[base][quick]") {
    const testing::ScratchFolder folder;
    std::ofstream(folder / "model", std::ios::binary) << content();
    int num_asked = 0;
    settle_written_file(folder / "model", [&] {
        ++num_asked;
        return false;
    });
    CHECK(num_asked == 1);
    CHECK((read(folder / "model") == content()));
    settle_written_file(folder / "model", [] { return true; });
    CHECK((read(folder / "model") == content()));
    CHECK(std::filesystem::file_size(folder / "model") == kFileBytes);
}

TEST_CASE("settle_written_file: a file that is not there, empty or a folder is no matter",
          "[base][quick]") {
    const testing::ScratchFolder folder;
    std::ofstream(folder / "empty", std::ios::binary).flush();
    bool is_asked = false;
    for (const auto& path : {folder / "absent", folder / "empty", folder.path()})
        settle_written_file(path, [&] { return is_asked = true; });
    CHECK_FALSE(is_asked);
    CHECK_FALSE(std::filesystem::exists(folder / "absent"));
    CHECK(std::filesystem::file_size(folder / "empty") == 0);
}
