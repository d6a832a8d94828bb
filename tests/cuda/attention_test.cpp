// SPDX-License-Identifier: Apache-2.0
// Split attention and the combination of its parts, against softmax in double precision over what
// the pages hold: head sizes, numbers of query heads per KV head, lengths at the bounds of splits
// and blocks, windows, sinks, caps, and logits as large as Qwen 2 makes them.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/support/device.h"
#include "cuda/support/pages.h"
#include "cuda/support/tensors.h"
#include "support/catch.h"
#include "support/golden.h"

using namespace hokku;
using namespace hokku::testing;
using cuda::AttentionParams;
using cuda::CombineParams;

namespace {

void check_attention(const AttentionCase& c) {
    INFO(c.group << " heads on each of " << c.num_kv_heads << ", size " << c.key_dim << "/"
                 << c.value_dim << ", splits of " << c.split_positions << ", window " << c.window);
    const Pages pages(c);
    const auto num_rows = static_cast<uint32_t>(c.lengths.size());
    const uint32_t num_heads = c.group * c.num_kv_heads, n = num_heads * c.value_dim;
    const uint32_t q_stride = num_heads * c.key_dim + 4;
    const std::vector<float> q = activations(size_t{num_rows} * q_stride, 17, c.q_scale);
    const std::vector<float> sinks = activations(num_heads, 18, 3.0f);
    std::vector<uint32_t> positions;
    for (const uint32_t length : c.lengths) positions.push_back(length - 1);
    const uint32_t num_splits =
        (pages.max_blocks * 64 + c.split_positions - 1) / c.split_positions + c.spare_splits;
    const uint32_t heads_of_kernel = std::min(c.group, 8u);
    const uint32_t pieces = (c.group + heads_of_kernel - 1) / heads_of_kernel;
    const float scale = 1.0f / std::sqrt(static_cast<float>(c.key_dim));
    constexpr const char* kNames[] = {"attention_f32_", "attention_f16_", "attention_q8_0_"};
    const std::string kernel = kNames[c.format] + std::to_string(heads_of_kernel);
    for (const emulation::Schedule& schedule : kernel_schedules()) {
        INFO(describe(schedule));
        TestDevice& device = TestDevice::get();
        device.set_schedule(schedule);
        const DeviceBuffer<float> device_q(q), device_sinks(sinks);
        const DeviceBuffer<uint32_t> device_positions(positions), tables(pages.tables);
        const DeviceBuffer<uint8_t> keys(pages.keys), values(pages.values);
        const size_t num_parts = size_t{num_rows} * num_heads * num_splits;
        const DeviceBuffer<float> sums(num_parts * c.value_dim), maxima(num_parts),
            weights(num_parts);
        const QuantizedBuffer out(num_rows, n);
        device.launch(kernel.c_str(),
                      {.grid_x = c.num_kv_heads * pieces,
                       .grid_y = num_splits,
                       .grid_z = num_rows,
                       .num_threads = 128},
                      AttentionParams{.q = device_q.pointer(),
                                      .positions = device_positions.pointer(),
                                      .kv = {keys.pointer(), values.pointer(), tables.pointer(),
                                             pages.max_blocks, c.num_kv_heads, c.key_dim,
                                             c.value_dim, c.format},
                                      .sums = sums.pointer(),
                                      .maxima = maxima.pointer(),
                                      .weights = weights.pointer(),
                                      .q_stride = q_stride,
                                      .num_heads = num_heads,
                                      .split_positions = c.split_positions,
                                      .window = c.window,
                                      .scale = scale,
                                      .softcap = c.softcap});
        const uint32_t groups = out.view().groups;
        device.run("attention_combine",
                   {.grid_x = (groups + 3) / 4,
                    .grid_y = num_rows,
                    .num_threads = 128,
                    .is_dependent = true},
                   CombineParams{sums.pointer(), maxima.pointer(), weights.pointer(),
                                 c.has_sinks ? device_sinks.pointer() : nullptr, out.view(),
                                 num_heads, num_splits, c.value_dim});
        const std::vector<double> got = out.values();
        const std::vector<cuda::GroupScale> scales = out.scales();
        for (uint32_t r = 0; r < num_rows; ++r) {
            for (uint32_t h = 0; h < num_heads; ++h) {
                const Exact exact =
                    exact_head(pages, q.data() + size_t{r} * q_stride + h * c.key_dim, r,
                               c.lengths[r], h, scale, c.has_sinks ? &sinks[h] : nullptr);
                for (uint32_t d = 0; d < c.value_dim; ++d) {
                    const size_t i = h * c.value_dim + d;
                    // Half a step of the quantisation is allowed on top.
                    const double step = double{scales[r * groups + i / 32].scale};
                    INFO("row " << r << " head " << h << " dim " << d << ": " << exact.out[d]);
                    REQUIRE(std::abs(got[size_t{r} * groups * 32 + i] - exact.out[d]) <=
                            step * 0.501 + exact.tolerance);
                }
            }
        }
    }
}

}  // namespace

