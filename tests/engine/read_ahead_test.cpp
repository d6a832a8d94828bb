// SPDX-License-Identifier: Apache-2.0
#include "engine/read_ahead.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/mapped_file.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

using namespace hokku;

namespace {

/// A file of zeros of this size, which takes no place on the disk.
std::unique_ptr<MappedFile> map_zeros(const std::filesystem::path& path, uint64_t bytes) {
    std::ofstream(path, std::ios::binary) << '\0';
    std::filesystem::resize_file(path, bytes);
    return MappedFile::open(path).value();
}

}  // namespace

TEST_CASE("ReadAhead: the share that is told rises to the end of its range", "[engine][quick]") {
    const testing::ScratchFolder folder;
    const auto file = map_zeros(folder / "zeros", (uint64_t{24} << 20) + 5);
    ReadAhead reading({file->bytes().first(13), file->bytes().subspan(20)});
    std::vector<double> shares;
    LoadControl control;
    control.progress = [&](double share) {
        shares.push_back(share);
        return true;
    };
    REQUIRE(reading.finish(control, 0.25, 0.75).ok());
    REQUIRE_FALSE(shares.empty());
    CHECK(shares.front() >= 0.25);
    CHECK(std::is_sorted(shares.begin(), shares.end()));
    CHECK(shares.back() == 0.75);
    CHECK(reading.finish(control, 0, 1).ok());  // at once
}

TEST_CASE("ReadAhead: it ends when it is not wanted any more, and with nothing to read",
          "[engine][quick]") {
    const testing::ScratchFolder folder;
    const auto file = map_zeros(folder / "zeros", uint64_t{64} << 20);
    { ReadAhead unread({file->bytes()}); }
    ReadAhead cancelled({file->bytes()});
    LoadControl control;
    control.progress = [](double) { return false; };
    const auto result = cancelled.finish(control, 0, 1);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code == ErrorCode::cancelled);
    ReadAhead empty({});
    CHECK(empty.finish({}, 0, 1).ok());
    CHECK_FALSE(file->has_read_fault());
}

TEST_CASE("ReadAhead: what is left unread comes, and whoever waits for it gets it",
          "[engine][quick]") {
    const testing::ScratchFolder folder;
    const auto file = map_zeros(folder / "zeros", uint64_t{24} << 20);
    ReadAhead reading({file->bytes()});
    std::vector<double> shares;
    LoadControl control;
    control.progress = [&](double share) {
        shares.push_back(share);
        return true;
    };
    REQUIRE(reading.finish(control, 0.25, 0.75, uint64_t{20} << 20).ok());
    CHECK(shares.back() == 0.75);
    REQUIRE(reading.finish(control, 0, 1, uint64_t{99} << 20).ok());  // more than there is
    CHECK(shares.back() == 1);
    std::thread other([&] { reading.wait_for(uint64_t{24} << 20); });
    reading.wait_for(UINT64_MAX);
    other.join();
    shares.clear();
    REQUIRE(reading.finish(control, 0, 1).ok());
    CHECK(shares == std::vector<double>{1});
}
