// SPDX-License-Identifier: Apache-2.0
#include "run_hokku.h"

#include <chrono>
#include <fstream>
#include <sstream>

#include "run_program.h"
#include "support/gguf_writer.h"
#include "support/golden.h"

namespace hokku::testing {

namespace fs = std::filesystem;

namespace {

std::string content_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace

fs::path hokku_program() {
    return binary_folder() / "bin" / ("hokku" + program_suffix());
}

HokkuRun run_hokku(const std::vector<std::string>& arguments, const HokkuInput& input) {
    const ScratchFolder folder;
    const fs::path in = folder / "in", out = folder / "out", err = folder / "err";
    write_file(in, input.text);
    write_file(out, "");
    write_file(err, "");
    ProgramStart start;
    start.program = input.program.empty() ? hokku_program() : input.program;
    start.arguments = arguments;
    start.in = input.stdin_path.empty() ? in : fs::path(input.stdin_path);
    start.out = input.stdout_path.empty() ? out : fs::path(input.stdout_path);
    start.err = err;
    start.closed_out = input.closed_stdout;
    start.home = input.home;
    const auto begin = std::chrono::steady_clock::now();
    const ProgramEnd end = run_program(start);
    HokkuRun run;
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.status = end.status;
    run.peak_kb = end.peak_kb;
    run.cpu_seconds = end.cpu_seconds;
    run.out = content_of(out);
    run.err = content_of(err);
    return run;
}

}  // namespace hokku::testing
