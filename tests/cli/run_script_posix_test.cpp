// SPDX-License-Identifier: Apache-2.0
// What ./run starts: in a folder of its own, where installing, building and fetching do nothing and
// the programs say their names and arguments.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "run_hokku.h"
#include "support/catch.h"
#include "support/golden.h"
#include "support/scratch_folder.h"

using hokku::testing::HokkuRun;
using hokku::testing::run_hokku;
using hokku::testing::ScratchFolder;
namespace fs = std::filesystem;

namespace {

struct Checkout {
    ScratchFolder folder;

    Checkout() {
        const fs::path source = hokku::testing::source_folder(), setup = folder / "installer/setup";
        for (const char* part : {"installer/setup", "resources/models", "build/release/bin"})
            fs::create_directories(folder / part);
        fs::copy_file(source / "run", folder / "run");
        fs::copy_file(source / "installer/setup/common.sh", setup / "common.sh");
        std::ofstream(setup / "packages.sh") << "ensure_packages() { :; }\n";
        std::ofstream(setup / "build.sh") << "build_preset() { :; }\n";
        write_program("resources/models/fetch", "");
        write_program("build/release/bin/hokku", "printf '[hokku]'; printf '[%s]' \"$@\"\n");
        write_program("build/release/bin/hokku-desktop", "printf '[desktop]'\n");
    }
    void write_program(const std::string& name, const std::string& body) const {
        std::ofstream(folder / name) << "#!/bin/sh\n" << body;
        fs::permissions(folder / name, fs::perms::owner_all);
    }
    /// With these words in front of it for env.
    [[nodiscard]] HokkuRun run(std::vector<std::string> settings,
                               const std::vector<std::string>& arguments = {}) const {
        settings.insert(settings.begin(), {"-u", "DISPLAY", "-u", "WAYLAND_DISPLAY"});
        settings.push_back((folder / "run").string());
        settings.insert(settings.end(), arguments.begin(), arguments.end());
        return run_hokku(settings, {.program = "/usr/bin/env"});
    }
};

constexpr const char* kNoDisplay = "There is no display for the desktop app";

}  // namespace

TEST_CASE("./run: without a display it says so and opens the chat in the terminal",
          "[cli][quick]") {
    const Checkout checkout;
    for (const std::vector<std::string>& settings :
         {std::vector<std::string>{}, {"DISPLAY=", "WAYLAND_DISPLAY="}}) {
        const HokkuRun run = checkout.run(settings);
        INFO(run.err);
        CHECK(run.status == 0);
        CHECK(run.out == "[hokku][chat][--first][Write a haiku about autumn rain.]");
        CHECK(run.err.find(kNoDisplay) != std::string::npos);
    }
}

TEST_CASE("./run: with a display of either kind it starts the app", "[cli][quick]") {
    const Checkout checkout;
    for (const char* display : {"DISPLAY=:0", "WAYLAND_DISPLAY=wayland-0"}) {
        const HokkuRun run = checkout.run({display});
        INFO(run.err);
        CHECK(run.status == 0);
        CHECK(run.out == "[desktop]");
        CHECK(run.err.empty());
    }
}

TEST_CASE("./run: arguments are those of the command line, display or not", "[cli][quick]") {
    const Checkout checkout;
    for (const char* display : {"DISPLAY=", "DISPLAY=:0"}) {
        const HokkuRun run = checkout.run({display}, {"run", "-p", "two words", ""});
        INFO(run.err);
        CHECK(run.out == "[hokku][run][-p][two words][]");
        CHECK(run.err.empty());
    }
}

TEST_CASE("./run: what the programs end with is what it ends with", "[cli][quick]") {
    const Checkout checkout;
    checkout.write_program("build/release/bin/hokku", "exit 7\n");
    CHECK(checkout.run({}).status == 7);
    checkout.write_program("resources/models/fetch", "echo no network >&2; exit 1\n");
    const HokkuRun run = checkout.run({});
    CHECK(run.status == 1);
    CHECK(run.err.find("no network") != std::string::npos);
}
