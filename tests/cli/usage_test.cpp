// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "run_hokku.h"
#include "support/catch.h"
#include "support/gguf_writer.h"
#include "support/golden.h"
#include "support/tiny_model.h"

using hokku::testing::HokkuRun;
using hokku::testing::run_hokku;
using hokku::testing::ScratchFolder;
using hokku::testing::source_folder;

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
                                                         {"--typical", "1.1"},
                                                         {"--top-n-sigma", "-1"},
                                                         {"--xtc-threshold", "nan"},
                                                         {"--dry-base", "0.5"},
                                                         {"--mirostat", "3"},
                                                         {"--sampler-mode", "ollama"},
                                                         {"--samplers", "nonsense"},
                                                         {"--logit-bias", "-1=1"},
                                                         {"-n", "-1"},
                                                         {"-n", "4294967296"},
                                                         {"-c", "1099511627776"},
                                                         {"-c", "-1"},
                                                         {"-t", "1.5"},
                                                         {"--top-k", "1.5"},
                                                         {"--penalty-last-n", "-2"},
                                                         {"--stop", ""},
                                                         {"--sampler-order", "top_k,top_k"}};
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

TEST_CASE("hokku run: devices that contradict themselves are wrong usage", "[cli][quick]") {
    const ScratchFolder folder;
    hokku::testing::make_tiny_llama().write(folder / "tiny.gguf");
    const std::vector<std::vector<std::string>> wrong = {{"--device", "cuda:1,1"},
                                                         {"--device", "cuda:0,1", "--tp", "2"},
                                                         {"--device", "cuda", "--gpu-layers", "0"}};
    for (const std::vector<std::string>& option : wrong) {
        CAPTURE(option);
        std::vector<std::string> arguments = {"run", "-p", "hi", "-m",
                                              (folder / "tiny.gguf").string()};
        arguments.insert(arguments.end(), option.begin(), option.end());
        const HokkuRun run = run_hokku(arguments);
        CHECK(run.status == 2);
        CHECK(run.out.empty());
        CHECK(run.err.find("expected") != std::string::npos);
    }
}

