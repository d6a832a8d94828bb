// SPDX-License-Identifier: Apache-2.0
// The start of a step: rows of the embedding.
#include <bit>
#include <vector>

#include "backend/half.h"
#include "cuda/support/device.h"
#include "cuda/support/tensors.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;
using cuda::EmbedParams;

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
