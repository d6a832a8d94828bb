// SPDX-License-Identifier: Apache-2.0
// Runs a piece of a test in a forked child, so that a crash, a hang or a greedy allocation is
// measured and reported instead of ending the test run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace hokku::testing {

struct ChildReport {
    bool is_clean = false;   ///< Ended by itself with status 0.
    std::string ending;      ///< "exit status 3", "signal 11", for messages.
    std::string text;        ///< What `body` returned; empty when it did not return.
    double cpu_seconds = 0;  ///< Of processor time: other work on the machine counts little.
    int64_t extra_kb = 0;    ///< Peak resident memory above that at the start.
};

/// Runs body in a child of this process; ended by a signal after `limit_s` seconds.
ChildReport run_in_child(const std::function<std::string()>& body, unsigned limit_s = 20);

/// Whether this build measures memory that is the program's own (sanitizers add their shadow).
bool measures_memory();

}  // namespace hokku::testing
