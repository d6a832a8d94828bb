// SPDX-License-Identifier: Apache-2.0
// The ends of a step: rows of the embedding, and the most likely token.
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/half.h"
#include "cuda/support/device.h"
#include "cuda/support/tensors.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;
using cuda::EmbedParams;
using cuda::GreedyParams;

namespace {

struct Choice {
    std::vector<uint32_t> ids;
    std::vector<float> values;
};

Choice choose(const std::vector<float>& logits, uint32_t num_rows, uint32_t n, uint32_t stride,
              uint32_t num_threads) {
    const DeviceBuffer<float> device_logits(logits), values(num_rows);
    const DeviceBuffer<uint32_t> ids(num_rows);
    TestDevice::get().run(
        "choose_greedy", {.grid_x = num_rows, .num_threads = num_threads},
        GreedyParams{device_logits.pointer(), ids.pointer(), values.pointer(), n, stride});
    return {ids.read(), values.read()};
}

}  // namespace

TEST_CASE("Embedding rows: every float type, scaled", "[cuda][quick]") {
    const uint32_t n = 100, num_vocab = 7;
    std::vector<float> table = activations(n * num_vocab, 1);
    std::vector<uint16_t> halves(table.size()), bfloats(table.size());
    for (size_t i = 0; i < table.size(); ++i) {
        halves[i] = float_to_half(table[i]);
        bfloats[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(table[i]) >> 16);
    }
    const std::vector<uint32_t> tokens = {6, 0, 3, 3};
    const DeviceBuffer<float> floats(table), out(n * tokens.size());
    const DeviceBuffer<uint16_t> device_halves(halves), device_bfloats(bfloats);
    const DeviceBuffer<uint32_t> device_tokens(tokens);
    const void* tables[] = {floats.pointer(), device_halves.pointer(), device_bfloats.pointer()};
    for (const emulation::Schedule& schedule : kernel_schedules()) {
        TestDevice::get().set_schedule(schedule);
        for (const uint32_t type : {cuda::kFloat32, cuda::kFloat16, cuda::kBfloat16}) {
            TestDevice::get().run(
                "embed_rows", {.grid_x = 2, .grid_y = 4, .num_threads = 32},
                EmbedParams{tables[type], device_tokens.pointer(), out.pointer(), n, type, 2.0f});
            const std::vector<float> got = out.read();
            for (size_t i = 0; i < got.size(); ++i) {
                const size_t at = tokens[i / n] * n + i % n;
                float expected = table[at];
                if (type == cuda::kFloat16) expected = half_to_float(halves[at]);
                if (type == cuda::kBfloat16) expected = bfloat_to_float(bfloats[at]);
                REQUIRE(got[i] == 2.0f * expected);
            }
        }
    }
}

TEST_CASE("Greedy choice: the largest logit, of equals the lowest id", "[cuda][quick]") {
    for (const emulation::Schedule& schedule : kernel_schedules()) {
        TestDevice::get().set_schedule(schedule);
        for (const uint32_t n : {1u, 31u, 33u, 1000u, 5003u}) {
            for (const uint32_t num_threads : {32u, 256u, 1024u}) {
                const uint32_t stride = n + 5;
                std::vector<float> logits = activations(size_t{3} * stride, n);
                // Behind a row's end lies what would be chosen.
                for (uint32_t r = 0; r < 3; ++r) logits[r * stride + n] = 1e9f;
                if (n > 30) {  // Two equal largest ones in row 1, in different warps.
                    logits[stride + n - 1] = 50.0f;
                    logits[stride + n / 2] = 50.0f;
                }
                const Choice got = choose(logits, 3, n, stride, num_threads);
                for (uint32_t r = 0; r < 3; ++r) {
                    uint32_t best = 0;
                    for (uint32_t i = 1; i < n; ++i) {
                        if (logits[r * stride + i] > logits[r * stride + best]) best = i;
                    }
                    CHECK(got.ids[r] == best);
                    CHECK(got.values[r] == logits[r * stride + best]);
                }
            }
        }
    }
}

TEST_CASE("Greedy choice: what is no number never wins, infinities do", "[cuda][quick]") {
    TestDevice::get().set_schedule({});
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    CHECK(choose({nan, -5, nan, -7}, 1, 4, 4, 32).ids[0] == 1);
    CHECK(choose({-infinity, -infinity, nan}, 1, 3, 3, 32).ids[0] == 0);
    CHECK(choose({3, infinity, 9}, 1, 3, 3, 64).ids[0] == 1);
    CHECK(choose({nan, nan}, 1, 2, 2, 64).ids[0] == 0);
}
