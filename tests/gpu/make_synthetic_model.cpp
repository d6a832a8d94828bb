// SPDX-License-Identifier: Apache-2.0
// make_synthetic_model SHAPE FILE [TYPE]: a model of random weights in the shape of a known one,
// Q4_K_M unless a type is named.
#include <cstdio>
#include <exception>
#include <string_view>

#include "support/synthetic_model.h"

namespace {

bool set_type(hokku::testing::SyntheticShape& shape, std::string_view name) {
    using hokku::TensorType;
    for (const TensorType type : {TensorType::f32, TensorType::f16, TensorType::bf16,
                                  TensorType::q4_k, TensorType::q6_k, TensorType::q8_0}) {
        if (hokku::traits_of(type).name != name) continue;
        shape.type = type;
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
            "[F32|F16|BF16|Q4_K|Q6_K|Q8_0]\n",
            stderr);
        return 2;
    }
    hokku::testing::write_synthetic_model(argv[2], *shape);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
}
