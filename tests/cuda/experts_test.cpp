// SPDX-License-Identifier: Apache-2.0
// Expert layers: the router against the CPU's, products with chosen experts and their sum against
// double precision.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "backend/cpu/router.h"
#include "cuda/support/device.h"
#include "cuda/support/tensors.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;
using cuda::RouteParams;

namespace {

void check_route(const ExpertSpec& spec, bool has_bias, float scale = 1.0f) {
    INFO(spec.num_used << " of " << spec.num_experts << ", " << spec.num_groups
                       << " groups, gating " << static_cast<int>(spec.gating));
    const uint32_t num_rows = 3, n = spec.num_experts, k = spec.num_used;
    std::vector<float> logits = activations(num_rows * n, n + k, scale);
    logits[n] = logits[n + 1] = 9.0f;  // Two equal ones.
    const std::vector<float> bias = activations(n, 5, 0.1f);
    std::vector<uint32_t> ids(num_rows * k);
    std::vector<float> weights(num_rows * k);
    for (uint32_t r = 0; r < num_rows; ++r) {
        std::vector<float> scores(logits.begin() + r * n, logits.begin() + (r + 1) * n);
        cpu::choose_experts(spec, scores.data(), has_bias ? bias.data() : nullptr,
                            ids.data() + r * k, weights.data() + r * k);
    }
    const DeviceBuffer<float> device_logits(logits), device_bias(bias);
    for (const emulation::Schedule& schedule : kernel_schedules()) {
        INFO(describe(schedule));
        TestDevice::get().set_schedule(schedule);
        const DeviceBuffer<float> device_weights(num_rows * k);
        const DeviceBuffer<uint32_t> device_ids(num_rows * k);
        TestDevice::get().run(
            "route_experts", {.grid_x = num_rows},
            RouteParams{.logits = device_logits.pointer(),
                        .selection_bias = has_bias ? device_bias.pointer() : nullptr,
                        .ids = device_ids.pointer(),
                        .weights = device_weights.pointer(),
                        .num_experts = n,
                        .num_used = k,
                        .num_groups = spec.num_groups,
                        .num_groups_used = spec.num_groups_used,
                        .gating = static_cast<uint32_t>(spec.gating),
                        .renormalise = spec.renormalise ? 1u : 0u,
                        .min_weight_sum = spec.min_weight_sum,
                        .weight_scale = spec.weight_scale});
        CHECK(device_ids.read() == ids);
        const std::vector<float> got = device_weights.read();
        for (size_t i = 0; i < got.size(); ++i) {
            REQUIRE(std::abs(got[i] - weights[i]) <= 2e-6f * std::abs(weights[i]) + 1e-12f);
        }
    }
}

}  // namespace

TEST_CASE("Router: every gating, with and without groups, biases and renormalisation",
          "[cuda][quick]") {
    for (const Gating gating : {Gating::softmax, Gating::sigmoid, Gating::softmax_chosen}) {
        for (const bool renormalise : {true, false}) {
            check_route({.num_experts = 8,
                         .num_used = 2,
                         .gating = gating,
                         .renormalise = renormalise,
                         .weight_scale = 2.5f},
                        false);
            check_route(
                {.num_experts = 60, .num_used = 4, .gating = gating, .renormalise = renormalise},
                true);
        }
    }
    check_route({.num_experts = 64,
                 .num_used = 6,
                 .gating = Gating::sigmoid,
                 .num_groups = 8,
                 .num_groups_used = 3,
                 .min_weight_sum = 1e-3f},
                true);
    check_route({.num_experts = 512, .num_used = 10}, false, 4.0f);
    check_route({.num_experts = 4, .num_used = 1, .num_groups = 4, .num_groups_used = 1}, false);
}

