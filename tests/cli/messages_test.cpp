// SPDX-License-Identifier: Apache-2.0
// What is said about arguments: the option, what it was given, and what is expected instead.
#include <cstdint>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "hokku/paths.h"
#include "run_hokku.h"
#include "support/catch.h"
#include "support/gguf_writer.h"
#include "support/tiny_model.h"

using hokku::testing::HokkuRun;
using hokku::testing::run_hokku;
using hokku::testing::ScratchFolder;

namespace {

struct Option {
    std::string name, type;
};

/// The options of a command that take a value, as its help lists them.
std::vector<Option> options_of(const std::string& command) {
    const std::string help = run_hokku({command, "--help"}).out;
    const std::regex line("\n  (?:-[a-z],)?(--[a-z][a-z0-9-]*)[a-z0-9,-]* ([^ \n]+)");
    std::vector<Option> options;
    for (std::sregex_iterator at(help.begin(), help.end(), line), end; at != end; ++at)
        options.push_back({(*at)[1], (*at)[2]});
    return options;
}

/// Any text is a value of these, or it takes a file or a model to tell.
bool takes_any_text(const Option& option) {
    for (const char* type : {"TEXT", "FILE", "WORD", "NAME", "MODEL", "PATTERN", "FILE|TEXT"})
        if (option.type == type) return true;
    return false;
}

/// What a command needs beside the option that is tried.
std::vector<std::string> command_line(const std::string& command, const std::string& option) {
    std::vector<std::string> words = {command};
    if (command == "run" && option != "--prompt" && option != "--tokens" && option != "--file" &&
        option != "--replace")
        words.insert(words.end(), {"-p", "x"});
    if (command == "logits" && option != "--tokens") words.insert(words.end(), {"--tokens", "1"});
    if (option == "--replace") words.insert(words.end(), {"--tokens", "1"});
    if (option == "--logprobs") words.push_back("--json");
    if (option == "--session-cache") words.insert(words.end(), {"--session", "s"});
    return words;
}

struct Wrong {
    std::vector<std::string> arguments;
    std::vector<std::string> words;  ///< Of the message.
};

void check_usage_errors(const std::vector<Wrong>& all, const std::string& home = {}) {
    for (const Wrong& wrong : all) {
        CAPTURE(wrong.arguments);
        const HokkuRun run = run_hokku(wrong.arguments, {.home = home});
        INFO(run.err);
        CHECK(run.status == 2);
        CHECK(run.out.empty());
        for (const std::string& words : wrong.words) {
            CAPTURE(words);
            CHECK(run.err.find(words) != std::string::npos);
        }
    }
}

}  // namespace

TEST_CASE("hokku: a value that no option of its kind has is named with its option",
          "[cli][quick]") {
    size_t num_tried = 0;
    for (const std::string command : {"run", "chat", "logits", "bench", "perplexity"}) {
        const std::vector<Option> options = options_of(command);
        CHECK(options.size() >= 7);
        for (const Option& option : options) {
            if (takes_any_text(option)) continue;
            CAPTURE(command, option.name);
            std::vector<std::string> arguments = command_line(command, option.name);
            arguments.insert(arguments.end(), {option.name, "bogus!", "-m", "/nowhere/at-all"});
            const HokkuRun run = run_hokku(arguments);
            INFO(run.err);
            CHECK(run.status == 2);
            CHECK(run.out.empty());
            CHECK(run.err.find(option.name) != std::string::npos);
            CHECK(run.err.find("bogus!") != std::string::npos);
            ++num_tried;
        }
    }
    CHECK(num_tried >= 70);
}

