// SPDX-License-Identifier: Apache-2.0
// Devices as files, and arguments that are not UTF-8: neither can be had on Windows.
#include <string>
#include <utility>
#include <vector>

#include "run_hokku.h"
#include "support/catch.h"
#include "support/gguf_writer.h"
#include "support/tiny_model.h"

using hokku::testing::HokkuRun;
using hokku::testing::run_hokku;
using hokku::testing::ScratchFolder;

TEST_CASE("hokku: help that cannot be written is a failure", "[cli][quick]") {
    for (const std::string flag : {"--help", "--version"}) {
        const HokkuRun run = run_hokku({flag}, {.stdout_path = "/dev/full"});
        CHECK(run.status == 1);
        CHECK(run.err.find("cannot write the result") != std::string::npos);
    }
}

TEST_CASE("hokku: inputs without an end are refused, folders cannot be read", "[cli][quick]") {
    const ScratchFolder folder;
    const std::string chat_template = (folder / "t.jinja").string();
    hokku::testing::write_file(chat_template, "x");
    const std::vector<std::pair<std::vector<std::string>, std::string>> endless = {
        {{"run", "-f", "/dev/zero"}, "-f /dev/zero"},
        {{"run", "--tokens", "@/dev/zero"}, "--tokens @/dev/zero"},
        {{"render", "--template", chat_template, "--input", "/dev/zero"}, "--input /dev/zero"}};
    for (const auto& [arguments, given] : endless) {
        CAPTURE(arguments);
        const HokkuRun run = run_hokku(arguments);
        CHECK(run.status == 1);
        CHECK(run.err.find("too large (" + given + ")") != std::string::npos);
        CHECK(run.peak_kb < 1 << 20);
    }
    const HokkuRun lines =
        run_hokku({"render", "--template", chat_template, "--jsonl"}, {.stdin_path = "/dev/zero"});
    CHECK(lines.status == 1);
    CHECK(lines.err.find("too large") != std::string::npos);
    const HokkuRun unreadable =
        run_hokku({"render", "--template", chat_template, "--jsonl"}, {.stdin_path = "/"});
    CHECK(unreadable.status == 1);
    CHECK(unreadable.err.find("cannot read") != std::string::npos);
}

TEST_CASE("hokku: messages are UTF-8 without control codes, whatever they quote", "[cli][quick]") {
    const HokkuRun run =
        run_hokku({"run", "--tokens", "\xff\x9b\x1b\xc2\x9b[31m\xed\xa0\x80\xc3\xa9"});
    CHECK(run.status == 2);
    CHECK(run.err.find("\"?????[31m???\xc3\xa9\"") != std::string::npos);
}

TEST_CASE("hokku run: a text to stop at that is not UTF-8 is wrong usage", "[cli][quick]") {
    const ScratchFolder folder;
    hokku::testing::make_tiny_llama().write(folder / "tiny.gguf");
    const HokkuRun run =
        run_hokku({"run", "-p", "hi", "--stop", "\xff", "-m", (folder / "tiny.gguf").string()});
    CHECK(run.status == 2);
    CHECK(run.out.empty());
    CHECK(run.err.find("UTF-8") != std::string::npos);
}

TEST_CASE("hokku run: a word to require that is not UTF-8 is wrong usage", "[cli][quick]") {
    const HokkuRun run = run_hokku({"run", "-m", "no-such-model", "-p", "x", "--require", "\xff"});
    CHECK(run.status == 2);
    CHECK(run.err.find("--require") != std::string::npos);
}
