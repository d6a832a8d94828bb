// SPDX-License-Identifier: Apache-2.0
// Conformance of the primitives: each against plain code, on the emulator and, with the same
// source, on a GPU. Integers exactly; floating point within what the device documents.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "backend/half.h"
#include "cuda/support/device.h"
#include "kernels/primitive_kernels.h"
#include "support/catch.h"

using namespace hokku;
using namespace hokku::testing;
using cuda::FloatsParams;
using cuda::MmaParams;
using cuda::WordsParams;

namespace {

std::vector<uint32_t> random_words(size_t n, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<uint32_t> words(n);
    for (uint32_t& word : words) word = static_cast<uint32_t>(random());
    return words;
}

/// Calls check() once for each order in which the emulator takes threads.
template <class Check>
void in_every_order(Check check) {
    for (const emulation::Schedule& schedule : kernel_schedules()) {
        INFO(describe(schedule));
        TestDevice::get().set_schedule(schedule);
        check();
    }
}

std::vector<uint32_t> run_warp(const std::vector<uint32_t>& in, uint32_t mode) {
    const DeviceBuffer<uint32_t> device_in(in), out(in.size());
    TestDevice::get().run(
        "primitive_warp", {.grid_x = 3, .num_threads = 96},
        WordsParams{device_in.pointer(), out.pointer(), static_cast<uint32_t>(in.size()), mode});
    return out.read();
}

int32_t dot_bytes(uint32_t a, uint32_t b) {
    int32_t sum = 0;
    for (uint32_t i = 0; i < 32; i += 8) sum += int8_t(a >> i) * int8_t(b >> i);
    return sum;
}

}  // namespace

TEST_CASE("Primitives: places, shuffles and votes", "[cuda][quick]") {
    const std::vector<uint32_t> in = random_words(288, 1);
    in_every_order([&] {
        const std::vector<uint32_t> place = run_warp(in, 0), index = run_warp(in, 1),
                                    exclusive = run_warp(in, 2), down = run_warp(in, 3),
                                    up = run_warp(in, 4), votes = run_warp(in, 5),
                                    dots = run_warp(in, 6), halves = run_warp(in, 7),
                                    permuted = run_warp(in, 8);
        for (uint32_t i = 0; i < in.size(); ++i) {
            const uint32_t lane = i % 32, first = i - lane;
            REQUIRE(place[i] == (3u << 24 | i / 96 << 16 | 3u << 12 | i % 96 / 32 << 8 | lane));
            REQUIRE(index[i] == in[first + (lane * 7 + 3) % 32]);
            REQUIRE(exclusive[i] == in[first + (lane ^ 21u)]);
            REQUIRE(down[i] == in[lane + 5 < 32 ? i + 5 : i]);
            REQUIRE(up[i] == in[lane >= 9 ? i - 9 : i]);
            uint32_t expected = 0;
            for (uint32_t j = 0; j < 32; ++j) expected |= (in[first + j] % 3 == 0 ? 1u : 0u) << j;
            REQUIRE(votes[i] == expected);
            uint8_t sources[8], picked[4];
            std::memcpy(sources, &in[i], 4);
            std::memcpy(sources + 4, &in[in.size() - 1 - i], 4);
            for (uint32_t j = 0; j < 4; ++j) picked[j] = sources[in[i ^ 1u] >> (4 * j) & 7u];
            CHECK(std::memcmp(picked, &permuted[i], 4) == 0);
            REQUIRE(static_cast<int32_t>(dots[i]) == dot_bytes(in[i], in[in.size() - 1 - i]) - 5);
            REQUIRE(halves[i] ==
                    (lane < 16 ? in[first + (lane ^ 3u)] : in[first + (lane ^ 4u)] + 1));
        }
    });
}

TEST_CASE("Primitives: matrix products of int8 are exact", "[cuda][quick]") {
    for (uint32_t seed = 0; seed < 20; ++seed) {
        std::vector<uint32_t> words = random_words(16 * 8 + 8 * 8 + 128, seed);
        if (seed == 0) std::fill(words.begin(), words.begin() + 192, 0x80808080u);  // -128
        const std::vector<uint8_t> bytes = [&] {
            std::vector<uint8_t> all(words.size() * 4);
            std::memcpy(all.data(), words.data(), all.size());
            return all;
        }();
        const std::vector<uint8_t> a(bytes.begin(), bytes.begin() + 512),
            b(bytes.begin() + 512, bytes.begin() + 768);
        const std::vector<uint32_t> c(words.begin() + 192, words.end());
        in_every_order([&] {
            const DeviceBuffer<uint8_t> device_a(a), device_b(b);
            const DeviceBuffer<uint32_t> device_c(c);
            TestDevice::get().run(
                "primitive_mma_s8", {},
                MmaParams{device_a.pointer(), device_b.pointer(), device_c.pointer()});
            const std::vector<uint32_t> out = device_c.read();
            for (size_t row = 0; row < 16; ++row) {
                for (size_t column = 0; column < 8; ++column) {
                    uint32_t sum = c[row * 8 + column];
                    for (size_t k = 0; k < 32; ++k) {
                        sum += static_cast<uint32_t>(int8_t(a[row * 32 + k]) *
                                                     int8_t(b[column * 32 + k]));
                    }
                    REQUIRE(out[row * 8 + column] == sum);
                }
            }
        });
    }
}

