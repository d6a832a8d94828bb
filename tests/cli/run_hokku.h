// SPDX-License-Identifier: Apache-2.0
// Runs the built `hokku` as a script would: arguments and stdin in, exit code, stdout and stderr
// out.
#pragma once

#include <string>
#include <vector>

namespace hokku::testing {

struct HokkuRun {
    int status = -1;  ///< Exit code; 128 + number when a signal ended it.
    std::string out, err;
};

struct HokkuInput {
    std::string text = {};       ///< On stdin.
    bool closed_stdout = false;  ///< stdout is a pipe that nobody reads.
};

HokkuRun run_hokku(const std::vector<std::string>& arguments, const HokkuInput& input = {});

}  // namespace hokku::testing