TEST_CASE("Experts: products with the chosen rows of every type", "[cuda]") {
    const uint32_t num_experts = 5, rows = 21, cols = 512, num_vectors = 2, num_used = 3;
    std::vector<TensorType> types;
    for (const TensorType type : weight_types()) {
        if (cuda::can_repack(type)) types.push_back(type);
    }
    const std::vector<uint32_t> ids = {4, 0, 2, 2, 3, 1};
    const std::vector<float> bias = activations(num_experts * rows, 5, 10.0f);
    const DeviceBuffer<uint32_t> device_ids(ids);
    const DeviceBuffer<float> device_bias(bias);
    for (const TensorType type : types) {
        INFO(traits_of(type).name);
        TestDevice::get().set_schedule({});
        const RepackedMatrix weight(type, num_experts * rows, cols, BlockKind::plain, 9);
        for (const uint32_t of_vector : {num_used, 1u}) {  // Gate and up, then down.
            const uint32_t num_inputs = of_vector == 1 ? num_vectors * num_used : num_vectors;
            const QuantizedBuffer x(num_inputs, cols);
            quantize(activations(size_t{num_inputs} * cols, 3), cols, x);
            const std::vector<double> x_values = x.values();
            for (const emulation::Schedule& schedule : kernel_schedules()) {
                TestDevice::get().set_schedule(schedule);
                const DeviceBuffer<float> out(num_vectors * num_used * rows);
                TestDevice::get().run(kernel_name("expert", type).c_str(),
                                      {.grid_x = (rows + 7) / 8,
                                       .grid_y = num_vectors * num_used,
                                       .num_threads = 256},
                                      cuda::ExpertGemvParams{.gemv = {.weight = weight.view(),
                                                                      .x = x.view(),
                                                                      .bias = device_bias.pointer(),
                                                                      .residual = nullptr,
                                                                      .out = out.pointer(),
                                                                      .out_stride = rows,
                                                                      .warps_per_row = 2},
                                                             .ids = device_ids.pointer(),
                                                             .rows_of_expert = rows,
                                                             .outputs_of_vector = of_vector});
                const std::vector<float> got = out.read();
                for (size_t i = 0; i < got.size(); ++i) {
                    const size_t row = ids[i / rows] * rows + i % rows;
                    Product exact =
                        exact_product(weight.values().data() + row * cols,
                                      x_values.data() + i / rows / of_vector * cols, cols);
                    exact.add(bias[row], 10.0);
                    REQUIRE(std::abs(double{got[i]} - exact.sum) <= 1e-6 * exact.magnitude);
                }
            }
        }
    }
}

TEST_CASE("Experts: outputs are sorted by them", "[cuda][quick]") {
    const std::vector<uint32_t> ids = {4, 0, 2, 2, 3, 1, 0, 2, 4};
    const DeviceBuffer<uint32_t> device_ids(ids), outputs(ids.size()), bounds(7);
    for (const emulation::Schedule& schedule : kernel_schedules()) {
        TestDevice::get().set_schedule(schedule);
        TestDevice::get().run("sort_experts", {.num_threads = 512},
                              cuda::SortExpertsParams{device_ids.pointer(), outputs.pointer(),
                                                      bounds.pointer(), 9, 6});
        CHECK(outputs.read() == std::vector<uint32_t>{1, 6, 5, 2, 3, 7, 4, 0, 8});
        CHECK(bounds.read() == std::vector<uint32_t>{0, 2, 3, 6, 7, 9, 9});
    }
}

TEST_CASE("Experts: products of many outputs, of every type", "[cuda]") {
    constexpr uint32_t kExperts = 3, kRows = 133, kCols = 512, kVectors = 70, kUsed = 2;
    std::vector<uint32_t> ids;  // Expert 0 gets more than a tile, expert 1 a few, expert 2 none.
    for (uint32_t i = 0; i < kVectors * kUsed; ++i) ids.push_back(i % 9 == 4 ? 1 : 0);
    const DeviceBuffer<uint32_t> device_ids(ids), outputs(ids.size()), bounds(kExperts + 1);
    const std::vector<float> bias = activations(kExperts * kRows, 5, 10.0f);
    const DeviceBuffer<float> device_bias(bias);
    TestDevice& device = TestDevice::get();
    device.set_schedule({});
    device.run("sort_experts", {.num_threads = 512},
               cuda::SortExpertsParams{device_ids.pointer(), outputs.pointer(), bounds.pointer(),
                                       kVectors * kUsed, kExperts});
    const QuantizedBuffer x(kVectors, kCols);
    quantize(activations(size_t{kVectors} * kCols, 3), kCols, x);
    const std::vector<double> x_values = x.values();
    for (const TensorType type : weight_types()) {
        if (!cuda::can_repack(type)) continue;
        INFO(traits_of(type).name);
        device.set_schedule({.order = emulation::Order::random, .seed = 3});
        const RepackedMatrix weight(type, kExperts * kRows, kCols, BlockKind::plain, 9);
        const DeviceBuffer<float> out(kVectors * kUsed * kRows);
        device.run(kernel_name("expert_gemm", type).c_str(),
                   {.grid_x = 3, .grid_y = 2, .grid_z = kExperts, .num_threads = 256},
                   cuda::ExpertGemmParams{.gemm = {.weight = weight.view(),
                                                   .x = x.view(),
                                                   .bias = device_bias.pointer(),
                                                   .residual = nullptr,
                                                   .out = out.pointer(),
                                                   .out_stride = kRows},
                                          .outputs = outputs.pointer(),
                                          .bounds = bounds.pointer(),
                                          .rows_of_expert = kRows,
                                          .outputs_of_vector = kUsed});
        const std::vector<float> got = out.read();
        for (size_t i = 0; i < got.size(); ++i) {
            const size_t row = ids[i / kRows] * kRows + i % kRows;
            Product exact = exact_product(weight.values().data() + row * kCols,
                                          x_values.data() + i / kRows / kUsed * kCols, kCols);
            exact.add(bias[row], 10.0);
            REQUIRE(std::abs(double{got[i]} - exact.sum) <= 1e-6 * exact.magnitude);
        }
    }
}