TEST_CASE("Primitives: matrix products of halves and bfloats", "[cuda][quick]") {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    for (const bool is_bfloat : {false, true}) {
        if (is_bfloat && TestDevice::get().architecture() < 80) continue;
        for (int repeat = 0; repeat < 10; ++repeat) {
            std::vector<uint8_t> a(512), b(256);
            std::vector<float> a_values(256), b_values(128), c(128);
            const float scale = repeat == 0 ? 200.0f : 1.0f;
            const auto fill = [&](std::vector<uint8_t>& bytes, std::vector<float>& values) {
                for (size_t i = 0; i < values.size(); ++i) {
                    const float value = scale * normal(random);
                    uint16_t bits = float_to_half(value);
                    if (is_bfloat) {
                        bits = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
                    }
                    values[i] = is_bfloat ? bfloat_to_float(bits) : half_to_float(bits);
                    std::memcpy(bytes.data() + 2 * i, &bits, 2);
                }
            };
            fill(a, a_values);
            fill(b, b_values);
            for (float& value : c) value = normal(random);
            std::vector<uint32_t> c_bits(128);
            std::memcpy(c_bits.data(), c.data(), 512);
            const DeviceBuffer<uint8_t> device_a(a), device_b(b);
            const DeviceBuffer<uint32_t> device_c(c_bits);
            TestDevice::get().run(
                is_bfloat ? "primitive_mma_bf16" : "primitive_mma_f16", {},
                MmaParams{device_a.pointer(), device_b.pointer(), device_c.pointer()});
            const std::vector<uint32_t> out = device_c.read();
            for (size_t row = 0; row < 16; ++row) {
                for (size_t column = 0; column < 8; ++column) {
                    double sum = double{c[row * 8 + column]}, magnitude = std::abs(sum);
                    for (size_t k = 0; k < 16; ++k) {
                        const double product =
                            double{a_values[row * 16 + k]} * b_values[column * 16 + k];
                        sum += product;
                        magnitude += std::abs(product);
                    }
                    const double got = double{std::bit_cast<float>(out[row * 8 + column])};
                    // Tensor cores add with a few bits more than float32 and truncate.
                    REQUIRE(std::abs(got - sum) <= 1e-5 * magnitude);
                }
            }
        }
    }
}

TEST_CASE("Primitives: matrices from shared memory", "[cuda][quick]") {
    const std::vector<uint32_t> in = random_words(128, 5);
    std::vector<uint16_t> halves(256);
    std::memcpy(halves.data(), in.data(), 512);
    in_every_order([&] {
        for (const uint32_t mode : {1u, 2u, 4u, 9u, 10u, 12u}) {
            const DeviceBuffer<uint32_t> device_in(in), device_out(128);
            TestDevice::get().run(
                "primitive_load_matrix", {},
                WordsParams{device_in.pointer(), device_out.pointer(), 128, mode});
            const std::vector<uint32_t> out = device_out.read();
            for (uint32_t lane = 0; lane < 32; ++lane) {
                for (uint32_t m = 0; m < mode % 8; ++m) {
                    uint32_t expected = 0;
                    for (uint32_t j = 0; j < 2; ++j) {
                        uint32_t row = lane / 4, column = lane % 4 * 2 + j;
                        if (mode > 8) std::swap(row, column);
                        const uint32_t place = (8 * m + row) * 5 % 32 * 8 + column;
                        expected |= static_cast<uint32_t>(halves[place]) << (16 * j);
                    }
                    INFO("mode " << mode << " lane " << lane << " matrix " << m);
                    REQUIRE(out[lane * 4 + m] == expected);
                }
            }
        }
    });
}

TEST_CASE("Primitives: asynchronous copies, whole and with zeros behind the end", "[cuda][quick]") {
    for (const uint32_t n : {4u, 256u, 1000u, 2048u}) {
        const std::vector<uint32_t> in = random_words(n, n);
        const uint32_t tile = 256, padded = (n + tile - 1) / tile * tile;
        in_every_order([&] {
            const DeviceBuffer<uint32_t> device_in(in), device_out(padded);
            TestDevice::get().run("primitive_copies",
                                  {.num_threads = 64, .shared_bytes = 3 * tile * 4},
                                  WordsParams{device_in.pointer(), device_out.pointer(), n, 0});
            const std::vector<uint32_t> out = device_out.read();
            for (uint32_t i = 0; i < padded; ++i) {
                const uint32_t source = i / tile * tile + tile - 1 - i % tile;
                REQUIRE(out[i] == (source < n ? in[source] : 0));
            }
        });
    }
}

