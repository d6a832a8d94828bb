// SPDX-License-Identifier: Apache-2.0
// make_synthetic_model SHAPE FILE [TYPE]: a model of random weights in the shape of a known one,
// Q4_K_M unless a type is named.
#include <cstdio>
#include <exception>
#include <string_view>

#include "backend/dequantize.h"
#include "support/synthetic_model.h"

namespace {

bool set_type(hokku::testing::SyntheticShape& shape, std::string_view name) {
    for (uint32_t raw = 0; raw < 64; ++raw) {
        const auto traits = hokku::find_tensor_type(raw);
        if (!traits || traits->name != name || !hokku::can_dequantize(traits->type)) continue;
        shape.type = traits->type;
        return true;
    }
    return false;
}

}  // namespace

int main(int argc, char** argv) try {
    auto shape =
        argc == 3 || argc == 4 ? hokku::testing::find_synthetic_shape(argv[1]) : std::nullopt;
    if (!shape || (argc == 4 && !set_type(*shape, argv[3]))) {
        std::fputs(
            "usage: make_synthetic_model qwen2.5-0.5b|llama-3.2-1b|llama-3.1-8b FILE "
            "[F32|F16|BF16|Q4_K|..]\n",
            stderr);
        return 2;
    }
    hokku::testing::write_synthetic_model(argv[2], *shape);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
}
