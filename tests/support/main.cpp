// SPDX-License-Identifier: Apache-2.0
// The entry point of every test executable.
#ifdef HOKKU_CATCH2_V3
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include "support/system.h"

int main(int argc, char** argv) {
    std::vector<std::string> arguments = hokku::testing::utf8_arguments(argc, argv);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    return Catch::Session().run(static_cast<int>(pointers.size()), pointers.data());
}
