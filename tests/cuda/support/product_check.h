// SPDX-License-Identifier: Apache-2.0
// Products of repacked weights and quantised vectors against double precision, in every order of
// threads: what is left is float32 rounding.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "cuda/support/device.h"
#include "cuda/support/tensors.h"
#include "support/catch.h"

namespace hokku::testing {

/// `c` has type, rows, cols, num_vectors, kind, scale, has_bias and has_residual. `run(params)`
/// launches the kernel with these parameters, which name what all kernels of products have.
template <class Params, class Case, class Run>
void check_products(const Case& c, const Run& run) {
    TestDevice& device = TestDevice::get();
    device.set_schedule({});
    const RepackedMatrix weight(c.type, c.rows, c.cols, c.kind, c.rows * 7 + c.cols);
    const QuantizedBuffer x(c.num_vectors, c.cols);
    quantize(activations(size_t{c.num_vectors} * c.cols, c.cols, c.scale), c.cols, x);
    const std::vector<double> x_values = x.values();
    const std::vector<float> bias = activations(c.rows, 5, 100.0f);
    const uint32_t stride = c.rows + 3;
    const std::vector<float> residual = activations(size_t{c.num_vectors} * stride, 6, 10.0f);
    const DeviceBuffer<float> device_bias(bias);
    for (const emulation::Schedule& schedule : kernel_schedules()) {
        INFO(describe(schedule));
        device.set_schedule(schedule);
        const DeviceBuffer<float> out(residual);
        Params params{};
        params.weight = weight.view();
        params.x = x.view();
        params.bias = c.has_bias ? device_bias.pointer() : nullptr;
        params.residual = c.has_residual ? out.pointer() : nullptr;
        params.out = out.pointer();
        params.out_stride = stride;
        run(params);
        const std::vector<float> got = out.read();
        for (uint32_t v = 0; v < c.num_vectors; ++v) {
            const double* xv = x_values.data() + size_t{v} * c.cols;
            for (uint32_t r = 0; r < c.rows; ++r) {
                Product exact =
                    exact_product(weight.values().data() + size_t{r} * c.cols, xv, c.cols);
                if (c.has_bias) exact.add(bias[r], 100.0);
                if (c.has_residual) exact.add(residual[size_t{v} * stride + r], 10.0);
                INFO("vector " << v << " row " << r);
                REQUIRE(std::abs(double{got[size_t{v} * stride + r]} - exact.sum) <=
                        1e-6 * exact.magnitude);
            }
            // What lies behind the rows of a vector is not touched.
            for (uint32_t i = c.rows; i < stride; ++i) {
                REQUIRE(got[size_t{v} * stride + i] == residual[size_t{v} * stride + i]);
            }
        }
    }
}

}  // namespace hokku::testing
