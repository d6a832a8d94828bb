// SPDX-License-Identifier: Apache-2.0
// Runs the built `hokku` as a script would: arguments and stdin in, exit code, stdout and stderr
// out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace hokku::testing {

struct HokkuRun {
    int status = -1;  ///< Exit code; 128 + number when a signal ended it.
    std::string out, err;
    double seconds = 0, cpu_seconds = 0;
    int64_t peak_kb = 0;  ///< Most resident memory.
};

struct HokkuInput {
    std::string text = {};                          ///< On stdin.
    std::string home = {};                          ///< The data folder, when not empty.
    std::filesystem::path program = {};             ///< A copy of the program, when not empty.
    std::string stdin_path = {}, stdout_path = {};  ///< Other files there, when not empty.
    bool closed_stdout = false;                     ///< stdout is a pipe that nobody reads.
};

/// The one that was built.
std::filesystem::path hokku_program();

/// Ended by SIGALRM after a minute.
HokkuRun run_hokku(const std::vector<std::string>& arguments, const HokkuInput& input = {});

}  // namespace hokku::testing
