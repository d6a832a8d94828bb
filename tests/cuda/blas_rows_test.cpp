// SPDX-License-Identifier: Apache-2.0
// What stands around the products of a library: repacked weights as halves of every type, rows as
// sums of two halves, and scale, bias and residual of the result.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/half.h"
#include "cuda/support/device.h"
#include "cuda/support/tensors.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

struct Split {
    std::vector<uint16_t> high, low;
    std::vector<float> scales;
};

Split split(const char* kernel, const std::vector<float>& x, uint32_t num_rows, uint32_t n,
            uint32_t stride) {
    const DeviceBuffer<float> device_x(x), scales(num_rows);
    const DeviceBuffer<uint16_t> high(size_t{num_rows} * n), low(size_t{num_rows} * n);
    TestDevice::get().run(kernel, {.grid_x = num_rows, .num_threads = 256},
                          cuda::SplitRowsParams{device_x.pointer(), high.pointer(), low.pointer(),
                                                scales.pointer(), n, stride});
    return {high.read(), low.read(), scales.read()};
}

}  // namespace

TEST_CASE("Dequantised weights: every type as halves", "[cuda]") {
    std::vector<TensorType> types;
    for (const TensorType type : weight_types()) {
        if (cuda::can_repack(type)) types.push_back(type);
    }
    REQUIRE(types.size() == 25);
    for (const TensorType type : types) {
        INFO(traits_of(type).name);
        const uint32_t n = 768, num_rows = 5;
        const RepackedMatrix matrix(type, num_rows, n, BlockKind::extreme, 3);
        const DeviceBuffer<uint16_t> out(n * num_rows);
        for (const emulation::Schedule& schedule : kernel_schedules()) {
            TestDevice::get().set_schedule(schedule);
            TestDevice::get().run(kernel_name("dequantize", type).c_str(),
                                  {.grid_x = num_rows, .num_threads = 128},
                                  cuda::DequantizeParams{matrix.view(), out.pointer()});
            const std::vector<uint16_t> got = out.read();
            for (size_t i = 0; i < got.size(); ++i) {
                const float exact = std::clamp(matrix.values()[i], -65504.0f, 65504.0f);
                // A minimum is rounded before the half is.
                REQUIRE(std::abs(half_to_float(got[i]) - exact) <=
                        0x1p-11f * std::abs(exact) + 2e-3f);
            }
        }
    }
}

TEST_CASE("Split rows: two halves have the digits of floats, whatever their size",
          "[cuda][quick]") {
    const uint32_t n = 300, stride = 320, num_rows = 6;
    std::vector<float> x = activations(size_t{num_rows} * stride, 9);
    const float sizes[num_rows] = {1.0f, 3e5f, 1e30f, 1e-30f, 0.0f, 1.0f};
    for (uint32_t r = 0; r < num_rows; ++r) {
        for (uint32_t i = 0; i < stride; ++i) x[r * stride + i] *= sizes[r];
    }
    x[5 * stride + 7] = std::numeric_limits<float>::infinity();
    // Behind a row's end lies what would be the largest.
    for (uint32_t r = 0; r < num_rows; ++r) x[r * stride + n] = 1e35f;
    for (const emulation::Schedule& schedule : kernel_schedules()) {
        TestDevice::get().set_schedule(schedule);
        const Split f16 = split("split_rows_f16", x, num_rows, n, stride);
        const Split bf16 = split("split_rows_bf16", x, num_rows, n, stride);
        for (uint32_t r = 0; r < num_rows - 1; ++r) {
            float largest = 0;
            for (uint32_t i = 0; i < n; ++i)
                largest = std::max(largest, std::abs(x[r * stride + i]));
            for (uint32_t i = 0; i < n; ++i) {
                const size_t at = size_t{r} * n + i;
                const double exact = double{x[r * stride + i]};
                const double halves =
                    double{f16.scales[r]} * (double{half_to_float(f16.high[at])} +
                                             double{half_to_float(f16.low[at]) / cuda::kLowFactor});
                REQUIRE(std::abs(halves - exact) <=
                        0x1p-22 * std::abs(exact) + 0x1p-34 * double{largest});
                const double bfloats =
                    double{bfloat_to_float(bf16.high[at])} + double{bfloat_to_float(bf16.low[at])};
                REQUIRE(std::abs(bfloats - exact) <= 0x1p-16 * std::abs(exact) + 1e-38);
            }
        }
        CHECK(std::isnan(f16.scales[5]));
        CHECK(std::isnan(bfloat_to_float(bf16.low[5 * n + 7])));
    }
}

TEST_CASE("Finished rows: scale, bias and residual, in place or not", "[cuda][quick]") {
    const uint32_t n = 261, y_stride = 300, out_stride = 270, num_rows = 3;
    const std::vector<float> y = activations(size_t{num_rows} * y_stride, 1);
    const std::vector<float> before = activations(size_t{num_rows} * out_stride, 2);
    const std::vector<float> bias = activations(n, 3);
    const std::vector<float> scales = {2.0f, 0.5f, 1024.0f};
    const DeviceBuffer<float> device_y(y), device_bias(bias), device_scales(scales);
    for (const emulation::Schedule& schedule : kernel_schedules()) {
        TestDevice::get().set_schedule(schedule);
        for (const bool has_all : {false, true}) {
            const DeviceBuffer<float> out(before);
            TestDevice::get().run(
                "finish_rows", {.grid_x = 2, .grid_y = num_rows, .num_threads = 256},
                cuda::FinishRowsParams{
                    device_y.pointer(), has_all ? device_scales.pointer() : nullptr,
                    has_all ? device_bias.pointer() : nullptr, has_all ? out.pointer() : nullptr,
                    out.pointer(), n, y_stride, out_stride});
            const std::vector<float> got = out.read();
            for (uint32_t r = 0; r < num_rows; ++r) {
                for (uint32_t i = 0; i < out_stride; ++i) {
                    const size_t at = size_t{r} * out_stride + i;
                    float expected = before[at];
                    if (i < n && has_all) expected += y[r * y_stride + i] * scales[r] + bias[i];
                    if (i < n && !has_all) expected = y[r * y_stride + i];
                    REQUIRE(std::abs(got[at] - expected) <= 1e-5f * (1 + std::abs(expected)));
                }
            }
        }
    }
}
