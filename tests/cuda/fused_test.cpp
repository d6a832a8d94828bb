// SPDX-License-Identifier: Apache-2.0
// Products that are fused with what follows give the bits of the kernels they stand for, which have
// tests of their own; the counters are zero again.
#include <string>
#include <vector>

#include "cuda/support/device.h"
#include "cuda/support/pages.h"
#include "cuda/support/tensors.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;
using cuda::GemvParams;

namespace {

constexpr TensorType kCommonTypes[] = {
    TensorType::q4_k,   TensorType::q5_k,   TensorType::q6_k, TensorType::q8_0, TensorType::q4_0,
    TensorType::q4_1,   TensorType::q5_0,   TensorType::q5_1, TensorType::q2_k, TensorType::q3_k,
    TensorType::iq4_nl, TensorType::iq4_xs, TensorType::mxfp4};

struct QkvCase {
    TensorType type = TensorType::q4_k;
    uint32_t num_heads = 4, num_kv_heads = 2, key_dim = 64, value_dim = 64;
    uint32_t format = cuda::kKvF16;
    bool has_norms = true;
    uint32_t warps_per_row = 1;
};

struct QkvResult {
    std::vector<float> qkv;
    std::vector<uint8_t> keys, values;
    std::vector<uint32_t> counters;
};

QkvResult run_qkv(const QkvCase& c, const RepackedMatrix& weight, bool is_fused) {
    constexpr uint32_t kCols = 256, kPosition = 70;
    const uint32_t num_rows = weight.view().rows, num_parts = c.num_heads + 2 * c.num_kv_heads;
    const QuantizedBuffer x(1, kCols);
    quantize(activations(kCols, 3), kCols, x);
    const DeviceBuffer<float> bias(activations(num_rows, 4, 20.0f)), qkv(num_rows),
        norm(activations(c.key_dim, 5)), cos_sin(activations(size_t{kPosition + 1} * c.key_dim, 6));
    const DeviceBuffer<uint32_t> positions(std::vector<uint32_t>{kPosition}),
        tables(std::vector<uint32_t>{1, 0}), counters(std::vector<uint32_t>(num_parts, 0));
    const size_t num_heads = 2 * size_t{c.num_kv_heads};
    const std::vector<uint8_t> empty_keys(num_heads * cuda::kv_head_bytes(c.format, c.key_dim)),
        empty_values(num_heads * cuda::kv_head_bytes(c.format, c.value_dim));
    const DeviceBuffer<uint8_t> keys(empty_keys), values(empty_values);
    const GemvParams gemv{.weight = weight.view(),
                          .x = x.view(),
                          .bias = bias.pointer(),
                          .residual = nullptr,
                          .out = qkv.pointer(),
                          .out_stride = num_rows,
                          .warps_per_row = c.warps_per_row};
    const cuda::RopeParams rope{.qkv = qkv.pointer(),
                                .positions = positions.pointer(),
                                .cos_sin = cos_sin.pointer(),
                                .q_norm = c.has_norms ? norm.pointer() : nullptr,
                                .k_norm = c.has_norms ? norm.pointer() : nullptr,
                                .kv = {keys.pointer(), values.pointer(), tables.pointer(), 2,
                                       c.num_kv_heads, c.key_dim, c.value_dim, c.format},
                                .num_heads = c.num_heads,
                                .num_dims = c.key_dim,
                                .is_interleaved = 0,
                                .eps = 1e-6f};
    const uint32_t rows_of_block = 16 / c.warps_per_row;
    TestDevice& device = TestDevice::get();
    const LaunchShape shape{.grid_x = (num_rows + rows_of_block - 1) / rows_of_block,
                            .num_threads = 256};
    if (is_fused) {
        for (int repeat = 0; repeat < 2; ++repeat) {  // The counters serve again.
            device.run(kernel_name("qkv", c.type).c_str(), shape,
                       cuda::QkvParams{gemv, rope, 0, counters.pointer()});
        }
    } else {
        device.run((kernel_name("gemv", c.type) + "_1").c_str(), shape, gemv);
        device.run("rope_append", {.grid_x = num_parts}, rope);
    }
    return {qkv.read(), keys.read(), values.read(), counters.read()};
}

void check_qkv(const QkvCase& c) {
    INFO(traits_of(c.type).name << ", heads of " << c.key_dim << "/" << c.value_dim);
    TestDevice::get().set_schedule({});
    const uint32_t rows = (c.num_heads + c.num_kv_heads) * c.key_dim + c.num_kv_heads * c.value_dim;
    const RepackedMatrix weight(c.type, rows, 256, BlockKind::plain, 1);
    const QkvResult expected = run_qkv(c, weight, false);
    for (const emulation::Schedule& schedule : kernel_schedules()) {
        INFO(describe(schedule));
        TestDevice::get().set_schedule(schedule);
        const QkvResult got = run_qkv(c, weight, true);
        CHECK(got.qkv == expected.qkv);
        CHECK(got.keys == expected.keys);
        CHECK(got.values == expected.values);
        for (const uint32_t counter : got.counters) CHECK(counter == 0);
    }
}

struct NormResult {
    std::vector<float> x;
    std::vector<double> values;
    uint32_t counter;
};

/// has_add: the product is normed before it is added to x.
NormResult run_norm(TensorType type, const RepackedMatrix& weight, bool is_fused, bool has_add) {
    constexpr uint32_t kCols = 512;
    const uint32_t n = weight.view().rows;
    const QuantizedBuffer x(1, kCols), out(1, n);
    quantize(activations(kCols, 3), kCols, x);
    const DeviceBuffer<float> stream(activations(n, 4, 5.0f)), norm_weight(activations(n, 5));
    const DeviceBuffer<float> delta(n), add_weight(activations(n, 6));
    const DeviceBuffer<uint32_t> counter(std::vector<uint32_t>{0});
    const GemvParams gemv{.weight = weight.view(),
                          .x = x.view(),
                          .bias = nullptr,
                          .residual = has_add ? nullptr : stream.pointer(),
                          .out = has_add ? delta.pointer() : stream.pointer(),
                          .out_stride = n,
                          .warps_per_row = 1};
    const cuda::NormParams norm{stream.pointer(), nullptr, norm_weight.pointer(),
                                out.view(),       n,       1e-6f};
    const cuda::NormAddParams add{.x = stream.pointer(),
                                  .y = delta.pointer(),
                                  .weight = add_weight.pointer(),
                                  .bias = nullptr,
                                  .n = n,
                                  .x_stride = n,
                                  .y_stride = n,
                                  .kind = cuda::kRmsNorm,
                                  .is_addition = 1,
                                  .eps = 1e-6f,
                                  .scale = 0.5f};
    TestDevice& device = TestDevice::get();
    const LaunchShape shape{.grid_x = (n + 15) / 16, .num_threads = 256};
    if (is_fused) {
        device.run(kernel_name("gemv_norm", type).c_str(), shape,
                   cuda::GemvNormParams{gemv, norm, counter.pointer(), has_add ? 1u : 0u, add});
    } else {
        device.run((kernel_name("gemv", type) + "_1").c_str(), shape, gemv);
        if (has_add) device.run("norm_add", {.num_threads = 256}, add);
        device.run("norm_quantize", {.num_threads = 256}, norm);
    }
    return {stream.read(), out.values(), counter.read()[0]};
}

void check_norm(TensorType type, uint32_t rows) {
    INFO(traits_of(type).name << ", " << rows << " rows");
    TestDevice::get().set_schedule({});
    const RepackedMatrix weight(type, rows, 512, BlockKind::plain, 2);
    for (const bool has_add : {false, true}) {
        TestDevice::get().set_schedule({});
        const NormResult expected = run_norm(type, weight, false, has_add);
        for (const emulation::Schedule& schedule : kernel_schedules()) {
            INFO(describe(schedule));
            TestDevice::get().set_schedule(schedule);
            const NormResult got = run_norm(type, weight, true, has_add);
            CHECK(got.x == expected.x);
            CHECK(got.values == expected.values);
            CHECK(got.counter == 0);
        }
    }
}

}  // namespace

