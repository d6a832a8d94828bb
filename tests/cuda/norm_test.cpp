// SPDX-License-Identifier: Apache-2.0
// Quantisation of activations and RMSNorm with it, against double precision.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "cuda/support/device.h"
#include "cuda/support/tensors.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;
using cuda::GroupScale;
using cuda::NormParams;

namespace {

/// What quantised vectors must be of x, [num_vectors][n]: each value within half a step, the
/// largest of a group at the end of the range, sums of the codes, zeros behind the end.
void check_quantized(const std::vector<double>& x, uint32_t n, const QuantizedBuffer& quantized) {
    const std::vector<int8_t> codes = quantized.codes();
    const std::vector<GroupScale> scales = quantized.scales();
    const uint32_t groups = quantized.view().groups;
    for (size_t place = 0; place < scales.size(); ++place) {
        const size_t vector = place / groups, group = place % groups;
        double largest = 0;
        int32_t sums[2] = {0, 0};
        for (size_t i = 0; i < 32; ++i) {
            const size_t at = group * 32 + i;
            const double value = at < n ? x[vector * n + at] : 0.0;
            const double scale = double{scales[place].scale};
            const int32_t code = codes[place * 32 + i];
            INFO("vector " << vector << " value " << at << ": " << value);
            REQUIRE(std::abs(value - scale * code) <= scale * 0.5001 + std::abs(value) * 2e-6);
            if (at >= n) REQUIRE(code == 0);
            largest = std::max(largest, std::abs(value));
            sums[i / 16] += code;
        }
        REQUIRE(double{scales[place].scale} == Approx(largest / 127).epsilon(3e-6));
        REQUIRE(scales[place].sums[0] == sums[0]);
        REQUIRE(scales[place].sums[1] == sums[1]);
    }
}

struct NormCase {
    uint32_t n, num_vectors, num_threads;
    float scale;
    bool has_delta, has_weight;
};

void check_norm(const NormCase& c) {
    const float eps = 1e-5f;
    const std::vector<float> x = activations(size_t{c.n} * c.num_vectors, c.n, c.scale);
    const std::vector<float> delta = activations(x.size(), c.n + 1, c.scale);
    const std::vector<float> weight = activations(c.n, c.n + 2);
    std::vector<double> expected(x.size());
    std::vector<float> sums(x.size());
    for (size_t v = 0; v < c.num_vectors; ++v) {
        double square_sum = 0;
        for (size_t i = v * c.n; i < (v + 1) * c.n; ++i) {
            sums[i] = c.has_delta ? x[i] + delta[i] : x[i];
            square_sum += double{sums[i]} * sums[i];
        }
        const double factor = 1 / std::sqrt(square_sum / c.n + double{eps});
        for (size_t i = 0; i < c.n; ++i) {
            expected[v * c.n + i] =
                sums[v * c.n + i] * factor * (c.has_weight ? double{weight[i]} : 1.0);
        }
    }
    for (const emulation::Schedule& schedule : kernel_schedules()) {
        INFO(describe(schedule) << ", n " << c.n << ", " << c.num_threads << " threads");
        TestDevice::get().set_schedule(schedule);
        const DeviceBuffer<float> device_x(x), device_delta(delta), device_weight(weight);
        const QuantizedBuffer out(c.num_vectors, c.n);
        TestDevice::get().run(
            "norm_quantize", {.grid_x = c.num_vectors, .num_threads = c.num_threads},
            NormParams{device_x.pointer(), c.has_delta ? device_delta.pointer() : nullptr,
                       c.has_weight ? device_weight.pointer() : nullptr, out.view(), c.n, eps});
        check_quantized(expected, c.n, out);
        CHECK(device_x.read() == sums);
    }
}

void check_quantize(uint32_t n, float scale) {
    const std::vector<float> x = activations(size_t{n} * 3, n, scale);
    for (const emulation::Schedule& schedule : kernel_schedules()) {
        INFO(describe(schedule) << ", n " << n);
        TestDevice::get().set_schedule(schedule);
        const QuantizedBuffer out(3, n);
        quantize(x, n, out);
        check_quantized({x.begin(), x.end()}, n, out);
    }
}

}  // namespace

TEST_CASE("Quantise: every length keeps values within half a step", "[cuda][quick]") {
    for (const uint32_t n : {1u, 2u, 31u, 32u, 33u, 80u, 255u, 256u, 576u, 896u, 1111u}) {
        check_quantize(n, 1.0f);
    }
}

TEST_CASE("Quantise: activations over 65,504 and tiny ones are as good as others",
          "[cuda][quick]") {
    for (const float scale : {1e5f, 1e6f, 1e30f, 1e-20f, 1e-30f}) check_quantize(300, scale);
}

TEST_CASE("Quantise: groups of zeros and of subnormals are zero", "[cuda][quick]") {
    TestDevice::get().set_schedule({});
    std::vector<float> x(96, 0.0f);
    for (size_t i = 32; i < 64; ++i) x[i] = 1e-42f;
    x[70] = 2.0f;
    const QuantizedBuffer out(1, 96);
    quantize(x, 96, out);
    const std::vector<double> values = out.values();
    for (size_t i = 0; i < 64; ++i) CHECK(std::abs(values[i]) < 1e-37);
    CHECK(values[70] == Approx(2.0));
}