TEST_CASE("Primitives: halves and bfloats of every value", "[cuda][quick]") {
    TestDevice& device = TestDevice::get();
    device.set_schedule({});
    const LaunchShape shape{.grid_x = 256, .num_threads = 256};
    const DeviceBuffer<uint32_t> out(65536);
    device.run("primitive_halves", shape, WordsParams{nullptr, out.pointer(), 65536, 0});
    const std::vector<uint32_t> widened = out.read();
    device.run("primitive_halves", shape, WordsParams{nullptr, out.pointer(), 65536, 4});
    const std::vector<uint32_t> bfloats = out.read();
    std::vector<uint32_t> back(65536);
    for (uint32_t i = 0; i < 65536; ++i) {
        const float expected = half_to_float(static_cast<uint16_t>(i));
        const float got = std::bit_cast<float>(widened[i]);
        if (std::isnan(expected)) {
            REQUIRE(std::isnan(got));
        } else {
            REQUIRE(std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(expected));
        }
        REQUIRE(bfloats[i] == i << 16);
        back[i] = std::bit_cast<uint32_t>(expected);
    }
    const DeviceBuffer<uint32_t> in(back);
    for (const uint32_t mode : {1u, 2u}) {
        device.run("primitive_halves", shape,
                   WordsParams{in.pointer(), out.pointer(), 65536, mode});
        const std::vector<uint32_t> narrowed = out.read();
        for (uint32_t i = 0; i < 65536; ++i) {
            if (!std::isnan(std::bit_cast<float>(back[i]))) REQUIRE(narrowed[i] == i);
        }
    }
}

TEST_CASE("Primitives: floats to halves and bfloats round to the nearest even", "[cuda][quick]") {
    TestDevice& device = TestDevice::get();
    device.set_schedule({});
    std::vector<uint32_t> bits = random_words(20000, 11);
    const uint32_t extremes[] = {0x477fe000, 0x477fefff, 0x477ff000, 0x7f7fffff, 0x7f800000,
                                 0x33000000, 0x33000001, 0x38800000, 0x387fffff, 0x00000001,
                                 0x3f801000, 0x3f803000, 0x3f808000, 0x3f818000, 0x7f7f8000};
    for (const uint32_t extreme : extremes) {
        bits.push_back(extreme);
        bits.push_back(extreme | 0x80000000u);
    }
    // Most random bits are far from halves: bring every second one into their range.
    for (size_t i = 0; i < 20000; i += 2) bits[i] = (bits[i] & 0x8fffffffu) | 0x30000000u;
    const auto n = static_cast<uint32_t>(bits.size());
    const DeviceBuffer<uint32_t> in(bits), out(n);
    const LaunchShape shape{.grid_x = (n + 255) / 256, .num_threads = 256};
    std::vector<uint32_t> got[4];
    for (const uint32_t mode : {1u, 2u, 3u}) {
        device.run("primitive_halves", shape, WordsParams{in.pointer(), out.pointer(), n, mode});
        got[mode] = out.read();
    }
    for (size_t i = 0; i < n; ++i) {
        const float value = std::bit_cast<float>(bits[i]);
        if (std::isnan(value)) continue;
        INFO(std::hex << bits[i]);
        const uint16_t clamped = float_to_half(value);  // The core's clamps.
        REQUIRE(got[2][i] == clamped);
        if (std::abs(value) >= 65520.0f) {
            REQUIRE(got[1][i] == ((clamped & 0x8000u) | 0x7c00u));
        } else {
            REQUIRE(got[1][i] == clamped);
        }
        // The nearest of the two neighbours, of equally near ones the even one.
        const uint32_t low = bits[i] >> 16, rest = bits[i] & 0xffffu;
        const bool is_up = rest > 0x8000u || (rest == 0x8000u && (low & 1u) != 0);
        REQUIRE(got[3][i] == low + (is_up ? 1u : 0u));
    }
}

TEST_CASE("Primitives: atomics of all blocks", "[cuda][quick]") {
    const std::vector<uint32_t> in = random_words(1000, 2);
    uint32_t sum = 0;
    for (const uint32_t value : in) sum += value;
    in_every_order([&] {
        const DeviceBuffer<uint32_t> device_in(in), out(std::vector<uint32_t>(4));
        TestDevice::get().run("primitive_atomics", {.grid_x = 8, .num_threads = 128},
                              WordsParams{device_in.pointer(), out.pointer(), 1000, 0});
        const std::vector<uint32_t> got = out.read();
        CHECK(got[0] == sum);
        CHECK(got[1] == *std::max_element(in.begin(), in.end()));
        CHECK(got[2] == 1000);
        CHECK(std::bit_cast<float>(got[3]) == 500.0f);
    });
}