TEST_CASE("Fused q, k, v: the bits of product, norms, rotation and append", "[cuda][quick]") {
    check_qkv({});
    check_qkv({.type = TensorType::q6_k, .format = cuda::kKvQ8_0});
}

TEST_CASE("Fused q, k, v: three heads of as many blocks", "[cuda][quick][threads]") {
    check_qkv(
        {.num_heads = 1, .num_kv_heads = 1, .key_dim = 8, .value_dim = 8, .warps_per_row = 2});
}

TEST_CASE("Fused q, k, v: every type, heads that blocks do not end with", "[cuda]") {
    for (const TensorType type : kCommonTypes) check_qkv({.type = type});
    for (const uint32_t warps : {1u, 2u, 8u}) {
        check_qkv({.num_heads = 3,
                   .num_kv_heads = 1,
                   .key_dim = 72,
                   .value_dim = 40,
                   .format = cuda::kKvF32,
                   .has_norms = false,
                   .warps_per_row = warps});
    }
}

TEST_CASE("Fused product and norm: the bits of both", "[cuda][quick]") {
    check_norm(TensorType::q4_k, 100);
    check_norm(TensorType::q6_k, 16);
}

TEST_CASE("Fused product and norm: a few rows", "[cuda][quick][threads]") {
    check_norm(TensorType::q4_k, 20);
}

TEST_CASE("Fused product and norm: every type", "[cuda]") {
    for (const TensorType type : kCommonTypes) check_norm(type, 257);
}
