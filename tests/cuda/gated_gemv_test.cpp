// SPDX-License-Identifier: Apache-2.0
// Gate, up and activation in one kernel, and the activation of separate products, against double
// precision.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cuda/support/device.h"
#include "cuda/support/tensors.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;
using cuda::ActivateParams;
using cuda::GatedGemvParams;

namespace {

double exact_activation(uint32_t activation, double x) {
    switch (activation) {
        case cuda::kSilu:
            return x / (1 + std::exp(-x));
        case cuda::kGeluTanh:
            return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
        case cuda::kGeluErf:
            return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5)));
        default:
            return x > 0 ? x * x : 0;
    }
}

struct GatedCase {
    TensorType type = TensorType::q4_k;
    uint32_t rows = 64, cols = 512, num_vectors = 1;
    uint32_t activation = cuda::kSilu;
    float scale = 1.0f;
    bool has_biases = false;
};

struct Product {
    double value = 0, magnitude = 0;
};

Product product(const RepackedMatrix& weight, uint32_t row, uint32_t cols, const double* x,
                double bias) {
    Product out{bias, std::abs(bias)};
    for (uint32_t first = 0; first < cols; first += 32) {
        double largest = 0, x_sum = 0;
        for (uint32_t i = first; i < first + 32; ++i) {
            const double w = double{weight.values()[size_t{row} * cols + i]};
            out.value += w * x[i];
            largest = std::max(largest, std::abs(w));
            x_sum += std::abs(x[i]);
        }
        out.magnitude += largest * x_sum;
    }
    return out;
}

void check_gated(const GatedCase& c) {
    std::string name(traits_of(c.type).name);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char x) { return x >= 'A' && x <= 'Z' ? static_cast<char>(x + 32) : x; });
    const uint32_t bucket = c.num_vectors <= 2 ? c.num_vectors : (c.num_vectors <= 4 ? 4 : 8);
    const std::string kernel = "gated_gemv_" + name + "_" + std::to_string(bucket);
    INFO(kernel << ": " << c.rows << " x " << c.cols << ", " << c.num_vectors
                << " vectors, activation " << c.activation);
    TestDevice& device = TestDevice::get();
    device.set_schedule({});
    const RepackedMatrix gate(c.type, c.rows, c.cols, BlockKind::plain, 1);
    const RepackedMatrix up(c.type, c.rows, c.cols, BlockKind::plain, 2);
    const QuantizedBuffer x(c.num_vectors, c.cols);
    quantize(activations(size_t{c.num_vectors} * c.cols, 3, c.scale), c.cols, x);
    const std::vector<double> x_values = x.values();
    const std::vector<float> gate_bias = activations(c.rows, 4), up_bias = activations(c.rows, 5);
    const DeviceBuffer<float> device_gate_bias(gate_bias), device_up_bias(up_bias);
    for (const emulation::Schedule& schedule : kernel_schedules()) {
        INFO(describe(schedule));
        device.set_schedule(schedule);
        const QuantizedBuffer out(c.num_vectors, c.rows);
        const uint32_t groups = out.view().groups;
        device.run(kernel.c_str(), {.grid_x = groups, .num_threads = 256},
                   GatedGemvParams{.gate = gate.view(),
                                   .up = up.view(),
                                   .x = x.view(),
                                   .gate_bias = c.has_biases ? device_gate_bias.pointer() : nullptr,
                                   .up_bias = c.has_biases ? device_up_bias.pointer() : nullptr,
                                   .out = out.view(),
                                   .activation = c.activation});
        const std::vector<double> got = out.values();
        const std::vector<cuda::GroupScale> scales = out.scales();
        for (uint32_t v = 0; v < c.num_vectors; ++v) {
            const double* xv = x_values.data() + size_t{v} * c.cols;
            for (uint32_t r = 0; r < groups * 32; ++r) {
                const size_t place = size_t{v} * groups * 32 + r;
                if (r >= c.rows) {
                    REQUIRE(got[place] == 0);
                    continue;
                }
                const Product g =
                    product(gate, r, c.cols, xv, c.has_biases ? double{gate_bias[r]} : 0.0);
                const Product u =
                    product(up, r, c.cols, xv, c.has_biases ? double{up_bias[r]} : 0.0);
                const double activated = exact_activation(c.activation, g.value);
                // Slopes of the activations are at most 1.13, but for that of x^2.
                const double slope =
                    c.activation == cuda::kReluSquared ? 2 * std::abs(g.value) + 1e-3 : 1.2;
                const double tolerance = slope * 1e-6 * g.magnitude * (std::abs(u.value) + 1e-6) +
                                         std::abs(activated) * 2e-6 * u.magnitude + 1e-30;
                INFO("vector " << v << " row " << r);
                REQUIRE(std::abs(got[place] - activated * u.value) <=
                        double{scales[place / 32].scale} * 0.501 + tolerance);
            }
        }
    }
}