TEST_CASE("hokku: every command has help on stdout and exits with 0", "[cli][quick]") {
    const HokkuRun all = run_hokku({"--help"});
    CHECK(all.status == 0);
    CHECK(all.err.empty());
    for (const std::string command : {"chat", "run", "tokenize", "detokenize", "render", "logits",
                                      "sample", "inspect", "bench", "perplexity", "devices"}) {
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

TEST_CASE("hokku: a missing model that can be fetched is told how", "[cli][quick]") {
    std::ifstream file(source_folder() / "resources" / "models" / "manifest.json");
    const auto manifest = nlohmann::json::parse(file);
    REQUIRE(manifest["models"].size() >= 3);
    const ScratchFolder folder;
    for (const auto& [name, model] : manifest["models"].items()) {
        const HokkuRun run = run_hokku({"inspect", name}, {.home = folder.path().string()});
        CAPTURE(name);
        CHECK(run.status == 1);
        CHECK(run.err.find("resources/models/fetch --library " + name) != std::string::npos);
    }
    const HokkuRun other = run_hokku({"inspect", "other"}, {.home = folder.path().string()});
    CHECK(other.err.find("fetch") == std::string::npos);
}

TEST_CASE("hokku: the manual page names every command and every long option", "[cli][quick]") {
    std::ifstream file(source_folder() / "docs" / "man" / "hokku.1");
    std::ostringstream content;
    content << file.rdbuf();
    const std::string page = std::regex_replace(content.str(), std::regex(R"(\\-)"), "-");
    const auto each_match = [](const std::string& text, const std::string& pattern) {
        const std::regex regex(pattern);
        std::vector<std::string> found;
        for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at)
            found.push_back((*at)[1]);
        return found;
    };
    const std::string help = run_hokku({"--help"}).out;
    const std::vector<std::string> commands =
        each_match(help.substr(help.find("Subcommands:")), "\n  ([a-z]+) ");
    CHECK(commands.size() >= 11);
    for (const std::string& command : commands) {
        CAPTURE(command);
        CHECK(page.find("\n.B " + command + "\n") != std::string::npos);
        // The first column: what other options say about an option does not count.
        const std::string columns = run_hokku({command, "--help"}).out;
        for (const std::string& names :
             each_match(columns, "\n  (?:-[a-z],)?(--[a-z][a-z0-9,-]*)")) {
            for (const std::string& name : each_match(names, "(--[a-z0-9-]+)")) {
                CAPTURE(name);
                CHECK(std::regex_search(page, std::regex(name + "(?![a-z0-9-])")));
            }
        }
    }
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

TEST_CASE("hokku: each message about wrong usage starts with the program", "[cli][quick]") {
    const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
        {{}, "a command is missing"},
        {{"no-such-command"}, "no such command: no-such-command"},
        {{"--bogus"}, "no such option: --bogus"},
        {{"run", "--bogus"}, "hokku run --help"},
        {{"run", "-p", "a", "-p", "b"}, "-p is given 2 times"},
        {{"run", "-p", "a", "--tokens", "1"}, "give one of -p, -f and --tokens"},
        {{"run", "-p", "a", "-n", "x"}, "-n: \"x\" is not a whole number"},
        {{"run", "-p", "a", "--draft-max", "3"}, "--draft-max is for --draft-model"},
        {{"run", "-p", "a", "--draft-model", "m", "--draft-max", "8"}, "--draft-max: \"8\""},
        {{"run", "-p", "a", "--grammar=", "--raw"}, "--grammar: the value is empty"},
        {{"chat", "--session=", "--exact"}, "--session: the value is empty"},
        {{"perplexity"}, "--file is required"}};
    for (const auto& [arguments, words] : wrong) {
        const HokkuRun run = run_hokku(arguments);
        INFO(run.err);
        CHECK(run.status == 2);
        CHECK(run.err.starts_with("hokku: "));
        CHECK(run.err.find(words) != std::string::npos);
    }
}

TEST_CASE("hokku: lists of token ids have an id in every place", "[cli][quick]") {
    for (const std::string list : {"", "1,,2", ",1", "1,", ",", "[]", "[1,2", "1;2", "1.5", "-1"}) {
        for (const std::string command : {"run", "logits"}) {
            CAPTURE(list, command);
            const HokkuRun run = run_hokku({command, "--tokens", list, "-m", "/nowhere/at-all"});
            CHECK(run.status == 2);
            CHECK(run.out.empty());
            CHECK(run.err.find("token id") != std::string::npos);
        }
    }
    // These are lists: it is the model that is missing.
    for (const std::string list : {"1", "1,2,3", "1 , 2", "[1, 2]", " 1 2\n3\n"}) {
        CAPTURE(list);
        const HokkuRun run = run_hokku({"run", "--tokens", list, "-m", "/nowhere/at-all"});
        CHECK(run.status == 1);
        CHECK(run.err.find("/nowhere/at-all") != std::string::npos);
    }
}

TEST_CASE("hokku: an empty value is not the same as none", "[cli][quick]") {
    for (const std::string option :
         {"--grammar", "--json-schema", "--regex", "--require", "--tools", "--prompt-cache", "-m",
          "--samplers", "--dry-breaker", "--logit-bias", "--stop", "--file"}) {
        CAPTURE(option);
        const HokkuRun run = run_hokku({"run", "-p", "x", option, ""});
        CHECK(run.status == 2);
        CHECK(run.out.empty());
        CHECK(run.err.find("is empty") != std::string::npos);
    }
    CHECK(run_hokku({"chat", "--session", ""}).status == 2);
    CHECK(run_hokku({"render", "--template", ""}).status == 2);
    CHECK(run_hokku({"perplexity", "-f", ""}).status == 2);
}

TEST_CASE("hokku: options that would say nothing, and messages in plain words", "[cli][quick]") {
    const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
        {{"run", "-p", "x", "--require-any-case"}, "--require-any-case is for --require"},
        {{"chat", "--require-any-case"}, "--require-any-case is for --require"},
        {{"chat", "--session-cache", "5"}, "--session-cache is for --session"},
        {{"run", "-p", "x", "--overflow", "drop_oldest"}, "are for chat"},
        {{"run", "-p", "x", "--overflow", "summarise"}, "are for chat"},
        {{"run", "-p", "x", "-n", "8", "-n", "2"}, "-n is given 2 times"},
        {{"run", "-p", "x", "surplus"}, "no such option or argument: surplus"},
        {{"run", "-p", "x", "--gpu", "0"}, "no such option or argument: --gpu 0"},
        {{"run", "-p", "x", "--device", "0"}, "\"0\" is none of auto, cpu, cuda"},
        {{"run", "-p", "x", "--kv-type", "q4_1"}, "\"q4_1\" is none of f32, f16, q8_0, q4_0"},
        {{"run", "-p", "x", "--overflow", "forget"}, "is none of stop, drop_oldest"},
        {{"run", "-p", "x", "--repeat-penalty", "0"}, "from 0.001 to 1000000"},
        {{"run", "-p", "x", "--dry-breaker", std::string(41, 'x')}, "--dry-breaker"},
        {{"run", "-p", "x", "--sampler-mode", "llama.cpp", "--seed", "4294967295"}, "--seed"},
        {{"run", "-p", "x", "--sampler-mode", "llama.cpp", "--seed", "4294967293", "--num", "3"},
         "--seed"}};
    for (const auto& [arguments, words] : wrong) {
        const HokkuRun run = run_hokku(arguments);
        INFO(run.err);
        CHECK(run.status == 2);
        CHECK(run.out.empty());
        CHECK(run.err.find(words) != std::string::npos);
    }
}

