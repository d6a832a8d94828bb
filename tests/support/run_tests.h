// SPDX-License-Identifier: Apache-2.0
// What main() of a test executable calls. Apart from main.cpp, so that programs with a main() of
// their own can link the test support.
#pragma once

namespace hokku::testing {

/// Runs the tests that the arguments choose; the exit status of the process.
int run_tests(int argc, char** argv);

}  // namespace hokku::testing
