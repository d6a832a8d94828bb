// SPDX-License-Identifier: Apache-2.0
// Attention of many rows on tensor cores, against softmax in double precision over what the pages
// hold: several sequences in one launch, tiles that end early, every ratio of heads.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cuda/support/device.h"
#include "cuda/support/pages.h"
#include "cuda/support/tensors.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;
using cuda::FlashParams;

namespace {

/// The last `num_rows[s]` positions of each sequence are the rows.
void check_flash(const AttentionCase& c, const std::vector<uint32_t>& num_rows,
                 uint32_t num_warps = 4) {
    const uint32_t max_dim = std::max(c.key_dim, c.value_dim);
    const std::string kernel = std::string("flash_") +
                               (c.format == cuda::kKvF16 ? "f16_" : "q8_0_") +
                               (max_dim <= 64 ? "64" : (max_dim <= 128 ? "128" : "256"));
    INFO(kernel << ": " << c.group << " heads on each of " << c.num_kv_heads << ", size "
                << c.key_dim << "/" << c.value_dim << ", window " << c.window);
    const Pages pages(c);
    const uint32_t num_heads = c.group * c.num_kv_heads;
    const uint32_t q_stride = num_heads * c.key_dim + 4, out_stride = num_heads * c.value_dim + 3;
    std::vector<uint32_t> bounds = {0}, positions, sequences, tables;
    uint32_t most = 0;
    for (uint32_t s = 0; s < num_rows.size(); ++s) {
        most = std::max(most, num_rows[s]);
        for (uint32_t i = 0; i < num_rows[s]; ++i) {
            positions.push_back(c.lengths[s] - num_rows[s] + i);
            sequences.push_back(s);
            for (uint32_t b = 0; b < pages.max_blocks; ++b) {
                // Only the first row's table is read.
                tables.push_back(i == 0 ? pages.tables[s * pages.max_blocks + b] : 0xfffffu);
            }
        }
        bounds.push_back(static_cast<uint32_t>(positions.size()));
    }
    const std::vector<float> q = activations(positions.size() * q_stride, 17, c.q_scale);
    const std::vector<float> sinks = activations(num_heads, 18, 3.0f);
    const float scale = 1.0f / std::sqrt(static_cast<float>(c.key_dim));
    const DeviceBuffer<float> device_q(q), device_sinks(sinks);
    const DeviceBuffer<uint32_t> device_positions(positions), device_bounds(bounds),
        device_tables(tables);
    const DeviceBuffer<uint8_t> keys(pages.keys), values(pages.values);
    const std::vector<float> before(positions.size() * out_stride, -7.0f);
    const uint32_t tile = 16 * num_warps;
    std::vector<Exact> exact;
    for (uint32_t r = 0; r < positions.size(); ++r) {
        for (uint32_t h = 0; h < num_heads; ++h) {
            exact.push_back(exact_head(pages, q.data() + size_t{r} * q_stride + h * c.key_dim,
                                       sequences[r], positions[r] + 1, h, scale,
                                       c.has_sinks ? &sinks[h] : nullptr));
        }
    }
    for (const emulation::Schedule& schedule : kernel_schedules()) {
        INFO(describe(schedule));
        TestDevice::get().set_schedule(schedule);
        const DeviceBuffer<float> out(before);
        TestDevice::get().run(
            kernel.c_str(),
            {.grid_x = (most * c.group + tile - 1) / tile,
             .grid_y = c.num_kv_heads,
             .grid_z = static_cast<uint32_t>(num_rows.size()),
             .num_threads = 32 * num_warps,
             .shared_bytes = cuda::flash_shared_bytes(c.key_dim, c.value_dim, num_warps)},
            FlashParams{.q = device_q.pointer(),
                        .positions = device_positions.pointer(),
                        .row_bounds = device_bounds.pointer(),
                        .kv = {keys.pointer(), values.pointer(), device_tables.pointer(),
                               pages.max_blocks, c.num_kv_heads, c.key_dim, c.value_dim, c.format},
                        .sinks = c.has_sinks ? device_sinks.pointer() : nullptr,
                        .out = out.pointer(),
                        .q_stride = q_stride,
                        .out_stride = out_stride,
                        .num_heads = num_heads,
                        .window = c.window,
                        .scale = scale,
                        .softcap = c.softcap});
        const std::vector<float> got = out.read();
        for (uint32_t r = 0; r < positions.size(); ++r) {
            for (uint32_t h = 0; h < num_heads; ++h) {
                const Exact& e = exact[r * num_heads + h];
                for (uint32_t d = 0; d < c.value_dim; ++d) {
                    INFO("row " << r << " head " << h << " dim " << d << ": " << e.out[d]);
                    // Weights are halves: 2^-11 of each, of values of a few units.
                    REQUIRE(std::abs(double{got[size_t{r} * out_stride + h * c.value_dim + d]} -
                                     e.out[d]) <= 3e-3 + e.tolerance);
                }
            }
            for (uint32_t i = num_heads * c.value_dim; i < out_stride; ++i) {
                REQUIRE(got[size_t{r} * out_stride + i] == -7.0f);
            }
        }
    }
}

}  // namespace