void check_type(TensorType type) {
    const bool has_super_blocks = traits_of(type).block_values == 256;
    for (const uint32_t num_vectors : {1u, 2u, 3u, 8u}) {
        check_gated({.type = type,
                     .rows = 40,
                     .cols = has_super_blocks ? 1280u : 1056u,
                     .num_vectors = num_vectors,
                     .has_biases = num_vectors == 3});
    }
    check_gated({.type = type, .rows = 1, .cols = 256});
    check_gated({.type = type, .rows = 33, .cols = 256, .scale = 1e5f});
}

}  // namespace

#define HOKKU_GATED_TEST(type)                                                              \
    TEST_CASE("Gated GEMV " #type ": vectors, biases, activations over 65,504", "[cuda]") { \
        check_type(TensorType::type);                                                       \
    }
HOKKU_GATED_TEST(q4_k)
HOKKU_GATED_TEST(q5_k)
HOKKU_GATED_TEST(q6_k)
HOKKU_GATED_TEST(q8_0)
HOKKU_GATED_TEST(q4_0)
HOKKU_GATED_TEST(q4_1)
HOKKU_GATED_TEST(q5_0)
HOKKU_GATED_TEST(q5_1)
HOKKU_GATED_TEST(q2_k)
HOKKU_GATED_TEST(q3_k)
HOKKU_GATED_TEST(iq4_nl)
HOKKU_GATED_TEST(iq4_xs)
HOKKU_GATED_TEST(mxfp4)

TEST_CASE("Gated GEMV: every activation", "[cuda][quick]") {
    for (const uint32_t activation :
         {cuda::kSilu, cuda::kGeluTanh, cuda::kGeluErf, cuda::kReluSquared}) {
        check_gated({.activation = activation, .has_biases = true});
    }
}

namespace {

constexpr cuda::XieluParams kXieluParams{0.8f, 0.9f, 0.5f, -1e-6f};

/// activation(gate) * up of all that activate_quantize knows.
double exact_activated(uint32_t activation, double gate, double up) {
    if (activation == cuda::kSwigluClamped) {
        const double g = std::min(gate, 7.0), u = std::clamp(up, -7.0, 7.0);
        return g / (1.0 + std::exp(-1.702 * g)) * (u + 1.0);
    }
    if (activation == cuda::kXielu) {
        const cuda::XieluParams& p = kXieluParams;
        const double curve =
            gate > 0 ? double{p.alpha_p} * gate * gate
                     : (std::expm1(std::min(gate, double{p.eps})) - gate) * double{p.alpha_n};
        return (curve + double{p.beta} * gate) * up;
    }
    return exact_activation(activation, gate) * up;
}

}  // namespace

TEST_CASE("Activation of separate products: every function, with up and alone", "[cuda][quick]") {
    const uint32_t n = 300, stride = 310, num_vectors = 3;
    std::vector<float> gate = activations(num_vectors * stride, 1, 3.0f);
    const std::vector<float> up = activations(num_vectors * stride, 2);
    gate[3] = 1e6f;
    gate[40] = -1e6f;
    const DeviceBuffer<float> device_gate(gate), device_up(up);
    for (const uint32_t activation : {cuda::kSilu, cuda::kGeluTanh, cuda::kGeluErf,
                                      cuda::kReluSquared, cuda::kSwigluClamped, cuda::kXielu}) {
        for (const bool has_up : {true, false}) {
            for (const emulation::Schedule& schedule : kernel_schedules()) {
                INFO(describe(schedule) << ", activation " << activation);
                TestDevice::get().set_schedule(schedule);
                const QuantizedBuffer out(num_vectors, n);
                TestDevice::get().run(
                    "activate_quantize", {.grid_x = 2, .grid_y = num_vectors, .num_threads = 256},
                    ActivateParams{device_gate.pointer(), has_up ? device_up.pointer() : nullptr,
                                   out.view(), n, stride, activation, kXieluParams});
                const std::vector<double> got = out.values();
                const std::vector<cuda::GroupScale> scales = out.scales();
                for (uint32_t i = 0; i < got.size(); ++i) {
                    const uint32_t at = i % 320;
                    if (at >= n) continue;
                    const size_t place = i / 320 * stride + at;
                    const double exact = exact_activated(activation, double{gate[place]},
                                                         has_up ? double{up[place]} : 1.0);
                    REQUIRE(std::abs(got[i] - exact) <=
                            double{scales[i / 32].scale} * 0.501 + 3e-6 * std::abs(exact) + 1e-30);
                }
            }
        }
    }
}
