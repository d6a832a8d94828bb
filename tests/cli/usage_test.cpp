// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "run_hokku.h"
#include "support/catch.h"
#include "support/gguf_writer.h"

using hokku::testing::HokkuRun;
using hokku::testing::run_hokku;
using hokku::testing::ScratchFolder;

TEST_CASE("hokku: wrong usage exits with 2 and keeps stdout empty", "[cli][quick]") {
    const std::vector<std::vector<std::string>> wrong = {
        {}, {"no-such-command"}, {"inspect", "--bogus"}, {"devices", "extra"}, {"--bogus"}};
    for (const std::vector<std::string>& arguments : wrong) {
        const HokkuRun run = run_hokku(arguments);
        INFO(run.err);
        CHECK(run.status == 2);
        CHECK(run.out.empty());
        CHECK(!run.err.empty());
    }
}

TEST_CASE("hokku run: option values that no model allows are wrong usage", "[cli][quick]") {
    const std::vector<std::vector<std::string>> wrong = {{"--seed", "-1"},
                                                         {"--seed", "18446744073709551616"},
                                                         {"--seed", "1.5"},
                                                         {"--temp", "nan"},
                                                         {"--top-p", "nan"},
                                                         {"--min-p", "nan"},
                                                         {"--repeat-penalty", "nan"},
                                                         {"--repeat-penalty", "0"},
                                                         {"--top-k", "-1"},
                                                         {"--logit-bias", "-1=1"}};
    for (const std::vector<std::string>& option : wrong) {
        CAPTURE(option);
        std::vector<std::string> arguments = {"run", "-p", "hi"};
        arguments.insert(arguments.end(), option.begin(), option.end());
        const HokkuRun run = run_hokku(arguments);
        CHECK(run.status == 2);
        CHECK(run.out.empty());
        CHECK(run.err.find(option[1]) != std::string::npos);
    }
}

TEST_CASE("hokku: every command has help on stdout and exits with 0", "[cli][quick]") {
    const HokkuRun all = run_hokku({"--help"});
    CHECK(all.status == 0);
    CHECK(all.err.empty());
    for (const std::string command : {"chat", "run", "tokenize", "detokenize", "render", "logits",
                                      "inspect", "bench", "perplexity", "devices"}) {
        INFO(command);
        CHECK(all.out.find("  " + command) != std::string::npos);
        const HokkuRun one = run_hokku({command, "--help"});
        CHECK(one.status == 0);
        CHECK(one.out.find("Usage: hokku " + command) != std::string::npos);
        CHECK(one.err.empty());
    }
}

TEST_CASE("hokku: --version names the version", "[cli][quick]") {
    const HokkuRun run = run_hokku({"--version"});
    CHECK(run.status == 0);
    CHECK(run.out.starts_with("hokku 0."));
}

TEST_CASE("hokku: a missing model exits with 1 and is named on stderr", "[cli][quick]") {
    const HokkuRun run = run_hokku({"inspect", "/nowhere/at-all.gguf"});
    CHECK(run.status == 1);
    CHECK(run.out.empty());
    CHECK(run.err.find("/nowhere/at-all.gguf") != std::string::npos);
}

TEST_CASE("hokku: without the starter model, the message says how to get it", "[cli][quick]") {
    const ScratchFolder folder;
    const HokkuRun run = run_hokku({"inspect"}, {.home = folder.path().string()});
    CHECK(run.status == 1);
    CHECK(run.err.find("fetch --library smollm2") != std::string::npos);
    CHECK(run.err.find(folder.path().string()) != std::string::npos);
}

TEST_CASE("hokku: a closed stdout is no crash", "[cli][quick]") {
    const HokkuRun run = run_hokku({"devices"}, {.closed_stdout = true});
    CHECK(run.status == 1);
    CHECK(run.err.empty());
}

TEST_CASE("hokku devices: the JSON has the CPU with its cores and kernels", "[cli][quick]") {
    const HokkuRun run = run_hokku({"devices", "--json"});
    REQUIRE(run.status == 0);
    const auto devices = nlohmann::json::parse(run.out);
    REQUIRE(!devices.empty());
    CHECK(devices[0]["id"] == "cpu");
    CHECK(devices[0]["physical_cores"] >= 1);
    CHECK(!devices[0]["kernels"].empty());
    CHECK(run_hokku({"devices"}).out.find("cpu") == 0);
}
