// SPDX-License-Identifier: Apache-2.0
#include "run_hokku.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

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

/// A pipe's writing end whose reader is gone.
int closed_pipe() {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("pipe");
    close(ends[0]);
    return ends[1];
}

}  // namespace

HokkuRun run_hokku(const std::vector<std::string>& arguments, const HokkuInput& input) {
    const ScratchFolder folder;
    const fs::path in = folder / "in", out = folder / "out", err = folder / "err";
    write_file(in, input.text);
    write_file(out, "");
    write_file(err, "");
    const std::string program =
        input.program.empty() ? (binary_folder() / "bin" / "hokku").string() : input.program;
    std::vector<char*> argv{const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments) {
        argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    const auto start = std::chrono::steady_clock::now();
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("fork");
    if (child == 0) {
        const std::string& from = input.stdin_path.empty() ? in.native() : input.stdin_path;
        const std::string& to = input.stdout_path.empty() ? out.native() : input.stdout_path;
        dup2(open(from.c_str(), O_RDONLY), 0);
        dup2(input.closed_stdout ? closed_pipe() : open(to.c_str(), O_WRONLY), 1);
        dup2(open(err.c_str(), O_WRONLY), 2);
        alarm(60);
        if (!input.home.empty()) setenv("HOKKU_HOME", input.home.c_str(), 1);
        execv(program.c_str(), argv.data());
        _exit(127);
    }
    int state = 0;
    rusage usage = {};
    wait4(child, &state, 0, &usage);
    HokkuRun run;
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    run.peak_kb = usage.ru_maxrss;
    run.status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    run.out = content_of(out);
    run.err = content_of(err);
    return run;
}

}  // namespace hokku::testing
