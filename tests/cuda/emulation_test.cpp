// SPDX-License-Identifier: Apache-2.0
// The emulator's negative tests: every planted fault of kernels/broken_kernels.cu is found, by an
// error or by a wrong result in some order, and the same kernel without it passes in every order.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "emulation/launch.h"
#include "kernels/broken_kernels.h"
#include "support/catch.h"

using namespace hokku::emulation;
using hokku::cuda::BrokenParams;

namespace {

std::vector<Schedule> all_schedules() {
    std::vector<Schedule> all;
    for (const bool is_eager : {false, true}) {
        all.push_back({.order = Order::forward, .has_eager_copies = is_eager});
        all.push_back({.order = Order::reverse, .has_eager_copies = is_eager});
        for (uint64_t seed = 1; seed <= 3; ++seed) {
            all.push_back({.order = Order::random, .seed = seed, .has_eager_copies = is_eager});
        }
    }
    return all;
}

/// A launch of one of the kernels and what it should give.
struct Case {
    std::string kernel;
    uint32_t num_threads = 64;
    uint32_t num_blocks = 1;
    uint32_t n = 64;
    uint32_t shared_bytes = 0;
    bool is_cooperative = false;
    std::vector<float> in = {};
    std::vector<float> expected = {};
};

struct Outcome {
    std::string error;
    std::vector<float> out;
};

KernelLaunch make_launch(const char* name, const BrokenParams& params) {
    const Kernel* kernel = find_kernel(name);
    REQUIRE(kernel != nullptr);
    KernelLaunch launch{.kernel = kernel};
    launch.params.resize(sizeof params);
    std::memcpy(launch.params.data(), &params, sizeof params);
    return launch;
}

Outcome run_case(const Case& c, uint32_t fault, const Schedule& schedule) {
    Outcome outcome;
    outcome.out.assign(c.expected.size() + 4096, 0.0f);
    uint32_t state = 0;
    const BrokenParams params{c.in.data(), outcome.out.data(), c.n, fault, &state};
    KernelLaunch launch = make_launch(c.kernel.c_str(), params);
    launch.grid.x = c.num_blocks;
    launch.num_threads = c.num_threads;
    launch.shared_bytes = c.shared_bytes;
    launch.is_cooperative = c.is_cooperative;
    outcome.error = run_launches({&launch, 1}, schedule).error;
    outcome.out.resize(c.expected.size());
    return outcome;
}

void check_sound(const Case& c) {
    for (const Schedule& schedule : all_schedules()) {
        const Outcome outcome = run_case(c, 0, schedule);
        CHECK(outcome.error.empty());
        CHECK(outcome.error == "");
        CHECK(outcome.out == c.expected);
    }
}

/// Some order gives another result, and none an error.
void check_wrong_somewhere(const Case& c, uint32_t fault) {
    size_t num_wrong = 0;
    for (const Schedule& schedule : all_schedules()) {
        const Outcome outcome = run_case(c, fault, schedule);
        CHECK(outcome.error == "");
        num_wrong += outcome.out != c.expected ? 1u : 0u;
    }
    CHECK(num_wrong > 0);
}

/// Every order ends with an error that has this text.
void check_refused(const Case& c, uint32_t fault, const std::string& text) {
    for (const Schedule& schedule : all_schedules()) {
        const Outcome outcome = run_case(c, fault, schedule);
        INFO(outcome.error);
        CHECK(outcome.error.find(text) != std::string::npos);
        CHECK(outcome.error.rfind(c.kernel + ", block (", 0) == 0);
    }
}

std::vector<float> counting(size_t n) {
    std::vector<float> values(n);
    std::iota(values.begin(), values.end(), 1.0f);
    return values;
}

std::vector<float> ones(size_t n) {
    return std::vector<float>(n, 1.0f);
}

Case reverse_case() {
    Case c{.kernel = "broken_reverse", .in = counting(64), .expected = counting(64)};
    std::reverse(c.expected.begin(), c.expected.end());
    return c;
}

Case copies_case() {
    Case c{.kernel = "broken_copies",
           .num_threads = 64,
           .n = 5,
           .shared_bytes = 2048,
           .in = counting(5 * 256),
           .expected = std::vector<float>(64)};
    for (size_t t = 0; t < 64; ++t) {
        for (size_t i = 0; i < 5; ++i) {
            for (size_t j = 0; j < 4; ++j) {
                c.expected[t] += static_cast<float>(i * 256 + (63 - t) * 4 + j + 1);
            }
        }
    }
    return c;
}

/// Twice the input in reverse, by five blocks of a cooperative launch.
Case grid_case() {
    Case c{.kernel = "broken_grid",
           .num_threads = 64,
           .num_blocks = 5,
           .n = 1000,
           .is_cooperative = true,
           .in = counting(1000),
           .expected = counting(1000)};
    std::reverse(c.expected.begin(), c.expected.end());
    for (float& value : c.expected) value *= 2;
    return c;
}

}  // namespace

