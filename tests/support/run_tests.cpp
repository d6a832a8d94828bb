// SPDX-License-Identifier: Apache-2.0
#include "support/run_tests.h"

#ifdef HOKKU_CATCH2_V3
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include "support/system.h"

namespace hokku::testing {

int run_tests(int argc, char** argv) {
    std::vector<std::string> arguments = utf8_arguments(argc, argv);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    return Catch::Session().run(static_cast<int>(pointers.size()), pointers.data());
}

}  // namespace hokku::testing
