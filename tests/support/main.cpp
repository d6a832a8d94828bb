// SPDX-License-Identifier: Apache-2.0
// The entry point of every test executable.
#include "support/run_tests.h"

int main(int argc, char** argv) {
    return hokku::testing::run_tests(argc, argv);
}