TEST_CASE("Emulator: a missing barrier shows in some order", "[cuda][quick]") {
    const Case reverse = reverse_case();
    check_sound(reverse);
    check_wrong_somewhere(reverse, 1);
    Case tiles{.kernel = "broken_tiles", .in = counting(256), .expected = {}};
    for (size_t t = 0; t < 64; ++t) {
        float sum = 0;
        for (size_t i = 0; i < 4; ++i) sum += static_cast<float>(i * 64 + (63 - t) + 1);
        tiles.expected.push_back(sum);
    }
    check_sound(tiles);
    check_wrong_somewhere(tiles, 1);
}

TEST_CASE("Emulator: sound kernels are right in every order, and have no races",
          "[cuda][quick][threads]") {
    check_sound(reverse_case());
    check_sound(copies_case());
    check_sound(grid_case());
    check_sound({.kernel = "broken_early_return", .n = 50, .expected = ones(64)});
}

TEST_CASE("Emulator: a missing warp barrier shows in some order", "[cuda][quick]") {
    Case c{.kernel = "broken_warp_exchange", .in = counting(64), .expected = {}};
    for (size_t t = 0; t < 64; ++t) c.expected.push_back(static_cast<float>((t ^ 1u) + 1));
    check_sound(c);
    check_wrong_somewhere(c, 1);
}

TEST_CASE("Emulator: asynchronous copies are there after the wait and not before",
          "[cuda][quick]") {
    const Case c = copies_case();
    check_sound(c);
    check_wrong_somewhere(c, 1);
    check_wrong_somewhere(c, 2);
    check_wrong_somewhere(c, 3);
    check_refused(c, 4, "ended with asynchronous copies that were not waited for");
    // What was not waited for is not a number.
    const Outcome outcome = run_case(c, 3, {});
    CHECK(std::isnan(outcome.out[0]));
}

TEST_CASE("Emulator: threads at different barriers are reported", "[cuda][quick]") {
    Case c{.kernel = "broken_divergent_barrier", .expected = ones(64)};
    check_sound(c);
    check_refused(c, 1, "while others wait at broken_kernels.cu:");
}

TEST_CASE("Emulator: a barrier without threads that have ended is reported", "[cuda][quick]") {
    Case c{.kernel = "broken_early_return", .n = 50, .expected = ones(64)};
    check_sound(c);
    for (const Schedule& schedule : all_schedules()) {
        const Outcome outcome = run_case(c, 1, schedule);
        INFO(outcome.error);
        CHECK((outcome.error.find("ended while others of its block wait") != std::string::npos ||
               outcome.error.find("threads of its block have ended") != std::string::npos));
    }
}

TEST_CASE("Emulator: warp operations need all lanes of equal masks", "[cuda][quick]") {
    Case c{.kernel = "broken_shuffle", .in = counting(64), .expected = {}};
    for (size_t t = 0; t < 64; ++t) c.expected.push_back(static_cast<float>((t ^ 1u) + 1));
    check_sound(c);
    for (const Schedule& schedule : all_schedules()) {
        const Outcome outcome = run_case(c, 1, schedule);
        INFO(outcome.error);
        CHECK((outcome.error.find("which has ended") != std::string::npos ||
               outcome.error.find("ended while lane") != std::string::npos));
    }
    check_refused(c, 2, "masks, operations and places must agree");
    check_refused(c, 3, "which is not in its mask");
    check_refused(c, 4, "has a mask without its own lane");
    check_refused(c, 5, "masks, operations and places must agree");
    // A block that ends within a warp lacks the lanes that the mask names.
    c.num_threads = 40;
    check_refused(c, 0, "names lanes that its block lacks");
}

TEST_CASE("Emulator: accesses outside of shared arrays are reported", "[cuda][quick]") {
    Case c{.kernel = "broken_bounds",
           .num_threads = 32,
           .shared_bytes = 128,
           .in = counting(32),
           .expected = {}};
    for (size_t t = 0; t < 32; ++t) {
        c.expected.push_back(static_cast<float>((t + 1) * (t < 16 ? 2 : 1)));
    }
    check_sound(c);
    check_refused(c, 1, "index 32 of shared array values is out of bounds, it has 32 elements");
    check_refused(c, 3, "bytes 64 to 132 of dynamic shared memory are out of bounds, it has 128");
#if !defined(__SANITIZE_ADDRESS__)
    check_refused(c, 2, "something was written outside the bounds of shared array values");
#endif
}