TEST_CASE("Experts: products with the chosen rows of weights that are not quantised",
          "[cuda][quick]") {
    const uint32_t num_experts = 4, rows = 21, cols = 72, num_vectors = 2, num_used = 3;
    const std::vector<uint32_t> ids = {3, 0, 2, 2, 3, 1};
    const std::vector<float> weight = activations(size_t{num_experts} * rows * cols, 9);
    const std::vector<float> bias = activations(num_experts * rows, 5, 10.0f);
    const DeviceBuffer<uint32_t> device_ids(ids);
    const DeviceBuffer<float> device_weight(weight), device_bias(bias);
    for (const uint32_t of_vector : {num_used, 1u}) {  // Gate and up, then down.
        const uint32_t num_inputs = of_vector == 1 ? num_vectors * num_used : num_vectors;
        const std::vector<float> x = activations(size_t{num_inputs} * cols, 3, 1e5f);
        const DeviceBuffer<float> device_x(x);
        for (const emulation::Schedule& schedule : kernel_schedules()) {
            INFO(describe(schedule));
            TestDevice::get().set_schedule(schedule);
            const DeviceBuffer<float> out(num_vectors * num_used * rows);
            TestDevice::get().run(
                "expert_f32",
                {.grid_x = (rows + 3) / 4, .grid_y = num_vectors * num_used, .num_threads = 256},
                cuda::FloatExpertParams{.gemv = {.weight = device_weight.pointer(),
                                                 .x = device_x.pointer(),
                                                 .bias = device_bias.pointer(),
                                                 .residual = nullptr,
                                                 .out = out.pointer(),
                                                 .rows = rows,
                                                 .cols = cols,
                                                 .x_stride = cols,
                                                 .out_stride = rows,
                                                 .num_vectors = num_inputs,
                                                 .warps_per_row = 2},
                                        .ids = device_ids.pointer(),
                                        .outputs_of_vector = of_vector});
            const std::vector<float> got = out.read();
            for (size_t i = 0; i < got.size(); ++i) {
                const size_t row = ids[i / rows] * rows + i % rows;
                double sum = double{bias[row]}, magnitude = std::abs(sum);
                for (uint32_t c = 0; c < cols; ++c) {
                    const double term =
                        double{weight[row * cols + c]} * double{x[i / rows / of_vector * cols + c]};
                    sum += term;
                    magnitude += std::abs(term);
                }
                REQUIRE(std::abs(double{got[i]} - sum) <= 2e-6 * magnitude);
            }
        }
    }
}

TEST_CASE("Experts: their weighted sum and the shared one's are added to the residual",
          "[cuda][quick]") {
    const uint32_t n = 300, num_rows = 2, num_used = 3;
    const std::vector<float> y = activations(num_rows * num_used * n, 1);
    const std::vector<float> weights = activations(num_rows * num_used, 2);
    const std::vector<float> residual = activations(num_rows * n, 3, 10.0f);
    const std::vector<float> shared = activations(num_rows * n, 4), gates = {-0.5f, 2.0f};
    const DeviceBuffer<float> device_y(y), device_weights(weights), device_shared(shared),
        device_gates(gates);
    for (const uint32_t parts : {0u, 1u, 2u}) {  // Alone, with a shared expert, with its gate.
        for (const emulation::Schedule& schedule : kernel_schedules()) {
            TestDevice::get().set_schedule(schedule);
            const DeviceBuffer<float> out(residual);
            TestDevice::get().run(
                "combine_experts", {.grid_x = 2, .grid_y = 2, .num_threads = 128},
                cuda::CombineExpertsParams{device_y.pointer(), device_weights.pointer(),
                                           out.pointer(), out.pointer(), n, num_used,
                                           parts > 0 ? device_shared.pointer() : nullptr,
                                           parts > 1 ? device_gates.pointer() : nullptr});
            const std::vector<float> got = out.read();
            for (size_t i = 0; i < got.size(); ++i) {
                double sum = double{residual[i]}, size = std::abs(sum);
                const auto add = [&](double term) {
                    sum += term;
                    size += std::abs(term);
                };
                for (uint32_t j = 0; j < num_used; ++j) {
                    const size_t at = i / n * num_used + j;
                    add(double{weights[at]} * double{y[at * n + i % n]});
                }
                const double share = parts > 1 ? 1 / (1 + std::exp(-double{gates[i / n]})) : 1.0;
                if (parts > 0) add(share * double{shared[i]});
                REQUIRE(std::abs(double{got[i]} - sum) <= 1e-6 * size);
            }
        }
    }
}
