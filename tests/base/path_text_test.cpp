// SPDX-License-Identifier: Apache-2.0
#include "base/path_text.h"

#include "base/environment.h"
#include "support/catch.h"
#include "support/gguf_writer.h"
#include "support/system.h"

using hokku::environment_path;
using hokku::path_from_utf8;
using hokku::path_utf8;
using hokku::testing::ScratchFolder;
using hokku::testing::write_file;

TEST_CASE("path_from_utf8: text in any script names the file that has it", "[base][quick]") {
    const ScratchFolder folder;
    for (const std::string name :
         {"plain", "Käse für Größe", "俳句", "модель", "😀 emoji", "a.b.c"}) {
        INFO(name);
        write_file(folder / name, "x");
        const std::filesystem::path path = path_from_utf8(path_utf8(folder.path()) + "/" + name);
        CHECK(std::filesystem::file_size(path) == 1);
        CHECK(path_utf8(path.filename()) == name);
        CHECK(hokku::file_name_text(path) == name);
    }
}

TEST_CASE("path_text: what cannot be shown is escaped, and nothing throws", "[base][quick]") {
    CHECK(hokku::path_text(path_from_utf8("a\x1b[31m")).find('\x1b') == std::string::npos);
    // Not valid UTF-8.
    CHECK_FALSE(hokku::path_text(path_from_utf8("a\xff"
                                                "b"))
                    .empty());
    CHECK(hokku::file_name_text(path_from_utf8("folder/")) == "folder/");
}

TEST_CASE("environment_path: any script; absent and empty are the same", "[base][quick]") {
    constexpr const char* kName = "HOKKU_TEST_PATH";
    CHECK_FALSE(environment_path(kName));
    for (const std::string value : {"/tmp/x y", "Käse", "俳句/модель", "😀"}) {
        hokku::testing::set_environment(kName, value);
        REQUIRE(environment_path(kName));
        CHECK(path_utf8(*environment_path(kName)) == value);
    }
    hokku::testing::set_environment(kName, "");
    CHECK_FALSE(environment_path(kName));
    hokku::testing::unset_environment(kName);
    CHECK_FALSE(environment_path(kName));
}
