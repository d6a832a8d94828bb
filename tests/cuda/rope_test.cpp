// SPDX-License-Identifier: Apache-2.0
// Rotation, norms of heads and the append of keys and values, against double precision: what is
// stored must be the float32 result, or its nearest half, in the block that the table names.
#include <cmath>
#include <vector>

#include "cuda/support/device.h"
#include "cuda/support/pages.h"
#include "cuda/support/tensors.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;
using cuda::RopeParams;

namespace {

struct RopeCase {
    uint32_t num_heads, num_kv_heads, key_dim, value_dim, num_dims;
    bool is_interleaved = false, has_norms = false;
    uint32_t format = cuda::kKvF32;
    float scale = 1.0f;
    std::vector<uint32_t> positions = {0, 63, 64, 200};
};

constexpr uint32_t kMaxBlocks = 4, kNumBlocks = 20, kNumPositions = kMaxBlocks * 64;
constexpr float kEps = 1e-6f;

/// cos and sin of every position, as the host computes them at load.
std::vector<float> make_cos_sin(uint32_t num_dims) {
    std::vector<float> table(size_t{kNumPositions} * num_dims);
    for (uint32_t p = 0; p < kNumPositions; ++p) {
        for (uint32_t i = 0; i < num_dims / 2; ++i) {
            const double angle = p * std::pow(10000.0, -2.0 * i / num_dims);
            table[p * num_dims + i] = static_cast<float>(std::cos(angle));
            table[p * num_dims + num_dims / 2 + i] = static_cast<float>(std::sin(angle));
        }
    }
    return table;
}

/// One head as it should be after norm and rotation.
std::vector<double> rotate(const RopeCase& c, const float* x, const std::vector<float>& weight,
                           const float* cos_sin) {
    std::vector<double> out(x, x + c.key_dim);
    if (c.has_norms) {
        double square_sum = 0;
        for (const double value : out) square_sum += value * value;
        const double factor = 1 / std::sqrt(square_sum / c.key_dim + double{kEps});
        for (uint32_t i = 0; i < c.key_dim; ++i) out[i] *= factor * double{weight[i]};
    }
    const uint32_t half = c.num_dims / 2;
    for (uint32_t i = 0; i < half; ++i) {
        double& a = out[c.is_interleaved ? 2 * i : i];
        double& b = out[c.is_interleaved ? 2 * i + 1 : i + half];
        const double cosine = double{cos_sin[i]}, sine = double{cos_sin[half + i]}, before = a;
        a = before * cosine - b * sine;
        b = before * sine + b * cosine;
    }
    return out;
}

void check_stored(const RopeCase& c, const std::vector<uint8_t>& pool, size_t head, uint32_t slot,
                  const std::vector<double>& expected) {
    const auto dim = static_cast<uint32_t>(expected.size());
    double largest = 1e-30;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    for (uint32_t i = 0; i < dim; ++i) {
        const double got = kv_value(c.format, pool, head, slot, dim, i);
        double tolerance = largest * 1e-6;
        if (c.format == cuda::kKvF16) {
            tolerance += std::max(std::abs(expected[i]) * 0x1p-11, 0x1p-25);
            if (std::abs(expected[i]) > 65504) tolerance = std::abs(expected[i]) - 65504 + 1;
        }
        if (c.format == cuda::kKvQ8_0) {  // Half a step of 127, which is the next half upwards.
            double group_largest = 0;
            for (uint32_t j = i / 32 * 32; j < std::min(dim, i / 32 * 32 + 32); ++j) {
                group_largest = std::max(group_largest, std::abs(expected[j]));
            }
            tolerance += (group_largest / 127 * (1 + 0x1p-10) + 0x1p-24) * 0.5001;
        }
        REQUIRE(std::abs(got - expected[i]) <= tolerance);
    }
}

void check_rope(const RopeCase& c) {
    INFO(c.num_heads << " heads of " << c.key_dim << " on " << c.num_kv_heads << ", rotated "
                     << c.num_dims << (c.is_interleaved ? ", interleaved" : ""));
    const auto num_rows = static_cast<uint32_t>(c.positions.size());
    const size_t q_size = c.num_heads * c.key_dim, k_size = c.num_kv_heads * c.key_dim,
                 row_size = q_size + k_size + c.num_kv_heads * c.value_dim;
    const std::vector<float> qkv = activations(num_rows * row_size, c.key_dim, c.scale);
    const std::vector<float> q_norm = activations(c.key_dim, 3), k_norm = activations(c.key_dim, 4);
    const std::vector<float> cos_sin = make_cos_sin(std::max(c.num_dims, 2u));
    std::vector<uint32_t> tables(num_rows * kMaxBlocks);
    for (uint32_t i = 0; i < tables.size(); ++i) tables[i] = (i * 7 + 3) % kNumBlocks;
    for (const emulation::Schedule& schedule : kernel_schedules()) {
        INFO(describe(schedule));
        TestDevice& device = TestDevice::get();
        device.set_schedule(schedule);
        const DeviceBuffer<float> device_qkv(qkv), device_q_norm(q_norm), device_k_norm(k_norm),
            device_cos_sin(cos_sin);
        const DeviceBuffer<uint32_t> positions(c.positions), device_tables(tables);
        const size_t num_heads = size_t{kNumBlocks} * c.num_kv_heads;
        const DeviceBuffer<uint8_t> keys(num_heads * cuda::kv_head_bytes(c.format, c.key_dim)),
            values(num_heads * cuda::kv_head_bytes(c.format, c.value_dim));
        device.run("rope_append", {.grid_x = c.num_heads + 2 * c.num_kv_heads, .grid_y = num_rows},
                   RopeParams{.qkv = device_qkv.pointer(),
                              .positions = positions.pointer(),
                              .cos_sin = device_cos_sin.pointer(),
                              .q_norm = c.has_norms ? device_q_norm.pointer() : nullptr,
                              .k_norm = c.has_norms ? device_k_norm.pointer() : nullptr,
                              .kv = {keys.pointer(), values.pointer(), device_tables.pointer(),
                                     kMaxBlocks, c.num_kv_heads, c.key_dim, c.value_dim, c.format},
                              .num_heads = c.num_heads,
                              .num_dims = c.num_dims,
                              .is_interleaved = c.is_interleaved ? 1u : 0u,
                              .eps = kEps});
        const std::vector<float> got = device_qkv.read();
        const std::vector<uint8_t> key_bytes = keys.read(), value_bytes = values.read();
        for (uint32_t r = 0; r < num_rows; ++r) {
            const uint32_t position = c.positions[r];
            const float* angles = cos_sin.data() + size_t{position} * c.num_dims;
            const float* row = qkv.data() + r * row_size;
            INFO("row " << r);
            for (uint32_t h = 0; h < c.num_heads; ++h) {
                const std::vector<double> expected = rotate(c, row + h * c.key_dim, q_norm, angles);
                double largest = 1e-30;
                for (const double value : expected) largest = std::max(largest, std::abs(value));
                for (uint32_t i = 0; i < c.key_dim; ++i) {
                    const double value = double{got[r * row_size + h * c.key_dim + i]};
                    REQUIRE(std::abs(value - expected[i]) <= 1e-6 * largest);
                }
            }
            const size_t block = tables[r * kMaxBlocks + position / 64];
            const uint32_t slot = position % 64;
            for (uint32_t h = 0; h < c.num_kv_heads; ++h) {
                const size_t head = block * c.num_kv_heads + h;
                check_stored(c, key_bytes, head, slot,
                             rotate(c, row + q_size + h * c.key_dim, k_norm, angles));
                const float* v = row + q_size + k_size + h * c.value_dim;
                check_stored(c, value_bytes, head, slot, {v, v + c.value_dim});
            }
        }
    }
}

}  // namespace

