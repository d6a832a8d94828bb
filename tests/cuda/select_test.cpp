// SPDX-License-Identifier: Apache-2.0
// The best few logits of a row, in one launch and in two, against a sort; scaling and caps.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "cuda/support/device.h"
#include "cuda/support/tensors.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;
using cuda::TopKParams;

namespace {

struct Best {
    std::vector<uint32_t> ids;
    std::vector<float> values;
};

/// The best k of each row: chunks, then all that they have found.
Best select(const std::vector<float>& logits, uint32_t num_rows, uint32_t n, uint32_t stride,
            uint32_t chunk, uint32_t k, uint32_t num_threads) {
    const uint32_t num_chunks = (n + chunk - 1) / chunk, found = num_chunks * k;
    const DeviceBuffer<float> values(logits), first_values(num_rows * found),
        best_values(num_rows * k);
    const DeviceBuffer<uint32_t> first_ids(num_rows * found), best_ids(num_rows * k);
    TestDevice& device = TestDevice::get();
    device.launch("top_k", {.grid_x = num_chunks, .grid_y = num_rows, .num_threads = num_threads},
                  TopKParams{values.pointer(), nullptr, first_values.pointer(), first_ids.pointer(),
                             n, stride, chunk, k});
    device.run("top_k", {.grid_y = num_rows, .num_threads = num_threads, .is_dependent = true},
               TopKParams{first_values.pointer(), first_ids.pointer(), best_values.pointer(),
                          best_ids.pointer(), found, found, found, k});
    return {best_ids.read(), best_values.read()};
}

std::vector<uint32_t> sorted_ids(const float* logits, uint32_t n) {
    std::vector<uint32_t> ids(n);
    std::iota(ids.begin(), ids.end(), 0u);
    std::stable_sort(ids.begin(), ids.end(),
                     [&](uint32_t a, uint32_t b) { return logits[a] > logits[b]; });
    return ids;
}

void check_select(const std::vector<float>& logits, uint32_t n, uint32_t chunk, uint32_t k,
                  uint32_t num_threads) {
    INFO(n << " values in chunks of " << chunk << ", best " << k << ", " << num_threads);
    const uint32_t stride = static_cast<uint32_t>(logits.size()) / 2;
    const Best best = select(logits, 2, n, stride, chunk, k, num_threads);
    for (uint32_t r = 0; r < 2; ++r) {
        const std::vector<uint32_t> ids = sorted_ids(logits.data() + r * stride, n);
        for (uint32_t i = 0; i < k; ++i) {
            INFO("row " << r << " place " << i);
            if (i >= n) {
                CHECK(best.ids[r * k + i] == 0xffffffffu);
                continue;
            }
            REQUIRE(best.ids[r * k + i] == ids[i]);
            REQUIRE(best.values[r * k + i] == logits[r * stride + ids[i]]);
        }
    }
}

}  // namespace

TEST_CASE("Top k: the best of a row, best first", "[cuda][quick]") {
    for (const emulation::Schedule& schedule : kernel_schedules()) {
        INFO(describe(schedule));
        TestDevice::get().set_schedule(schedule);
        check_select(activations(2 * 1003, 1, 5.0f), 1000, 300, 40, 128);
        check_select(activations(2 * 70, 2, 5.0f), 65, 64, 3, 64);
        check_select(activations(2 * 40, 3, 5.0f), 33, 16, 64, 32);
        check_select(activations(2 * 40, 3, 5.0f), 1, 16, 5, 32);
    }
}

TEST_CASE("Top k: of equals the lowest ids, across chunks and warps", "[cuda][quick]") {
    TestDevice::get().set_schedule({});
    std::vector<float> logits = activations(2 * 600, 4);
    for (float& logit : logits) logit = std::round(logit);  // A few values, all of them often.
    logits[5] = -0.0f;
    check_select(logits, 600, 128, 50, 96);
    check_select(std::vector<float>(2 * 300, 1.5f), 300, 100, 64, 32);
}

TEST_CASE("Top k: a large vocabulary in chunks", "[cuda]") {
    TestDevice::get().set_schedule({});
    check_select(activations(2 * 40001, 5, 8.0f), 40000, 8192, 256, 1024);
    check_select(activations(2 * 5000, 6, 8.0f), 5000, 4096, 1024, 1024);
}

TEST_CASE("Top k: what is no number comes first, infinities follow", "[cuda][quick][threads]") {
    TestDevice::get().set_schedule({});
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    const Best best = select({1, -infinity, nan, infinity, -3, 2}, 1, 6, 6, 4, 6, 32);
    CHECK(best.ids == std::vector<uint32_t>{2, 3, 5, 0, 4, 1});
    CHECK(std::isnan(best.values[0]));
}

TEST_CASE("Logits: scale and cap", "[cuda][quick]") {
    TestDevice::get().set_schedule({});
    const std::vector<float> logits = activations(2 * 303, 7, 30.0f);
    for (const float softcap : {0.0f, 20.0f}) {
        const DeviceBuffer<float> x(logits);
        TestDevice::get().run("scale_logits", {.grid_x = 2, .grid_y = 2, .num_threads = 64},
                              cuda::ScaleLogitsParams{x.pointer(), 300, 303, 0.5f, softcap});
        const std::vector<float> got = x.read();
        for (size_t i = 0; i < got.size(); ++i) {
            const double scaled = 0.5 * double{logits[i]}, cap = double{softcap};
            double exact = softcap > 0 ? cap * std::tanh(scaled / cap) : scaled;
            if (i % 303 >= 300) exact = double{logits[i]};
            REQUIRE(std::abs(double{got[i]} - exact) <= 1e-6 * std::abs(exact) + 1e-9);
        }
    }
}
