// SPDX-License-Identifier: Apache-2.0
// fuzz_seeds FOLDER: writes binary inputs to start fuzzing from, a folder for each format.
#include <exception>
#include <iostream>

#include "fuzz/seeds.h"

int main(int argc, char** argv) try {
    if (argc != 2) {
        std::cerr << "usage: fuzz_seeds FOLDER\n";
        return 2;
    }
    hokku::testing::write_seeds(argv[1], true);
    return 0;
} catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
}