TEST_CASE("RoPE: head sizes, whole and in part", "[cuda][quick]") {
    for (const uint32_t dim : {8u, 64u, 80u, 96u, 112u, 128u, 192u, 256u}) {
        check_rope({3, 1, dim, dim, dim});
        check_rope({2, 2, dim, dim, dim / 2});
    }
}

TEST_CASE("RoPE: interleaved pairs", "[cuda][quick]") {
    for (const uint32_t dim : {64u, 80u, 128u}) {
        check_rope({4, 2, dim, dim, dim, true});
        check_rope({4, 2, dim, dim, dim / 2, true});
    }
}

TEST_CASE("RoPE: norms of heads come before the rotation", "[cuda][quick]") {
    check_rope({4, 2, 128, 128, 128, false, true});
    check_rope({4, 2, 80, 80, 80, true, true});
}

TEST_CASE("RoPE: nothing to rotate, values narrower than keys", "[cuda][quick]") {
    check_rope({4, 2, 64, 64, 0});
    check_rope({4, 4, 192, 128, 64});
}

TEST_CASE("KV append: halves are the nearest, the largest where they would be infinite",
          "[cuda][quick]") {
    check_rope({4, 2, 64, 64, 64, false, false, cuda::kKvF16});
    check_rope({4, 2, 64, 64, 64, false, false, cuda::kKvF16, 1e-4f});
    check_rope({4, 2, 64, 64, 0, false, false, cuda::kKvF16, 50000.0f});
}

TEST_CASE("KV append: codes of eight bits, as the CPU chooses their scales", "[cuda][quick]") {
    for (const uint32_t dim : {64u, 80u, 128u}) {
        check_rope({2, 1, dim, dim, dim, false, true, cuda::kKvQ8_0});
    }
    check_rope({2, 2, 192, 128, 64, true, false, cuda::kKvQ8_0, 60.0f});
    check_rope({2, 1, 64, 64, 0, false, false, cuda::kKvQ8_0, 1e-6f});
    check_rope({2, 1, 64, 64, 0, false, false, cuda::kKvQ8_0, 1e5f});
}

TEST_CASE("KV append: keys as large as Qwen 2's biases make them", "[cuda][quick]") {
    check_rope({7, 1, 128, 128, 128, false, false, cuda::kKvF32, 60.0f});
    check_rope({7, 1, 128, 128, 128, false, false, cuda::kKvF16, 60.0f});
}
