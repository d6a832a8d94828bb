// SPDX-License-Identifier: Apache-2.0
// What is said, once, where an answer fails, and what programs find in the JSON then.
#include <nlohmann/json.hpp>

#include "hokku/paths.h"
#include "run_hokku.h"
#include "support/catch.h"
#include "support/tiny_model.h"

using hokku::testing::HokkuRun;
using hokku::testing::make_tiny_llama;
using hokku::testing::run_hokku;
using hokku::testing::ScratchFolder;
using nlohmann::json;

namespace {

struct Tiny {
    Tiny() { make_tiny_llama().write(folder / "tiny.gguf"); }
    [[nodiscard]] std::string model() const { return hokku::path_utf8(folder / "tiny.gguf"); }
    /// A prompt that is longer than any context of the model.
    [[nodiscard]] HokkuRun too_long(const std::vector<std::string>& more) const {
        std::vector<std::string> arguments = {"run",   "-m", model(),
                                              "--raw", "-p", std::string(5000, 'a')};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_hokku(arguments);
    }
    ScratchFolder folder;
};

size_t count(const std::string& text, const std::string& words) {
    size_t found = 0;
    for (size_t at = 0; (at = text.find(words, at)) != std::string::npos; ++at) ++found;
    return found;
}

}  // namespace

TEST_CASE("hokku run --num: what ends all of them is said once, below no heading", "[cli][quick]") {
    const Tiny tiny;
    const HokkuRun run = tiny.too_long({"--num", "3"});
    INFO(run.err);
    CHECK(run.status == 1);
    CHECK(run.out.empty());
    CHECK(count(run.err, "the context holds") == 1);
    CHECK(run.err.starts_with("hokku: the prompt has"));
}

TEST_CASE("hokku run --json: what fails has an object with the error", "[cli][quick]") {
    const Tiny tiny;
    const HokkuRun late = tiny.too_long({"--json", "--seed", "7"});
    CHECK(late.status == 1);
    CHECK(count(late.err, "the context holds") == 1);
    const json object = json::parse(late.out);
    CHECK(object["error"].get<std::string>().find("the context holds") != std::string::npos);
    CHECK(object["stop_reason"] == "failed");
    CHECK(object["seed"] == 7);
    // Before there is anything to answer.
    const HokkuRun early = run_hokku({"run", "-m", "/nowhere/at-all", "-p", "x", "--json"});
    CHECK(early.status == 1);
    CHECK(json::parse(early.out)["error"].get<std::string>().find("/nowhere/at-all") !=
          std::string::npos);
    // An answer without an error has no such member.
    const HokkuRun good =
        run_hokku({"run", "-m", tiny.model(), "--tokens", "1", "-n", "1", "--json"});
    CHECK_FALSE(json::parse(good.out).contains("error"));
}

TEST_CASE("hokku run --num --json: each that fails has its error and its seed", "[cli][quick]") {
    const Tiny tiny;
    const HokkuRun run = tiny.too_long({"--num", "2", "--json", "--seed", "5"});
    CHECK(run.status == 1);
    const json list = json::parse(run.out)["continuations"];
    REQUIRE(list.size() == 2);
    for (size_t i = 0; i < 2; ++i) {
        CHECK(list[i]["error"].get<std::string>().find("the context holds") != std::string::npos);
        CHECK(list[i]["seed"] == 5 + i);
    }
    CHECK(count(run.err, "the context holds") == 1);
}

TEST_CASE("hokku run --json: a template that refuses has the seed that was given", "[cli][quick]") {
    const ScratchFolder folder;
    make_tiny_llama()
        .set_string("tokenizer.chat_template", "{{ raise_exception('not today') }}")
        .write(folder / "no.gguf");
    const HokkuRun run = run_hokku(
        {"run", "-m", hokku::path_utf8(folder / "no.gguf"), "-p", "x", "--seed", "9", "--json"});
    INFO(run.err);
    CHECK(run.status == 1);
    const json object = json::parse(run.out);
    CHECK(object["seed"] == 9);
    CHECK(object["error"].get<std::string>().find("not today") != std::string::npos);
}