#define HOKKU_FLASH_TESTS(ratio, size)                                   \
    TEST_CASE("Flash: " #ratio " heads on one, size " #size, "[cuda]") { \
        check_flash({.group = ratio,                                     \
                     .num_kv_heads = 2,                                  \
                     .key_dim = size,                                    \
                     .value_dim = size,                                  \
                     .format = cuda::kKvF16,                             \
                     .lengths = {5, 70}},                                \
                    {5, 3}, 1);                                          \
        check_flash({.group = ratio,                                     \
                     .num_kv_heads = 1,                                  \
                     .key_dim = size,                                    \
                     .value_dim = size,                                  \
                     .format = cuda::kKvQ8_0,                            \
                     .lengths = {131}},                                  \
                    {23}, 2);                                            \
    }
#define HOKKU_FLASH_SIZES(ratio)  \
    HOKKU_FLASH_TESTS(ratio, 64)  \
    HOKKU_FLASH_TESTS(ratio, 80)  \
    HOKKU_FLASH_TESTS(ratio, 96)  \
    HOKKU_FLASH_TESTS(ratio, 112) \
    HOKKU_FLASH_TESTS(ratio, 128) \
    HOKKU_FLASH_TESTS(ratio, 192) \
    HOKKU_FLASH_TESTS(ratio, 256)

HOKKU_FLASH_SIZES(1)
HOKKU_FLASH_SIZES(3)
HOKKU_FLASH_SIZES(5)
HOKKU_FLASH_SIZES(6)
HOKKU_FLASH_SIZES(7)
HOKKU_FLASH_SIZES(8)

TEST_CASE("Flash: small prompts in both formats", "[cuda][quick][threads]") {
    for (const uint32_t format : {cuda::kKvF16, cuda::kKvQ8_0}) {
        check_flash({.group = 2, .num_kv_heads = 1, .format = format, .lengths = {9}}, {9}, 1);
    }
}

TEST_CASE("Flash: many rows and positions, blocks of four warps", "[cuda]") {
    for (const uint32_t format : {cuda::kKvF16, cuda::kKvQ8_0}) {
        check_flash({.group = 2, .num_kv_heads = 1, .format = format, .lengths = {150, 129, 1}},
                    {150, 65, 1});
    }
}

TEST_CASE("Flash: keys and values of different sizes", "[cuda]") {
    check_flash({.group = 3,
                 .num_kv_heads = 1,
                 .key_dim = 192,
                 .value_dim = 128,
                 .format = cuda::kKvF16,
                 .lengths = {40}},
                {17}, 2);
    for (const uint32_t format : {cuda::kKvF16, cuda::kKvQ8_0}) {
        check_flash({.group = 2,
                     .num_kv_heads = 2,
                     .key_dim = 40,
                     .value_dim = 72,
                     .format = format,
                     .lengths = {70}},
                    {11}, 1);
    }
}

TEST_CASE("Flash: windows see their last positions and no more", "[cuda]") {
    for (const uint32_t window : {1u, 5u, 63u, 64u, 65u, 1000u}) {
        check_flash({.group = 3,
                     .num_kv_heads = 1,
                     .format = cuda::kKvF16,
                     .lengths = {200, 66},
                     .window = window},
                    {40, 66}, 2);
    }
}

TEST_CASE("Flash: sinks and caps", "[cuda]") {
    check_flash({.group = 4, .format = cuda::kKvF16, .lengths = {70}, .has_sinks = true}, {20}, 2);
    check_flash({.group = 2, .format = cuda::kKvF16, .lengths = {70}, .softcap = 50, .q_scale = 40},
                {20}, 2);
    check_flash({.group = 2, .format = cuda::kKvQ8_0, .lengths = {70}, .softcap = 5, .q_scale = 40},
                {20}, 2);
}

TEST_CASE("Flash: products far beyond the range of halves, as Qwen 2's", "[cuda]") {
    for (const uint32_t format : {cuda::kKvF16, cuda::kKvQ8_0}) {
        check_flash({.group = 7,
                     .num_kv_heads = 1,
                     .key_dim = 128,
                     .value_dim = 128,
                     .format = format,
                     .lengths = {130},
                     .q_scale = 20.0f,
                     .k_scale = 60.0f},
                    {9}, 1);
    }
}