TEST_CASE("hokku: tokens that the model does not have are wrong usage", "[cli][quick]") {
    const ScratchFolder folder;
    hokku::testing::make_tiny_llama().write(folder / "tiny.gguf");
    const std::string model = (folder / "tiny.gguf").string();
    const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
        {{"run", "-p", "x", "--logit-bias", "99999=1"}, "--logit-bias"},
        {{"run", "--tokens", "1,99999"}, "--tokens"},
        {{"run", "--tokens", "1,2,3", "--replace", "2=99999"}, "--replace"},
        {{"logits", "--tokens", "1,99999"}, "--tokens"},
        {{"logits", "--tokens", "1", "--ids", "99999"}, "--ids"},
        {{"chat", "--logit-bias", "99999=1"}, "--logit-bias"}};
    for (auto [arguments, option] : wrong) {
        arguments.insert(arguments.end(), {"-m", model});
        const HokkuRun run = run_hokku(arguments);
        INFO(run.err);
        CHECK(run.status == 2);
        CHECK(run.err.find("there is no token 99999") != std::string::npos);
        CHECK(run.err.find(option) != std::string::npos);
    }
}

TEST_CASE("hokku run --tools: each tool is one, with a name of its own", "[cli][quick]") {
    const ScratchFolder folder;
    const std::string path = (folder / "tools.json").string();
    const std::string named = R"({"type": "function", "function": {"name": "f"}})";
    for (const auto& [text, words] : std::vector<std::pair<std::string, std::string>>{
             {"[5]", "tool [0] is no object"},
             {"[{}]", "tool [0] has no name"},
             {"[\"x\"]", "tool [0] is no object"},
             {"[" + named + R"(, {"function": {"name": 5}}])",
              "tool [1] has a name that is no text"},
             {"[" + named + ", " + named + "]", "tool [1] has the name of another"}}) {
        hokku::testing::write_file(folder / "tools.json", text);
        const HokkuRun run = run_hokku({"run", "-p", "x", "--tools", path});
        INFO(run.err);
        CHECK(run.status == 1);
        CHECK(run.err.find(words) != std::string::npos);
    }
}

TEST_CASE("hokku: options that change nothing beside the others are named", "[cli][quick]") {
    const ScratchFolder folder;
    hokku::testing::make_tiny_llama().write(folder / "tiny.gguf");
    const std::string model = (folder / "tiny.gguf").string();
    const std::vector<std::pair<std::vector<std::string>, std::string>> idle = {
        {{"--dry-base", "2"}, "--dry-base has no effect without --dry-multiplier"},
        {{"--xtc-threshold", "0.2"}, "--xtc-threshold has no effect without --xtc-probability"},
        {{"--xtc-probability", "1", "--xtc-threshold", "0.6"}, "--xtc-probability has no effect"},
        {{"--dynatemp-exp", "2"}, "without --dynatemp-range"},
        {{"--mirostat-tau", "2"}, "without --mirostat"},
        {{"--mirostat", "2", "--top-k", "5"}, "--top-k has no effect with --mirostat"},
        {{"--samplers", "temp", "--top-k", "5"}, "--top-k has no effect as --samplers leaves"},
        {{"--samplers", "top_k", "--temp", "1"}, "--temp has no effect"}};
    for (const auto& [options, words] : idle) {
        std::vector<std::string> arguments = {"run", "-m", model, "--tokens", "1", "-n", "1"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        const HokkuRun run = run_hokku(arguments);
        INFO(run.err);
        CHECK(run.status == 0);
        CHECK(run.err.find("warning: ") != std::string::npos);
        CHECK(run.err.find(words) != std::string::npos);
    }
    const HokkuRun sound = run_hokku({"run", "-m", model, "--tokens", "1", "-n", "1", "--top-k",
                                      "5", "--dry-multiplier", "1", "--dry-base", "2", "--samplers",
                                      "dry,top_k,temp", "--temp", "0.5"});
    CHECK(sound.err.find("warning") == std::string::npos);
}