TEST_CASE("hokku run --overflow grow: a prompt beyond the model is told as that", "[cli][quick]") {
    const Tiny tiny;
    const HokkuRun run = tiny.too_long({"--overflow", "grow", "-c", "64"});
    INFO(run.err);
    CHECK(run.status == 1);
    CHECK(run.err.find("the context cannot grow beyond the 256") != std::string::npos);
    CHECK(run.err.find("a longer context") == std::string::npos);
    CHECK(count(run.err, "\n") == 1);
}

TEST_CASE("hokku run: a model whose download broke off is told as not whole", "[cli][quick]") {
    const ScratchFolder folder;
    make_tiny_llama().write(folder / "whole.gguf");
    std::filesystem::copy_file(folder / "whole.gguf", folder / "part.gguf");
    const auto size = std::filesystem::file_size(folder / "part.gguf");
    std::filesystem::resize_file(folder / "part.gguf", size / 2);
    const HokkuRun run =
        run_hokku({"run", "-m", hokku::path_utf8(folder / "part.gguf"), "-p", "x"});
    INFO(run.err);
    CHECK(run.status == 1);
    CHECK(run.err.find("the file is not whole") != std::string::npos);
}

TEST_CASE("hokku chat --json: one object a line for each message", "[cli][quick]") {
    const Tiny tiny;
    const HokkuRun run = run_hokku({"chat", "-m", tiny.model(), "--json", "--regex", "yes\n\nno"},
                                   {.text = "one\n/foo\n\ntwo \\\nlines\n/reset\nthree\n"});
    INFO(run.err);
    CHECK(run.status == 1);  // as one of the lines was no command
    std::vector<json> lines;
    for (size_t begin = 0, end; (end = run.out.find('\n', begin)) != std::string::npos;
         begin = end + 1)
        lines.push_back(json::parse(run.out.substr(begin, end - begin)));
    REQUIRE(lines.size() == 4);
    for (const size_t answer : std::vector<size_t>{0, 2, 3}) {
        CHECK(lines[answer]["text"] == "yes\n\nno");
        CHECK_FALSE(lines[answer].contains("error"));
    }
    CHECK(lines[1]["error"].get<std::string>().find("/foo") != std::string::npos);
    CHECK_FALSE(lines[1].contains("text"));
}

TEST_CASE("hokku: a draft model with a shorter context is told", "[cli][quick]") {
    const Tiny tiny;
    make_tiny_llama().set("llama.context_length", uint32_t{128}).write(tiny.folder / "short.gguf");
    const std::string draft = hokku::path_utf8(tiny.folder / "short.gguf");
    const auto run = [&](const std::string& context) {
        return run_hokku({"run", "-m", tiny.model(), "--draft-model", draft, "-c", context,
                          "--tokens", "1", "-n", "2"});
    };
    const HokkuRun longer = run("256");
    CHECK(longer.status == 0);
    CHECK(longer.err.find("the draft model guesses only in the first 128 tokens") !=
          std::string::npos);
    CHECK(run("128").err.find("the draft model") == std::string::npos);
}

TEST_CASE("hokku bench --draft-model: its context is looked at before anything is timed",
          "[cli][quick]") {
    const Tiny tiny;
    // So many rounds would take minutes.
    const HokkuRun run = run_hokku({"bench", "-m", tiny.model(), "--draft-model", tiny.model(),
                                    "-c", "100", "-p", "60", "-n", "40", "-r", "1000"});
    INFO(run.err);
    CHECK(run.status == 2);
    CHECK(run.out.empty());
    CHECK(run.err.find("-n 40, a context of 100") != std::string::npos);
    CHECK(run.seconds < 20);
}
