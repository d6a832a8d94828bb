// SPDX-License-Identifier: Apache-2.0
#include "hokku/chat_cache.h"
#include "hokku/library.h"
#include "support/catch.h"
#include "support/system.h"

using hokku::testing::set_environment;
using hokku::testing::unset_environment;

TEST_CASE("user folders: HOKKU_HOME, then LOCALAPPDATA, in any script", "[engine][quick]") {
    const std::filesystem::path folder(u8R"(C:\Users\Jörg 俳句\AppData\Local)");
    set_environment("LOCALAPPDATA", folder.string());
    CHECK(hokku::data_folder().value() == folder / "hokku");
    CHECK(hokku::cache_folder().value() == folder / "hokku" / "cache");
    set_environment("HOKKU_HOME", "D:/модели");
    CHECK(hokku::data_folder().value() == u8"D:/модели");
    CHECK(hokku::cache_folder().value() == u8"D:/модели/cache");
    unset_environment("HOKKU_HOME");
    unset_environment("LOCALAPPDATA");
    CHECK_FALSE(hokku::data_folder().ok());
    CHECK_FALSE(hokku::cache_folder().ok());
}