// Every number of query heads per KV head with every head size, in every format.
#define HOKKU_ATTENTION_TESTS(ratio, size)                                     \
    TEST_CASE("Attention: " #ratio " heads on one, size " #size, "[cuda]") {   \
        check_attention({.group = ratio, .key_dim = size, .value_dim = size}); \
        check_attention({.group = ratio,                                       \
                         .num_kv_heads = 1,                                    \
                         .key_dim = size,                                      \
                         .value_dim = size,                                    \
                         .format = cuda::kKvF16,                               \
                         .lengths = {257, 3},                                  \
                         .split_positions = 128});                             \
        check_attention({.group = ratio,                                       \
                         .num_kv_heads = 1,                                    \
                         .key_dim = size,                                      \
                         .value_dim = size,                                    \
                         .format = cuda::kKvQ8_0,                              \
                         .lengths = {131}});                                   \
    }
#define HOKKU_ATTENTION_SIZES(ratio)  \
    HOKKU_ATTENTION_TESTS(ratio, 64)  \
    HOKKU_ATTENTION_TESTS(ratio, 80)  \
    HOKKU_ATTENTION_TESTS(ratio, 96)  \
    HOKKU_ATTENTION_TESTS(ratio, 112) \
    HOKKU_ATTENTION_TESTS(ratio, 128) \
    HOKKU_ATTENTION_TESTS(ratio, 192) \
    HOKKU_ATTENTION_TESTS(ratio, 256)

HOKKU_ATTENTION_SIZES(1)
HOKKU_ATTENTION_SIZES(2)
HOKKU_ATTENTION_SIZES(3)
HOKKU_ATTENTION_SIZES(4)
HOKKU_ATTENTION_SIZES(5)
HOKKU_ATTENTION_SIZES(6)
HOKKU_ATTENTION_SIZES(7)
HOKKU_ATTENTION_SIZES(8)

TEST_CASE("Attention: a small context", "[cuda][quick][threads]") {
    check_attention({.group = 2, .num_kv_heads = 1, .lengths = {70}});
}

TEST_CASE("Attention: the shapes of small Qwen 2 and Phi models", "[cuda][quick]") {
    check_attention({.group = 7, .num_kv_heads = 2, .key_dim = 64, .value_dim = 64});
    check_attention({.group = 6, .num_kv_heads = 1, .key_dim = 128, .value_dim = 128});
    check_attention({.group = 1, .num_kv_heads = 2, .key_dim = 80, .value_dim = 80});
}

TEST_CASE("Attention: more query heads than a kernel takes are done in pieces", "[cuda][quick]") {
    for (const uint32_t group : {9u, 12u, 20u}) {
        check_attention({.group = group, .num_kv_heads = 2, .lengths = {70}});
    }
}

TEST_CASE("Attention: keys and values of different sizes, heads that no group ends with",
          "[cuda][quick]") {
    check_attention({.group = 3, .key_dim = 192, .value_dim = 128});
    check_attention({.group = 5, .num_kv_heads = 1, .key_dim = 64, .value_dim = 8});
    check_attention({.group = 1, .num_kv_heads = 3, .key_dim = 40, .value_dim = 72});
}

TEST_CASE("Attention: lengths at the bounds of blocks, tiles and splits", "[cuda][quick]") {
    for (const uint32_t split : {64u, 128u, 256u, 512u}) {
        check_attention({.group = 2,
                         .num_kv_heads = 1,
                         .key_dim = 32,
                         .value_dim = 32,
                         .lengths = {1, 2, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300},
                         .split_positions = split,
                         .spare_splits = 3});
    }
}

TEST_CASE("Attention: windows see their last positions and no more", "[cuda][quick]") {
    for (const uint32_t window : {1u, 5u, 63u, 64u, 65u, 100u, 1000u}) {
        check_attention({.group = 2,
                         .num_kv_heads = 1,
                         .lengths = {1, 64, 65, 200, 300},
                         .split_positions = 128,
                         .window = window});
    }
}

TEST_CASE("Attention: sinks join the softmax without a value", "[cuda][quick]") {
    check_attention({.group = 8, .has_sinks = true});
    check_attention({.group = 2, .lengths = {1, 200}, .window = 3, .has_sinks = true});
}

TEST_CASE("Attention: logits are capped before the mask", "[cuda][quick]") {
    check_attention({.group = 2, .softcap = 50.0f, .q_scale = 40.0f});
    check_attention({.group = 2, .softcap = 5.0f, .q_scale = 40.0f});
}