TEST_CASE("hokku: messages call an option what its user called it", "[cli][quick]") {
    check_usage_errors({
        {{"run", "-p", "x", "-n", "x"}, {"-n: \"x\""}},
        {{"run", "-p", "x", "-nx"}, {"-n: \"x\""}},
        {{"run", "-p", "x", "--max-tokens", "x"}, {"--max-tokens: \"x\""}},
        {{"run", "-p", "x", "--max-tokens=x"}, {"--max-tokens: \"x\""}},
        {{"chat", "-n", "x"}, {"-n: \"x\""}},
        {{"run", "-p", "x", "-t", "1.5"}, {"-t: \"1.5\""}},
        {{"run", "-p", "x", "--threads", "1.5"}, {"--threads: \"1.5\""}},
        {{"run", "-p", "x", "-c", "x"}, {"-c: \"x\""}},
        {{"run", "-p", "x", "-m", ""}, {"-m: the value is empty"}},
        {{"run", "-p", "x", "-m", "a", "-m", "b"}, {"-m is given 2 times"}},
        {{"run", "-p", "x", "-n"}, {"-n: a value is missing"}},
        {{"run", "--prompt", "x", "--file", "y"}, {"not --prompt and --file"}},
        {{"bench", "-n", "x"}, {"-n: \"x\""}},
        {{"bench", "-r", "x"}, {"-r: \"x\""}},
        {{"bench", "--decode", "x"}, {"--decode: \"x\""}},
        {{"run", "-p", "x", "--temp", "x"}, {"--temp: \"x\""}},
        {{"run", "-p", "x", "--temperature", "x"}, {"--temperature: \"x\""}},
        {{"run", "-p", "x", "--repeat-last-n", "x"}, {"--repeat-last-n: \"x\""}},
        {{"run", "-p", "x", "--samplers", "foo"}, {"--samplers \"foo\""}},
    });
    for (const std::string name : {"-f", "--file"}) {
        const HokkuRun run = run_hokku({"run", name, "/nowhere/at-all"});
        CHECK(run.status == 1);
        CHECK(run.err.find("(" + name + " /nowhere/at-all)") != std::string::npos);
    }
}

TEST_CASE("hokku: an empty value is told with its option", "[cli][quick]") {
    for (const std::string command : {"run", "chat", "logits", "bench", "perplexity", "render"}) {
        for (const Option& option : options_of(command)) {
            // The empty text is one.
            if (option.name == "--prompt" || option.name == "--system" || option.name == "--choice")
                continue;
            CAPTURE(command, option.name);
            std::vector<std::string> arguments = command_line(command, option.name);
            arguments.insert(arguments.end(), {option.name, "", "-m", "/nowhere/at-all"});
            if (option.name == "--model") arguments.resize(arguments.size() - 2);
            const HokkuRun run = run_hokku(arguments);
            INFO(run.err);
            CHECK(run.status == 2);
            CHECK(run.out.empty());
            CHECK(run.err.find(option.name) != std::string::npos);
        }
    }
}

TEST_CASE("hokku: messages name the option, its value and what is expected", "[cli][quick]") {
    check_usage_errors({
        {{"run", "--tokens", ""}, {"--tokens \"\"", "at least one id"}},
        {{"run", "--tokens", "1,a"}, {"--tokens", "\"a\"", "ids such as 1,2,3"}},
        {{"run", "--tokens", "@"}, {"--tokens @", "@FILE"}},
        {{"logits", "--tokens", "1", "--ids", "[]"}, {"--ids \"[]\"", "at least one id"}},
        {{"logits", "--tokens", "1", "--ids", "x"}, {"--ids", "\"x\"", "ids such as"}},
        {{"run", "-p", "x", "--tokens", "1"},
         {"give one of -p, -f and --tokens", "-p and --tokens"}},
        {{"run", "-p", "x", "--logit-bias", "5"}, {"--logit-bias \"5\"", "ID=VALUE"}},
        {{"run", "-p", "x", "--logit-bias", "5=x"}, {"--logit-bias \"5=x\"", "ID=VALUE"}},
        {{"run", "-p", "x", "--sampler-order", "foo"},
         {"--sampler-order \"foo\"", "penalties,dry"}},
        {{"run", "-p", "x", "--sampler-order", "top_k,top_k"},
         {"--sampler-order \"top_k,top_k\"", "at most once"}},
        {{"run", "-p", "x", "--sampler-order", "top_k,,temp"},
         {"--sampler-order \"top_k,,temp\"", "\"\"", "penalties,dry"}},
        {{"run", "-p", "x", "--dry-multiplier", "1", "--dry-breaker", std::string(41, 'x')},
         {"--dry-breaker \"xxx", "at most 40 bytes"}},
        {{"run", "-p", "x", "--stop", ""}, {"--stop \"\""}},
        {{"chat", "--session", "a/b"}, {"--session \"a/b\""}},
    });
}

