// SPDX-License-Identifier: Apache-2.0
// Products of repacked weights and quantised vectors against double precision: the exact values
// that the file's blocks and the quantised vectors mean, so that what is left is float32 rounding.
#include <string>
#include <vector>

#include "cuda/support/device.h"
#include "cuda/support/product_check.h"
#include "cuda/support/tensors.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;
using cuda::GemvParams;

namespace {

struct GemvCase {
    TensorType type;
    uint32_t rows, cols, num_vectors;
    uint32_t warps_per_row = 1, num_threads = 256;
    BlockKind kind = BlockKind::plain;
    float scale = 1.0f;
    bool has_bias = false, has_residual = false;
};

std::string kernel_name(TensorType type, uint32_t num_vectors) {
    uint32_t bucket = num_vectors <= 2 ? num_vectors : (num_vectors <= 4 ? 4 : 8);
    if (bucket > 1 && !cuda::has_every_kernel(type)) bucket = 8;
    return hokku::testing::kernel_name("gemv", type) + "_" + std::to_string(bucket);
}

void check_gemv(const GemvCase& c) {
    INFO(kernel_name(c.type, c.num_vectors)
         << ": " << c.rows << " x " << c.cols << ", " << c.num_vectors << " vectors, "
         << c.warps_per_row << " warps a row, " << c.num_threads << " threads");
    const uint32_t rows_of_block = c.num_threads / 32 / c.warps_per_row * 2;
    check_products<GemvParams>(c, [&](GemvParams params) {
        params.warps_per_row = c.warps_per_row;
        TestDevice::get().run(
            kernel_name(c.type, c.num_vectors).c_str(),
            {.grid_x = (c.rows + rows_of_block - 1) / rows_of_block, .num_threads = c.num_threads},
            params);
    });
}

/// Multiples of the type's block near the sizes at which lanes or warps run out of work.
std::vector<uint32_t> awkward_cols(TensorType type) {
    if (traits_of(type).block_values == 256) return {256, 512, 768, 1280, 2304};
    return {32, 64, 96, 576, 896, 1056, 2080};
}

void check_shapes(TensorType type, uint32_t num_vectors) {
    uint32_t warps_per_row = 1;
    for (const uint32_t cols : awkward_cols(type)) {
        for (const uint32_t rows : {1u, 3u, 18u}) {
            check_gemv({.type = type,
                        .rows = rows,
                        .cols = cols,
                        .num_vectors = num_vectors,
                        .warps_per_row = warps_per_row});
        }
        warps_per_row = warps_per_row == 8 ? 1 : warps_per_row * 2;
    }
}

void check_extremes(TensorType type) {
    const uint32_t cols = 768;
    check_gemv(
        {.type = type, .rows = 20, .cols = cols, .num_vectors = 1, .kind = BlockKind::extreme});
    // Activations over 65,504, as those of down projections; sums of halves would overflow.
    check_gemv({.type = type,
                .rows = 20,
                .cols = cols,
                .num_vectors = 2,
                .warps_per_row = 2,
                .scale = 1e5f});
    check_gemv({.type = type,
                .rows = 20,
                .cols = cols,
                .num_vectors = 1,
                .warps_per_row = 4,
                .kind = BlockKind::extreme,
                .scale = 1e6f});
}

void check_additions(TensorType type) {
    for (const uint32_t num_vectors : {1u, 3u}) {
        check_gemv({.type = type,
                    .rows = 37,
                    .cols = 512,
                    .num_vectors = num_vectors,
                    .warps_per_row = 2,
                    .has_bias = true});
        check_gemv({.type = type,
                    .rows = 37,
                    .cols = 512,
                    .num_vectors = num_vectors,
                    .has_residual = true});
        check_gemv({.type = type,
                    .rows = 37,
                    .cols = 512,
                    .num_vectors = num_vectors,
                    .num_threads = 64,
                    .has_bias = true,
                    .has_residual = true});
    }
}

}  // namespace

#define HOKKU_GEMV_TESTS(type)                                                                \
    TEST_CASE("GEMV " #type ": one vector, awkward shapes", "[cuda][quick]") {                \
        check_shapes(TensorType::type, 1);                                                    \
    }                                                                                         \
    TEST_CASE("GEMV " #type ": two vectors, awkward shapes", "[cuda]") {                      \
        check_shapes(TensorType::type, 2);                                                    \
    }                                                                                         \
    TEST_CASE("GEMV " #type ": three and four vectors, awkward shapes", "[cuda]") {           \
        check_shapes(TensorType::type, 3);                                                    \
        check_shapes(TensorType::type, 4);                                                    \
    }                                                                                         \
    TEST_CASE("GEMV " #type ": five and eight vectors, awkward shapes", "[cuda]") {           \
        check_shapes(TensorType::type, 5);                                                    \
        check_shapes(TensorType::type, 8);                                                    \
    }                                                                                         \
    TEST_CASE("GEMV " #type ": extreme blocks and activations", "[cuda][quick]") {            \
        check_extremes(TensorType::type);                                                     \
    }                                                                                         \
    TEST_CASE("GEMV " #type ": biases and residuals are added in float32", "[cuda][quick]") { \
        check_additions(TensorType::type);                                                    \
    }

HOKKU_GEMV_TESTS(q4_k)
HOKKU_GEMV_TESTS(q5_k)
HOKKU_GEMV_TESTS(q6_k)
HOKKU_GEMV_TESTS(q8_0)
HOKKU_GEMV_TESTS(q4_0)
HOKKU_GEMV_TESTS(q4_1)
HOKKU_GEMV_TESTS(q5_0)
HOKKU_GEMV_TESTS(q5_1)
HOKKU_GEMV_TESTS(q2_k)
HOKKU_GEMV_TESTS(q3_k)
HOKKU_GEMV_TESTS(iq4_nl)
HOKKU_GEMV_TESTS(iq4_xs)
HOKKU_GEMV_TESTS(mxfp4)

TEST_CASE("GEMV q4_k: a small product", "[cuda][quick][threads]") {
    check_gemv(
        {.type = TensorType::q4_k, .rows = 9, .cols = 512, .num_vectors = 1, .warps_per_row = 2});
}

TEST_CASE("GEMV of rare types: one vector and several, awkward shapes, biases", "[cuda]") {
    for (const TensorType type : kRareTypes) {
        const uint32_t step = traits_of(type).block_values;
        check_gemv({.type = type, .rows = 3, .cols = step, .num_vectors = 1});
        check_gemv({.type = type, .rows = 18, .cols = 1280, .num_vectors = 1, .warps_per_row = 2});
        check_gemv({.type = type, .rows = 5, .cols = 2304, .num_vectors = 3, .has_bias = true});
        check_gemv({.type = type,
                    .rows = 20,
                    .cols = 768,
                    .num_vectors = 2,
                    .kind = BlockKind::extreme,
                    .scale = 1e5f,
                    .has_residual = true});
    }
}