TEST_CASE("Attention: products far beyond the range of halves, as Qwen 2's", "[cuda][quick]") {
    // Queries to +-69 and keys to +-175 and beyond: q k reaches over a million.
    for (const uint32_t format : {cuda::kKvF32, cuda::kKvF16, cuda::kKvQ8_0}) {
        check_attention({.group = 7,
                         .num_kv_heads = 1,
                         .key_dim = 128,
                         .value_dim = 128,
                         .format = format,
                         .lengths = {1, 150, 300},
                         .split_positions = 128,
                         .q_scale = 20.0f,
                         .k_scale = 60.0f});
    }
}

TEST_CASE("Attention: one huge channel of keys, whose group has coarse codes", "[cuda][quick]") {
    for (const uint32_t format : {cuda::kKvF16, cuda::kKvQ8_0}) {
        check_attention({.group = 4,
                         .num_kv_heads = 1,
                         .format = format,
                         .lengths = {1, 150},
                         .huge = -190.0f});
    }
}

TEST_CASE("Attention: asks for the weights that follow, all of them and no more", "[cuda][quick]") {
    if (!TestDevice::get().is_emulated()) return report_skip("a device refuses no prefetch");
    TestDevice::get().set_schedule({});
    const Pages pages({.group = 1, .num_kv_heads = 1, .format = cuda::kKvF16, .lengths = {100}});
    constexpr uint32_t kLines = 700;  // Of two planes, by 256 threads.
    const DeviceBuffer<float> q(activations(64, 1)), sums(2 * 64), maxima(2), weights(2);
    const DeviceBuffer<uint32_t> positions(std::vector<uint32_t>{99}), tables(pages.tables);
    const DeviceBuffer<uint8_t> keys(pages.keys), values(pages.values), first(kLines * 128);
    for (const uint32_t num_there : {kLines, kLines - 1}) {
        const DeviceBuffer<uint8_t> second(num_there * 128);
        const AttentionParams params{.q = q.pointer(),
                                     .positions = positions.pointer(),
                                     .kv = {keys.pointer(), values.pointer(), tables.pointer(),
                                            pages.max_blocks, 1, 64, 64, cuda::kKvF16},
                                     .sums = sums.pointer(),
                                     .maxima = maxima.pointer(),
                                     .weights = weights.pointer(),
                                     .q_stride = 64,
                                     .num_heads = 1,
                                     .split_positions = 64,
                                     .window = 0,
                                     .scale = 0.125f,
                                     .softcap = 0.0f,
                                     .next = {{first.pointer(), second.pointer()}, kLines}};
        // Not by the driver, which would be broken behind it.
        emulation::KernelLaunch launch{.kernel = emulation::find_kernel("attention_f16_1"),
                                       .params = std::vector<std::byte>(sizeof params),
                                       .grid = {.y = 2},
                                       .num_threads = 128};
        std::memcpy(launch.params.data(), &params, sizeof params);
        const emulation::RunReport report = emulation::run_launches({&launch, 1}, {});
        INFO(report.error);
        CHECK(report.ok() == (num_there == kLines));
    }
}

TEST_CASE("Attention: a value that is not a number is not lost", "[cuda][quick]") {
    AttentionCase c{.group = 1, .num_kv_heads = 1, .lengths = {100}};
    Pages pages(c);
    std::vector<float> key(64, 1.0f);
    key[3] = std::nanf("");
    store_kv_row(c.format, pages.keys, pages.head(0, 70, 0), 70 % 64, key);
    TestDevice& device = TestDevice::get();
    device.set_schedule({});
    const DeviceBuffer<float> q(activations(64, 1));
    const DeviceBuffer<uint32_t> positions(std::vector<uint32_t>{99}), tables(pages.tables);
    const DeviceBuffer<uint8_t> keys(pages.keys), values(pages.values);
    const DeviceBuffer<float> sums(2 * 64), maxima(2), weights(2);
    const QuantizedBuffer out(1, 64);
    device.run("attention_f32_1", {.grid_y = 2, .num_threads = 128},
               AttentionParams{q.pointer(),
                               positions.pointer(),
                               {keys.pointer(), values.pointer(), tables.pointer(),
                                pages.max_blocks, 1, 64, 64, cuda::kKvF32},
                               sums.pointer(),
                               maxima.pointer(),
                               weights.pointer(),
                               64,
                               1,
                               64,
                               0,
                               0.125f,
                               0.0f});
    device.run("attention_combine", {.num_threads = 128},
               CombineParams{sums.pointer(), maxima.pointer(), weights.pointer(), nullptr,
                             out.view(), 1, 2, 64});
    for (const cuda::GroupScale& scale : out.scales()) CHECK(std::isnan(scale.scale));
}
