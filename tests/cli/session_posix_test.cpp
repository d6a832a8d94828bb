// SPDX-License-Identifier: Apache-2.0
// Kept chats where other processes and the system come in: locks, pipes, signals.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run_hokku.h"
#include "support/catch.h"
#include "support/scratch_folder.h"
#include "support/tiny_model.h"

using namespace hokku::testing;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct Home {
    Home() {
        make_tiny_llama().write(folder / "tiny.gguf");
        fs::create_directories(chats);
    }
    [[nodiscard]] std::vector<std::string> arguments() const {
        return {"chat", "-m", (folder / "tiny.gguf").string(), "--session", "c"};
    }
    [[nodiscard]] HokkuRun chat(const std::string& lines) const {
        return run_hokku(arguments(), {.text = lines, .home = folder.path().string()});
    }
    ScratchFolder folder;
    fs::path chats = folder.path() / "chats";
};

json read_json(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return json::parse(text, nullptr, false);
}

}  // namespace

TEST_CASE("hokku chat --session: one process at a time", "[cli][quick]") {
    const Home home;
    REQUIRE(home.chat("one\n").status == 0);
    const fs::path lock = home.chats / "c.lock";
    CHECK_FALSE(fs::exists(lock));
    const int file = open(lock.c_str(), O_RDWR | O_CREAT, 0600);
    REQUIRE(file >= 0);
    REQUIRE(flock(file, LOCK_EX) == 0);
    const HokkuRun second = home.chat("two\n");
    CHECK(second.status == 1);
    CHECK(second.out.empty());
    CHECK(second.err.find("another program has the chat \"c\" open") != std::string::npos);
    CHECK(read_json(home.chats / "c.json")["messages"].size() == 2);
    close(file);
    // The file alone, which a process left that was ended, locks nobody out.
    CHECK(home.chat("two\n").status == 0);
    CHECK_FALSE(fs::exists(lock));
    CHECK(read_json(home.chats / "c.json")["messages"].size() == 4);
}

TEST_CASE("hokku chat --session: a lock that cannot be taken is said", "[cli][quick]") {
    const Home home;
    fs::create_directories(home.chats / "c.lock");
    const HokkuRun run = home.chat("one\n");
    INFO(run.err);
    CHECK(run.status == 0);
    CHECK_FALSE(run.out.empty());
    CHECK(run.err.find("the lock cannot be taken") != std::string::npos);
    CHECK(run.err.find((home.chats / "c.lock").string()) != std::string::npos);
    CHECK(fs::is_directory(home.chats / "c.lock"));
}

TEST_CASE("hokku chat --session: a folder that cannot be entered is no new chat", "[cli][quick]") {
    const Home home;
    REQUIRE(home.chat("one\n").status == 0);
    // Even root is kept out where it has laid that right down.
    const fs::path script = home.folder / "without_rights.sh";
    std::ofstream(script) << "#!/bin/sh\n"
                          << "drop=; [ $(id -u) != 0 ] || drop='setpriv --bounding-set "
                             "-dac_override,-dac_read_search'\n"
                          << "exec $drop \"" << hokku_program().string() << "\" \"$@\"\n";
    fs::permissions(script, fs::perms::owner_all);
    const auto chat = [&](fs::perms rights) {
        fs::permissions(home.chats, rights);
        HokkuRun run =
            run_hokku(home.arguments(),
                      {.text = "two\n", .home = home.folder.path().string(), .program = script});
        fs::permissions(home.chats, fs::perms::owner_all);
        return run;
    };
    const HokkuRun locked_out = chat(fs::perms::none);
    INFO(locked_out.err);
    CHECK(locked_out.status == 1);
    CHECK(locked_out.out.empty());
    CHECK(locked_out.err.find("cannot be entered") != std::string::npos);
    CHECK(locked_out.err.find(home.chats.string()) != std::string::npos);
    const HokkuRun read_only = chat(fs::perms::owner_read | fs::perms::owner_exec);
    CHECK(read_only.status == 1);
    CHECK(read_only.err.find("the lock cannot be taken") != std::string::npos);
    CHECK(read_only.err.find("the conversation is not saved") != std::string::npos);
    CHECK(read_json(home.chats / "c.json")["messages"].size() == 2);
}

TEST_CASE("hokku chat --session: a pipe by the name of the chat is refused", "[cli][quick]") {
    const Home home;
    REQUIRE(mkfifo((home.chats / "c.json").c_str(), 0600) == 0);
    const HokkuRun run = home.chat("one\n");
    CHECK(run.status == 1);
    CHECK(run.err.find("not a regular file") != std::string::npos);
    CHECK(fs::is_fifo(home.chats / "c.json"));
}

TEST_CASE("hokku chat --session: a message is on the disk before it is answered", "[cli][quick]") {
    const Home home;
    const fs::path script = home.folder / "until_saved.sh";
    std::ofstream(script)
        << "#!/bin/sh\n\"" << hokku_program().string()
        << "\" \"$@\" --first kept -c 256 --logit-bias 260=-inf &\n"
        << "n=0; while [ ! -s \"$HOKKU_HOME/chats/c.json\" ] && [ $n -lt 600 ]; do\n"
        << "sleep 0.05; n=$((n + 1)); done\n"
        << "kill -KILL $!; wait $!; exit 0\n";
    fs::permissions(script, fs::perms::owner_all);
    const HokkuRun run =
        run_hokku(home.arguments(), {.home = home.folder.path().string(), .program = script});
    INFO(run.err);
    REQUIRE(run.status == 0);
    const json saved = read_json(home.chats / "c.json");
    REQUIRE(saved["messages"].size() >= 1);
    CHECK(saved["messages"][0] == json{{"role", "user"}, {"content", "kept"}});
}
