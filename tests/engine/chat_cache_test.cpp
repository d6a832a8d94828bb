// SPDX-License-Identifier: Apache-2.0
#include "hokku/chat_cache.h"

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/scratch_folder.h"

namespace fs = std::filesystem;
using hokku::ChatCache;
using hokku::check_chat_name;
using hokku::ErrorCode;
using hokku::testing::ScratchFolder;

namespace {

/// A file of so many bytes, used so long ago.
fs::path add_file(const fs::path& path, size_t bytes, std::chrono::minutes ago) {
    std::ofstream(path) << std::string(bytes, 'x');
    fs::last_write_time(path, fs::file_time_type::clock::now() - ago);
    return path;
}

using std::chrono::minutes;

}  // namespace

TEST_CASE("ChatCache: names that are no file names are refused", "[engine][quick]") {
    for (const char* good : {"a", "Tax return 2026",
                             "gespr\xc3\xa4"
                             "ch",
                             "a.b", "console", "com", "x-_9"})
        CHECK(check_chat_name(good).ok());
    CHECK(check_chat_name(std::string(100, 'a')).ok());
    const std::vector<std::string> bad = {"",
                                          ".",
                                          "..",
                                          "../a",
                                          "a/b",
                                          "/etc/passwd",
                                          "a\\b",
                                          "..\\a",
                                          "C:",
                                          "a:b",
                                          "C:a",
                                          "*",
                                          "a?",
                                          "\\\\?\\a",
                                          "CON",
                                          "con.txt",
                                          "nul",
                                          "Aux",
                                          "COM1",
                                          "lpt9.x",
                                          "a.",
                                          "a ",
                                          " a",
                                          ".a",
                                          "a\nb",
                                          "a\x7f",
                                          "a\xff",
                                          std::string(101, 'a'),
                                          std::string(300, 'a'),
                                          std::string("a\0b", 3)};
    for (const std::string& name : bad) {
        INFO(name);
        const auto checked = check_chat_name(name);
        REQUIRE_FALSE(checked.ok());
        CHECK(checked.error().code == ErrorCode::bad_argument);
    }
}

TEST_CASE("ChatCache: the folder is made for its owner alone", "[engine][quick]") {
    const ScratchFolder scratch;
    const auto cache = ChatCache::open(scratch.path() / "a" / "b");
    REQUIRE(cache.ok());
#ifndef _WIN32  // There the owner's own folder protects what is in it.
    CHECK(fs::status(cache->folder()).permissions() == fs::perms::owner_all);
#endif
    CHECK(cache->path_of("my chat").value() == scratch.path() / "a" / "b" / "my chat.kv");
    CHECK_FALSE(cache->path_of("../x").ok());
    std::ofstream(scratch / "file") << "x";
    CHECK_FALSE(ChatCache::open(scratch.path() / "file").ok());
    CHECK_FALSE(ChatCache::open(scratch.path() / "file" / "sub").ok());
}

TEST_CASE("ChatCache: what was used longest ago goes first", "[engine][quick]") {
    const ScratchFolder folder;
    const auto old_file = add_file(folder / "old.kv", 400, minutes(50));
    const auto middle = add_file(folder / "middle.kv", 300, minutes(40));
    const auto young = add_file(folder / "young.kv", 200, minutes(30));
    const auto cache = ChatCache::open(folder.path(), 900);
    REQUIRE(cache.ok());
    CHECK(cache->trim() == 900);
    CHECK(fs::exists(old_file));
    cache->touch(old_file);
    add_file(folder / "new.kv", 250, minutes(0));
    CHECK(cache->trim() == 850);
    CHECK(fs::exists(old_file));
    CHECK_FALSE(fs::exists(middle));
    CHECK(fs::exists(young));
    CHECK(ChatCache::open(folder.path(), 1)->trim() == 0);
    cache->touch(folder / "none.kv");
    CHECK_FALSE(fs::exists(folder / "none.kv"));
}

TEST_CASE("ChatCache: only its own files are counted and removed", "[engine][quick]") {
    const ScratchFolder folder;
    add_file(folder / "letter.txt", 1000, minutes(500));
    add_file(folder / "model.gguf", 1000, minutes(500));
    fs::create_directory(folder / "sub.kv");
    add_file(folder / "elsewhere", 1000, minutes(500));
#ifndef _WIN32  // There links need a privilege.
    fs::create_symlink(folder / "elsewhere", folder / "link.kv");
#else
    fs::create_directory(folder / "link.kv");
#endif
    add_file(folder / "dead.kv.part", 1000, minutes(90));
    add_file(folder / "in work.kv.part", 1000, minutes(1));
    add_file(folder / "a.kv", 1000, minutes(1));
    CHECK(ChatCache::open(folder.path(), 0)->trim() == 0);
    for (const char* name :
         {"letter.txt", "model.gguf", "sub.kv", "elsewhere", "link.kv", "in work.kv.part"})
        CHECK(fs::exists(folder / name));
    CHECK_FALSE(fs::exists(folder / "a.kv"));
    CHECK_FALSE(fs::exists(folder / "dead.kv.part"));
}
