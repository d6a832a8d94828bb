// SPDX-License-Identifier: Apache-2.0
// make_synthetic_model SHAPE FILE: a model of random weights in the shape of a known one.
#include <cstdio>
#include <exception>

#include "support/synthetic_model.h"

int main(int argc, char** argv) try {
    const auto shape = argc == 3 ? hokku::testing::find_synthetic_shape(argv[1]) : std::nullopt;
    if (!shape) {
        std::fputs("usage: make_synthetic_model qwen2.5-0.5b|llama-3.2-1b|llama-3.1-8b FILE\n",
                   stderr);
        return 2;
    }
    hokku::testing::write_synthetic_model(argv[2], *shape);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
}