TEST_CASE("Quantise: values that are not finite spoil their group and no other", "[cuda][quick]") {
    TestDevice::get().set_schedule({});
    for (const float bad :
         {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
          std::numeric_limits<float>::quiet_NaN()}) {
        std::vector<float> x = activations(96, 3);
        x[40] = bad;
        const QuantizedBuffer out(1, 96);
        quantize(x, 96, out);
        const std::vector<GroupScale> scales = out.scales();
        CHECK(std::isfinite(scales[0].scale));
        CHECK(std::isnan(scales[1].scale));
        CHECK(std::isfinite(scales[2].scale));
    }
}

TEST_CASE("Norm: two small vectors", "[cuda][quick][threads]") {
    check_norm({80, 2, 128, 1.0f, true, true});
}

TEST_CASE("Norm: residual add, RMSNorm and quantisation of awkward sizes", "[cuda][quick]") {
    for (const uint32_t n : {1u, 31u, 32u, 80u, 576u, 896u, 2049u}) {
        for (const uint32_t num_threads : {32u, 128u, 512u}) {
            check_norm({n, 2, num_threads, 1.0f, true, true});
        }
    }
}

TEST_CASE("Norm: without residual, without weight", "[cuda][quick]") {
    for (const uint32_t num_threads : {64u, 1024u}) {
        check_norm({1536, 1, num_threads, 1.0f, false, true});
        check_norm({1536, 1, num_threads, 1.0f, true, false});
        check_norm({1536, 8, num_threads, 1.0f, false, false});
    }
}

TEST_CASE("Norm: residual streams of large models, beyond the range of halves", "[cuda][quick]") {
    for (const float scale : {1e-3f, 1e4f, 1e5f, 1e8f})
        check_norm({2048, 1, 256, scale, true, true});
}

namespace {

struct BranchCase {
    cuda::NormKind kind;
    uint32_t n, num_threads;
    bool has_weight, has_bias, is_addition;
    float scale;
};

/// Rows lie further apart than they are long; what is between them stays.
void check_branch(const BranchCase& c) {
    constexpr uint32_t kRows = 3;
    constexpr float kEps = 1e-5f;
    const uint32_t x_stride = c.n + 5, y_stride = c.n + 3;
    const std::vector<float> x = activations(size_t{kRows} * x_stride, 1, 3.0f);
    const std::vector<float> y = activations(size_t{kRows} * y_stride, 2, 7.0f);
    const std::vector<float> weight = activations(c.n, 3), bias = activations(c.n, 4);
    const DeviceBuffer<float> device_x(x), device_y(y), device_weight(weight), device_bias(bias);
    TestDevice::get().run(
        "norm_add", {.grid_x = kRows, .num_threads = c.num_threads},
        cuda::NormAddParams{.x = device_x.pointer(),
                            .y = device_y.pointer(),
                            .weight = c.has_weight ? device_weight.pointer() : nullptr,
                            .bias = c.has_bias ? device_bias.pointer() : nullptr,
                            .n = c.n,
                            .x_stride = x_stride,
                            .y_stride = y_stride,
                            .kind = c.kind,
                            .is_addition = c.is_addition ? 1u : 0u,
                            .eps = kEps,
                            .scale = c.scale});
    const std::vector<float> out = device_x.read();
    for (uint32_t row = 0; row < kRows; ++row) {
        const float* from = y.data() + row * y_stride;
        double mean = 0, squares = 0;
        if (c.kind == cuda::kLayerNorm) mean = std::accumulate(from, from + c.n, 0.0) / c.n;
        for (uint32_t i = 0; i < c.n; ++i) squares += (from[i] - mean) * (from[i] - mean);
        double factor = 1.0 / std::sqrt(squares / c.n + double{kEps});
        if (c.kind == cuda::kNoNorm) factor = 1.0;
        for (uint32_t i = 0; i < x_stride; ++i) {
            const float before = x[row * x_stride + i];
            INFO("row " << row << " value " << i);
            if (i >= c.n) {
                REQUIRE(out[row * x_stride + i] == before);
                continue;
            }
            double value = (double{from[i]} - mean) * factor;
            if (c.has_weight) value *= double{weight[i]};
            if (c.has_bias) value += double{bias[i]};
            value = value * double{c.scale} + (c.is_addition ? double{before} : 0.0);
            // A few roundings of each value, and of the sums.
            REQUIRE(double{out[row * x_stride + i]} == Approx(value).epsilon(1e-5).margin(1e-4));
        }
    }
}

}  // namespace

TEST_CASE("Norms behind branches: added or in place, of every kind, rows apart", "[cuda][quick]") {
    using namespace hokku::cuda;
    for (const emulation::Schedule& schedule : kernel_schedules()) {
        TestDevice::get().set_schedule(schedule);
        INFO(describe(schedule));
        check_branch({kRmsNorm, 64, 32, true, false, true, 1.0f});
        check_branch({kRmsNorm, 100, 64, true, false, false, 0.5f});
        check_branch({kLayerNorm, 200, 96, true, true, true, 0.22f});
        check_branch({kLayerNorm, 33, 32, true, false, false, 1.0f});
        check_branch({kNoNorm, 70, 64, false, false, true, 0.22f});
    }
}
