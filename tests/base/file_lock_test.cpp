// SPDX-License-Identifier: Apache-2.0
#include "hokku/file_lock.h"

#include <filesystem>
#include <optional>

#include "support/catch.h"
#include "support/scratch_folder.h"

using namespace hokku;
using hokku::testing::ScratchFolder;
namespace fs = std::filesystem;

TEST_CASE("FileLock: one at a time, and gone with its holder", "[base][quick]") {
    const ScratchFolder folder;
    const fs::path path = folder / "a.lock";
    {
        const auto first = FileLock::take(path);
        REQUIRE(first.ok());
        REQUIRE(first->has_value());
        CHECK(fs::exists(path));
        const auto second = FileLock::take(path);
        REQUIRE(second.ok());
        CHECK_FALSE(second->has_value());
    }
    CHECK_FALSE(fs::exists(path));
    const auto again = FileLock::take(path);
    REQUIRE(again.ok());
    CHECK(again->has_value());
}

TEST_CASE("FileLock: where there can be none it says why", "[base][quick]") {
    const ScratchFolder folder;
    fs::create_directories(folder / "folder.lock");
    for (const fs::path& path : {folder / "folder.lock", folder / "absent" / "a.lock"}) {
        const auto taken = FileLock::take(path);
        REQUIRE_FALSE(taken.ok());
        CHECK(taken.error().code == ErrorCode::io);
        CHECK(taken.error().what.find("the lock cannot be taken: ") == 0);
        CHECK(taken.error().where.find(".lock") != std::string::npos);
    }
}