TEST_CASE("hokku: what is wrong with a file is told with its option", "[cli][quick]") {
    const ScratchFolder folder;
    hokku::testing::write_file(folder / "broken.json", "[{");
    const std::string broken = hokku::path_utf8(folder / "broken.json");
    const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
        {{"run", "-p", "x", "--tools", broken}, "(--tools " + broken + ")"},
        {{"run", "-p", "x", "--tools", "no-such"}, "(--tools no-such)"},
        {{"run", "-f", "no-such"}, "(-f no-such)"},
        {{"run", "--tokens", "@no-such"}, "(--tokens @no-such)"},
        {{"perplexity", "--file", "no-such"}, "(--file no-such)"},
        {{"render", "--template", "no-such", "--input", "-"}, "(--template no-such)"},
        {{"run", "-p", "x", "--grammar", "no-such"}, "(--grammar no-such)"}};
    for (const auto& [arguments, words] : wrong) {
        const HokkuRun run = run_hokku(arguments);
        INFO(run.err);
        CHECK(run.status == 1);
        CHECK(run.out.empty());
        CHECK(run.err.find(words) != std::string::npos);
    }
}

TEST_CASE("hokku: forms that contradict each other are named by their options", "[cli][quick]") {
    const ScratchFolder folder;
    hokku::testing::make_tiny_llama().write(folder / "tiny.gguf");
    const std::string model = hokku::path_utf8(folder / "tiny.gguf");
    const std::string grammar = R"(root ::= "a")";
    const std::vector<std::string> run = {"run", "-m", model, "-p", "x", "--grammar", grammar};
    const auto with = [&](const std::vector<std::string>& more) {
        std::vector<std::string> all = run;
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    check_usage_errors({
        {with({"--json-schema", "{}"}), {"--grammar and --json-schema", "one text can have"}},
        {with({"--json-output"}), {"--grammar and --json-output"}},
        {with({"--regex", "b"}), {"--grammar and --regex \"b\""}},
        {with({"--choice", "b"}), {"--grammar and --choice \"b\""}},
        {with({"--require", "b"}), {"--grammar", "\"b\""}},
    });
    CHECK(run_hokku(with({"--choice", "b", "--num", "2"})).status == 2);
    const HokkuRun chat =
        run_hokku({"chat", "-m", model, "--regex", "[0-9]+", "--require", "ab"}, {.text = "x\n"});
    CHECK(chat.status == 2);
    CHECK(chat.err.find("contradict each other") != std::string::npos);
}

TEST_CASE("hokku: layers for a GPU where the model runs on the CPU are a warning", "[cli][quick]") {
    const ScratchFolder folder;
    hokku::testing::make_tiny_llama().write(folder / "tiny.gguf");
    const auto run = [&](std::vector<std::string> more) {
        more.insert(more.begin(), {"run", "-m", hokku::path_utf8(folder / "tiny.gguf"), "-p", "x",
                                   "-n", "2", "--device", "cpu"});
        return run_hokku(more);
    };
    const HokkuRun told = run({"--gpu-layers", "5"});
    CHECK(told.status == 0);
    const size_t place = told.err.find("warning: --gpu-layers has no effect");
    REQUIRE(place != std::string::npos);
    CHECK(told.err.find("--gpu-layers", place + 30) == std::string::npos);  // once
    CHECK(run({"--gpu-layers", "0"}).err.find("--gpu-layers") == std::string::npos);
    CHECK(run({}).err.find("warning") == std::string::npos);
}

TEST_CASE("hokku: seeds that would begin anew are refused", "[cli][quick]") {
    const std::string last = std::to_string(UINT64_MAX);
    check_usage_errors({
        {{"run", "-p", "x", "--seed", last, "--num", "2"},
         {"--seed " + last, "at most " + std::to_string(UINT64_MAX - 1)}},
        {{"run", "-p", "x", "--seed", "4294967294", "--num", "2", "--sampler-mode", "llama.cpp"},
         {"--seed 4294967294", "at most 4294967293"}},
    });
    const ScratchFolder folder;
    hokku::testing::make_tiny_llama().write(folder / "tiny.gguf");
    const HokkuRun run =
        run_hokku({"run", "-m", hokku::path_utf8(folder / "tiny.gguf"), "-p", "x", "-n", "2",
                   "--num", "2", "--seed", std::to_string(UINT64_MAX - 1)});
    INFO(run.err);
    CHECK(run.status == 0);
    CHECK(run.err.find("seed " + last) != std::string::npos);
}

TEST_CASE("hokku bench: more tokens than the context holds are wrong usage", "[cli][quick]") {
    const ScratchFolder folder;
    hokku::testing::make_tiny_llama().write(folder / "tiny.gguf");
    const std::string model = hokku::path_utf8(folder / "tiny.gguf");
    check_usage_errors({
        {{"bench", "-m", model, "-c", "100", "-p", "90", "-n", "20", "-r", "1"},
         {"-p 90", "-n 20", "-c 100", "at least 110"}},
        {{"bench", "-m", model, "--context", "100", "--prompt", "90", "--decode", "20"},
         {"--prompt 90", "--decode 20", "--context 100", "at least 110"}},
        {{"bench", "-m", model, "-c", "0", "-p", "250", "-n", "20", "-r", "1"},
         {"-p 250", "-n 20", "256", "at least 270"}},
    });
    // The context follows where it is not given, as far as the model goes.
    const HokkuRun run = run_hokku({"bench", "-m", model, "-p", "250", "-n", "6", "-r", "1"});
    INFO(run.err);
    CHECK(run.status == 0);
    CHECK(run.err.empty());
    check_usage_errors({{{"bench", "-m", model, "-p", "250", "-n", "7", "-r", "1"},
                         {"-p 250", "-n 7", "256", "at least 257"}}});
}

TEST_CASE("hokku: one token is no tokens, and has no speed", "[cli][quick]") {
    const ScratchFolder folder;
    hokku::testing::make_tiny_llama().write(folder / "tiny.gguf");
    const std::string model = hokku::path_utf8(folder / "tiny.gguf");
    const auto summary = [&](const std::string& count) {
        return run_hokku({"run", "-m", model, "--tokens", "1", "-n", count, "--seed", "7",
                          "--logit-bias", "260=-inf"})
            .err;
    };
    CHECK(std::regex_match(
        summary("1"),
        std::regex("hokku: 1 token, first after [0-9]+ ms; seed 7; cut off by -n\n")));
    CHECK(std::regex_match(summary("2"), std::regex("hokku: 2 tokens at [1-9][0-9.]* tok/s, first "
                                                    "after [0-9]+ ms; seed 7; cut off by -n\n")));
    const std::string none = run_hokku({"bench", "-m", model, "-p", "1", "-n", "0", "-r", "1"}).out;
    CHECK(none.find("(1 token)") != std::string::npos);
    CHECK(none.find("\n  decode") == std::string::npos);
    CHECK(none.find("\n  reads") == std::string::npos);
}

TEST_CASE("hokku: no text is no tokens, and no tokens are no text", "[cli][quick]") {
    const ScratchFolder folder;
    hokku::testing::make_tiny_llama().write(folder / "tiny.gguf");
    const std::string model = hokku::path_utf8(folder / "tiny.gguf");
    const auto run = [&](const std::string& command, const std::string& input, bool is_jsonl) {
        std::vector<std::string> arguments = {command, "-m", model};
        if (is_jsonl) arguments.push_back("--jsonl");
        const HokkuRun done = run_hokku(arguments, {.text = input});
        CHECK(done.status == 0);
        CHECK(done.err.empty());
        return done.out;
    };
    CHECK(run("tokenize", "", false) == "\n");
    for (const char* list : {"", "\n", "[]", " [ ] \n"}) {
        CAPTURE(list);
        CHECK(run("detokenize", list, false).empty());
    }
    CHECK(run("tokenize", "\"\"\n", true) == "[]\n");
    CHECK(run("detokenize", "[]\n", true) == "\"\"\n");
}

TEST_CASE("hokku run --prompt-cache-ro: what is no saved chat is told as such", "[cli][quick]") {
    const ScratchFolder folder;
    hokku::testing::make_tiny_llama().write(folder / "tiny.gguf");
    hokku::testing::write_file(folder / "notes.txt", "hello\n");
    const std::string notes = hokku::path_utf8(folder / "notes.txt");
    const HokkuRun run = run_hokku({"run", "-m", hokku::path_utf8(folder / "tiny.gguf"), "-p", "x",
                                    "-n", "2", "--prompt-cache", notes, "--prompt-cache-ro"});
    INFO(run.err);
    CHECK(run.status == 0);
    CHECK(run.err.find("this is not a saved context (--prompt-cache " + notes + ")") !=
          std::string::npos);
    CHECK(run.err.find("bytes") == std::string::npos);
}
