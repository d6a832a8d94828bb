// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "run_program.h"

namespace hokku::testing {

namespace {

/// A pipe's writing end whose reader is gone.
int closed_pipe() {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("pipe");
    close(ends[0]);
    return ends[1];
}

}  // namespace

std::string program_suffix() {
    return {};
}

ProgramEnd run_program(const ProgramStart& start) {
    std::vector<char*> argv{const_cast<char*>(start.program.c_str())};
    for (const std::string& argument : start.arguments) {
        argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("fork");
    if (child == 0) {
        dup2(open(start.in.c_str(), O_RDONLY), 0);
        dup2(start.closed_out ? closed_pipe() : open(start.out.c_str(), O_WRONLY), 1);
        dup2(open(start.err.c_str(), O_WRONLY), 2);
        alarm(60);
        if (!start.home.empty()) setenv("HOKKU_HOME", start.home.c_str(), 1);
        execv(start.program.c_str(), argv.data());
        _exit(127);
    }
    int state = 0;
    rusage usage = {};
    wait4(child, &state, 0, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return {.status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state),
            .peak_kb = usage.ru_maxrss,
            .cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime)};
}

}  // namespace hokku::testing
