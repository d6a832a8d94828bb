// SPDX-License-Identifier: Apache-2.0
// Products of many vectors on tensor cores against double precision: the exact values that the
// file's blocks and the quantised vectors mean.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cuda/support/device.h"
#include "cuda/support/product_check.h"
#include "cuda/support/tensors.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;
using cuda::GemmParams;

namespace {

struct GemmCase {
    TensorType type;
    uint32_t rows, cols, num_vectors;
    BlockKind kind = BlockKind::plain;
    float scale = 1.0f;
    bool has_bias = false, has_residual = false;
};

LaunchShape shape_of(uint32_t rows, uint32_t num_vectors) {
    return {.grid_x = (num_vectors + cuda::kGemmVectors - 1) / cuda::kGemmVectors,
            .grid_y = (rows + cuda::kGemmRows - 1) / cuda::kGemmRows,
            .num_threads = 256};
}

void check_gemm(const GemmCase& c) {
    const std::string kernel = kernel_name("gemm", c.type);
    INFO(kernel << ": " << c.rows << " x " << c.cols << ", " << c.num_vectors << " vectors");
    check_products<GemmParams>(c, [&](const GemmParams& params) {
        TestDevice::get().run(kernel.c_str(), shape_of(c.rows, c.num_vectors), params);
    });
}

/// Sizes at which stages, tiles of rows and tiles of vectors end early or exactly.
void check_shapes(TensorType type) {
    const bool is_super = traits_of(type).block_values == 256;
    const uint32_t step = traits_of(type).block_values;
    check_gemm({.type = type, .rows = 1, .cols = step, .num_vectors = 1});
    check_gemm({.type = type, .rows = 128, .cols = is_super ? 256u : 128u, .num_vectors = 64});
    check_gemm({.type = type, .rows = 130, .cols = is_super ? 512u : 192u, .num_vectors = 9});
    check_gemm({.type = type, .rows = 37, .cols = is_super ? 768u : 320u, .num_vectors = 67});
}

void check_additions(TensorType type) {
    for (const bool has_bias : {true, false}) {
        check_gemm({.type = type,
                    .rows = 33,
                    .cols = 256,
                    .num_vectors = 10,
                    .kind = BlockKind::extreme,
                    .scale = 1e5f,
                    .has_bias = has_bias,
                    .has_residual = !has_bias});
    }
}

}  // namespace

#define HOKKU_GEMM_TESTS(type)                                                    \
    TEST_CASE("GEMM " #type ": awkward shapes", "[cuda]") {                       \
        check_shapes(TensorType::type);                                           \
    }                                                                             \
    TEST_CASE("GEMM " #type ": extreme blocks, biases and residuals", "[cuda]") { \
        check_additions(TensorType::type);                                        \
    }

HOKKU_GEMM_TESTS(q4_k)
HOKKU_GEMM_TESTS(q5_k)
HOKKU_GEMM_TESTS(q6_k)
HOKKU_GEMM_TESTS(q8_0)
HOKKU_GEMM_TESTS(q4_0)
HOKKU_GEMM_TESTS(q4_1)
HOKKU_GEMM_TESTS(q5_0)
HOKKU_GEMM_TESTS(q5_1)
HOKKU_GEMM_TESTS(q2_k)
HOKKU_GEMM_TESTS(q3_k)
HOKKU_GEMM_TESTS(iq4_nl)
HOKKU_GEMM_TESTS(iq4_xs)
HOKKU_GEMM_TESTS(mxfp4)

TEST_CASE("GEMM of rare types: awkward shapes, extreme blocks", "[cuda]") {
    for (const TensorType type : kRareTypes) {
        const uint32_t step = traits_of(type).block_values;
        check_gemm({.type = type, .rows = 37, .cols = step, .num_vectors = 9});
        check_gemm({.type = type,
                    .rows = 130,
                    .cols = 512,
                    .num_vectors = 3,
                    .kind = BlockKind::extreme,
                    .has_bias = true});
    }
}

TEST_CASE("GEMM q4_k: a small product", "[cuda][quick][threads]") {
    check_gemm({.type = TensorType::q4_k, .rows = 19, .cols = 256, .num_vectors = 9});
}

TEST_CASE("GEMM: small products of the common types", "[cuda][quick]") {
    for (const TensorType type : {TensorType::q4_k, TensorType::q6_k, TensorType::q2_k}) {
        check_gemm({.type = type, .rows = 19, .cols = 256, .num_vectors = 9, .has_bias = true});
    }
}

TEST_CASE("GEMM: a vector that is no number stays so, others do not see it", "[cuda][quick]") {
    TestDevice& device = TestDevice::get();
    device.set_schedule({});
    const uint32_t rows = 5, cols = 256;
    const RepackedMatrix weight(TensorType::q4_k, rows, cols, BlockKind::plain, 1);
    std::vector<float> values = activations(3 * cols, 2);
    values[cols + 100] = std::numeric_limits<float>::infinity();
    const QuantizedBuffer x(3, cols);
    quantize(values, cols, x);
    const DeviceBuffer<float> out(3 * rows);
    device.run("gemm_q4_k", shape_of(rows, 3),
               GemmParams{weight.view(), x.view(), nullptr, nullptr, out.pointer(), rows});
    const std::vector<float> got = out.read();
    for (uint32_t i = 0; i < got.size(); ++i) CHECK(std::isnan(got[i]) == (i / rows == 1));
}
