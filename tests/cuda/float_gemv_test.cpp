// SPDX-License-Identifier: Apache-2.0
// Products with float32, float16 and bfloat16 weights against double precision.
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "backend/half.h"
#include "cuda/support/device.h"
#include "cuda/support/tensors.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;
using cuda::FloatGemvParams;

namespace {

struct FloatCase {
    std::string type;
    uint32_t rows, cols, num_vectors;
    uint32_t warps_per_row = 1;
    bool has_bias = false, has_residual = false;
};

/// Weights as the device gets them; `values` becomes what they stand for.
std::vector<uint8_t> stored(const std::string& type, std::vector<float>& values) {
    const size_t size = type == "f32" ? 4 : 2;
    std::vector<uint8_t> bytes(values.size() * size);
    for (size_t i = 0; i < values.size(); ++i) {
        uint16_t bits = float_to_half(values[i]);
        if (type == "bf16") {
            bits = static_cast<uint16_t>(std::bit_cast<uint32_t>(values[i]) >> 16);
        }
        if (type == "f16") values[i] = half_to_float(bits);
        if (type == "bf16") values[i] = bfloat_to_float(bits);
        if (type == "f32") {
            std::memcpy(bytes.data() + 4 * i, &values[i], 4);
        } else {
            std::memcpy(bytes.data() + 2 * i, &bits, 2);
        }
    }
    return bytes;
}

void check_float_gemv(const FloatCase& c) {
    INFO(c.type << ": " << c.rows << " x " << c.cols << ", " << c.num_vectors << " vectors, "
                << c.warps_per_row << " warps a row");
    std::vector<float> weight = activations(size_t{c.rows} * c.cols, c.cols);
    const std::vector<uint8_t> bytes = stored(c.type, weight);
    const uint32_t x_stride = c.cols + 8, out_stride = c.rows + 1;
    // Beyond the range of halves: these stay float32.
    const std::vector<float> x = activations(size_t{c.num_vectors} * x_stride, 2, 1e5f);
    const std::vector<float> bias = activations(c.rows, 3, 1e5f);
    const std::vector<float> residual = activations(size_t{c.num_vectors} * out_stride, 4, 1e5f);
    const DeviceBuffer<uint8_t> device_weight(bytes);
    const DeviceBuffer<float> device_x(x), device_bias(bias);
    const uint32_t bucket = c.num_vectors <= 2 ? c.num_vectors : (c.num_vectors <= 4 ? 4 : 8);
    const std::string kernel = "gemv_" + c.type + "_" + std::to_string(bucket);
    const uint32_t rows_of_block = 8 / c.warps_per_row;
    for (const emulation::Schedule& schedule : kernel_schedules()) {
        INFO(describe(schedule));
        TestDevice::get().set_schedule(schedule);
        const DeviceBuffer<float> out(residual);
        TestDevice::get().run(
            kernel.c_str(),
            {.grid_x = (c.rows + rows_of_block - 1) / rows_of_block, .num_threads = 256},
            FloatGemvParams{.weight = device_weight.pointer(),
                            .x = device_x.pointer(),
                            .bias = c.has_bias ? device_bias.pointer() : nullptr,
                            .residual = c.has_residual ? out.pointer() : nullptr,
                            .out = out.pointer(),
                            .rows = c.rows,
                            .cols = c.cols,
                            .x_stride = x_stride,
                            .out_stride = out_stride,
                            .num_vectors = c.num_vectors,
                            .warps_per_row = c.warps_per_row});
        const std::vector<float> got = out.read();
        for (uint32_t v = 0; v < c.num_vectors; ++v) {
            for (uint32_t r = 0; r < c.rows; ++r) {
                const size_t place = size_t{v} * out_stride + r;
                double sum = c.has_bias ? double{bias[r]} : 0.0;
                if (c.has_residual) sum += double{residual[place]};
                double magnitude = std::abs(sum) + (c.has_residual ? 1e5 : 0.0);
                for (uint32_t i = 0; i < c.cols; ++i) {
                    const double term = double{weight[size_t{r} * c.cols + i]} *
                                        double{x[size_t{v} * x_stride + i]};
                    sum += term;
                    magnitude += std::abs(term);
                }
                INFO("vector " << v << " row " << r);
                REQUIRE(std::abs(double{got[place]} - sum) <= 2e-6 * magnitude);
            }
        }
    }
}

void check_type(const std::string& type) {
    uint32_t warps_per_row = 1;
    for (const uint32_t cols : {8u, 56u, 256u, 264u, 896u, 2048u}) {
        for (const uint32_t num_vectors : {1u, 2u, 3u, 8u}) {
            check_float_gemv({type, 11, cols, num_vectors, warps_per_row});
        }
        warps_per_row = warps_per_row == 8 ? 1 : warps_per_row * 2;
    }
    check_float_gemv({type, 1, 512, 1, 8, true, true});
    check_float_gemv({type, 35, 64, 5, 2, true, false});
    check_float_gemv({type, 35, 64, 4, 1, false, true});
}

}  // namespace

TEST_CASE("GEMV f32: awkward shapes, biases, residuals", "[cuda][quick]") {
    check_type("f32");
}
TEST_CASE("GEMV f16: awkward shapes, biases, residuals", "[cuda][quick]") {
    check_type("f16");
}
TEST_CASE("GEMV bf16: awkward shapes, biases, residuals", "[cuda][quick]") {
    check_type("bf16");
}