TEST_CASE("Emulator: shared memory begins as not-a-number", "[cuda][quick]") {
    Case c{.kernel = "broken_uninitialised", .num_threads = 32, .expected = ones(32)};
    check_sound(c);
    const Outcome outcome = run_case(c, 1, {});
    CHECK(outcome.error == "");
    for (const float value : outcome.out) CHECK(std::isnan(value));
}

TEST_CASE("Emulator: loads of 16 bytes must be aligned", "[cuda][quick]") {
    alignas(16) static float values[256] = {};
    Case c{.kernel = "broken_alignment", .num_threads = 32, .expected = std::vector<float>(32)};
    float out[32];
    for (const uint32_t fault : {0u, 1u}) {
        KernelLaunch launch = make_launch(c.kernel.c_str(), {values, out, 0, fault, nullptr});
        launch.num_threads = 32;
        const RunReport report = run_launches({&launch, 1}, {});
        INFO(report.error);
        CHECK((report.error.find("are not aligned to 16") != std::string::npos) == (fault == 1));
        CHECK(report.ok() == (fault == 0));
    }
}

TEST_CASE("Emulator: a cooperative launch has all blocks alive", "[cuda][quick]") {
    Case c = grid_case();
    check_sound(c);
    check_wrong_somewhere(c, 1);
    // More threads than are resident otherwise.
    c.num_blocks = 200;
    CHECK(run_case(c, 0, {}).out == c.expected);
    c.is_cooperative = false;
    check_refused(c, 0, "a grid barrier in a launch that is not cooperative");
}

TEST_CASE("Emulator: a loop that waits for nothing ends with an error", "[cuda]") {
    Case c{.kernel = "broken_spin", .num_threads = 32, .num_blocks = 2, .expected = ones(32)};
    check_sound(c);
    const Outcome outcome = run_case(c, 1, {});
    CHECK(outcome.error.find("waits in a loop for what no thread does") != std::string::npos);
}

TEST_CASE("Emulator: a dependent launch begins early and must wait", "[cuda][quick]") {
    const uint32_t n = 256;
    const std::vector<float> in = counting(n);
    for (const uint32_t fault : {0u, 1u, 2u}) {
        size_t num_wrong = 0;
        for (const Schedule& schedule : all_schedules()) {
            std::vector<float> middle(n), out(n);
            std::vector<KernelLaunch> launches = {
                make_launch("dependent_first", {in.data(), middle.data(), n, 0, nullptr}),
                make_launch("dependent_second", {middle.data(), out.data(), n, fault, nullptr})};
            for (KernelLaunch& launch : launches) {
                launch.grid.x = 4;
                launch.num_threads = 64;
            }
            launches[1].is_dependent = true;
            const RunReport report = run_launches(launches, schedule);
            INFO(report.error);
            bool is_right = true;
            for (size_t i = 0; i < n; ++i) is_right &= out[i] == 10.0f * (in[n - 1 - i] + 1);
            num_wrong += is_right ? 0u : 1u;
            const bool is_refused = report.error.find("without having waited") != std::string::npos;
            CHECK(is_refused == (fault == 1));
            // An ordinary launch in the same place sees all that came before.
            launches[1].is_dependent = false;
            const RunReport ordered = run_launches(launches, schedule);
            CHECK(ordered.error == "");
            for (size_t i = 0; i < n; ++i) REQUIRE(out[i] == 10.0f * (in[n - 1 - i] + 1));
        }
        CHECK((num_wrong > 0) == (fault != 0));
    }
}

TEST_CASE("Emulator: launches that no device would take are refused", "[cuda][quick]") {
    KernelLaunch launch = make_launch("broken_reverse", {});
    launch.num_threads = 257;
    CHECK(run_launches({&launch, 1}, {}).error ==
          "broken_reverse: 257 threads a block, allowed are 1 to 256");
    launch.num_threads = 32;
    launch.params.resize(3);
    CHECK(run_launches({&launch, 1}, {}).error ==
          "broken_reverse: 3 bytes of parameters, expected 32");
    launch = make_launch("broken_reverse", {});
    launch.shared_bytes = 228 * 1024;
    CHECK_FALSE(run_launches({&launch, 1}, {}).ok());
    launch = make_launch("broken_reverse", {});
    launch.grid.x = 0;
    CHECK_FALSE(run_launches({&launch, 1}, {}).ok());
    CHECK(find_kernel("no_such_kernel") == nullptr);
}