TEST_CASE("Primitives: grid barriers order what blocks write", "[cuda][quick]") {
    const uint32_t num_blocks = 7, n = num_blocks * 128 - 5;
    std::vector<float> in(n);
    for (uint32_t i = 0; i < n; ++i) in[i] = static_cast<float>(i % 3);
    std::vector<double> expected(in.begin(), in.end());
    for (int round = 0; round < 3; ++round) {
        std::vector<double> sums(num_blocks);
        for (uint32_t i = 0; i < n; ++i) sums[i / 128] += expected[i];
        // Threads past the end add the sums up as well.
        for (uint32_t i = n; round > 0 && i < num_blocks * 128; ++i) sums[i / 128] += expected[i];
        expected.resize(num_blocks * 128);
        for (uint32_t i = 0; i < num_blocks * 128; ++i) {
            for (uint32_t b = 0; b < i / 128; ++b) expected[i] += sums[b];
        }
    }
    in_every_order([&] {
        const DeviceBuffer<float> device_in(in), out(n + 3 * num_blocks);
        const DeviceBuffer<uint32_t> state(std::vector<uint32_t>(1));
        TestDevice::get().run(
            "primitive_grid", {.grid_x = num_blocks, .num_threads = 128, .is_cooperative = true},
            FloatsParams{device_in.pointer(), out.pointer(), n, 0, state.pointer()});
        const std::vector<float> got = out.read();
        for (uint32_t i = 0; i < n; ++i) {
            REQUIRE(double{got[i]} == Approx(expected[i]).epsilon(1e-6));
        }
    });
}

TEST_CASE("Primitives: a chain of dependent launches is as one after another", "[cuda][quick]") {
    std::vector<float> in(512);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
    in_every_order([&] {
        const DeviceBuffer<float> a(in), b(in.size());
        for (int i = 0; i < 6; ++i) {
            const DeviceBuffer<float>&from = i % 2 == 0 ? a : b, &to = i % 2 == 0 ? b : a;
            TestDevice::get().launch("primitive_chain",
                                     {.grid_x = 8, .num_threads = 64, .is_dependent = i > 0},
                                     FloatsParams{from.pointer(), to.pointer(), 0, 0, nullptr});
        }
        TestDevice::get().synchronize();
        const std::vector<float> got = a.read();
        for (size_t i = 0; i < in.size(); ++i) REQUIRE(got[i] == in[i] + 6);
    });
}

TEST_CASE("Primitives: functions of floats are within the device's bounds", "[cuda][quick]") {
    std::mt19937 random(9);
    std::vector<float> in;
    std::uniform_real_distribution<float> uniform(-80.0f, 80.0f), small(-4.0f, 4.0f);
    for (int i = 0; i < 2000; ++i) in.push_back(i % 2 == 0 ? uniform(random) : small(random));
    for (const float x : {0.0f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -87.0f, 88.0f, 1e-30f, 1e30f})
        in.push_back(x);
    // Units in the last place: CUDA C++ Programming Guide, "Mathematical Functions".
    struct Function {
        double (*exact)(double);
        double ulps;
    };
    const Function functions[] = {
        {[](double x) { return std::exp(x); }, 2},      {[](double x) { return std::log(x); }, 2},
        {[](double x) { return std::tanh(x); }, 3},     {[](double x) { return std::erf(x); }, 3},
        {[](double x) { return 1 / std::sqrt(x); }, 3}, {[](double x) { return std::sqrt(x); }, 1},
        {[](double x) { return std::nearbyint(x); }, 0}};
    const auto n = static_cast<uint32_t>(in.size());
    const DeviceBuffer<float> device_in(in), out(n);
    TestDevice::get().set_schedule({});
    for (uint32_t mode = 0; mode < std::size(functions); ++mode) {
        TestDevice::get().run("primitive_maths", {.grid_x = (n + 255) / 256, .num_threads = 256},
                              FloatsParams{device_in.pointer(), out.pointer(), n, mode, nullptr});
        const std::vector<float> got = out.read();
        for (uint32_t i = 0; i < n; ++i) {
            if ((mode == 1 || mode == 4 || mode == 5) && in[i] <= 0) continue;
            if (mode == 6 && std::abs(in[i]) > 1e9f) continue;
            const double exact = functions[mode].exact(double{in[i]});
            if (exact > 3e38 || (exact != 0 && std::abs(exact) < 2e-38)) continue;
            const double ulp = std::abs(exact) * 0x1p-23;
            INFO("mode " << mode << " of " << in[i]);
            REQUIRE(std::abs(double{got[i]} - exact) <= functions[mode].ulps * ulp);
        }
    }
}
