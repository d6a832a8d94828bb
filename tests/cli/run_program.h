// SPDX-License-Identifier: Apache-2.0
// Starts a program with its streams in files and waits for its end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace hokku::testing {

struct ProgramStart {
    std::filesystem::path program;
    std::vector<std::string> arguments;
    std::filesystem::path in, out, err;
    bool closed_out = false;  ///< stdout is a pipe that nobody reads.
    std::string home;         ///< HOKKU_HOME, when not empty.
};

struct ProgramEnd {
    int status = -1;  ///< Exit code; 128 + number when a signal ended it.
    int64_t peak_kb = 0;
    double cpu_seconds = 0;
};

/// Of the files of programs: ".exe" or nothing.
std::string program_suffix();

/// A program that is not through after a minute is ended as by SIGALRM.
ProgramEnd run_program(const ProgramStart& start);

}  // namespace hokku::testing
