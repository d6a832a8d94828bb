// SPDX-License-Identifier: Apache-2.0
#include "sampling/softmax.h"

#include <cmath>
#include <limits>
#include <vector>

#include "support/catch.h"

TEST_CASE("softmax: exponentials agree with double precision", "[sampling][quick]") {
    std::vector<float> x;
    for (float value = -84.0f; value <= 0.0f; value += 0.0137f) x.push_back(value + 3.0f);
    std::vector<float> out(x.size());
    const double sum = hokku::exp_shifted(x, 3.0f, out.data());
    double expected_sum = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        const double expected = std::exp(static_cast<double>(x[i] - 3.0f));
        REQUIRE(static_cast<double>(out[i]) == Approx(expected).epsilon(4e-7));
        expected_sum += expected;
    }
    CHECK(sum == Approx(expected_sum).epsilon(1e-6));
}

TEST_CASE("softmax: what is far below the maximum weighs nothing", "[sampling][quick]") {
    const float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> x{-infinity, 5.0f, -1e30f, -200.0f,
                               -std::numeric_limits<float>::max()};
    std::vector<float> out(x.size());
    CHECK(hokku::exp_shifted(x, 5.0f, out.data()) == 1.0);
    CHECK(out == std::vector<float>{0.0f, 1.0f, 0.0f, 0.0f, 0.0f});
}

TEST_CASE("softmax: maximum and log of the sum at every length", "[sampling][quick]") {
    for (size_t count = 1; count < 70; ++count) {
        std::vector<float> x(count, -2.0f);
        x[count * 7 % count] = 1.5f;
        CHECK(hokku::max_of(x) == 1.5f);
        const double expected =
            std::log(std::exp(1.5) + static_cast<double>(count - 1) * std::exp(-2.0));
        CHECK(hokku::log_sum_exp(x) == Approx(expected).epsilon(1e-6));
    }
    CHECK(hokku::max_of({}) == -std::numeric_limits<float>::infinity());
    const std::vector<float> large(3000, 1000.0f);
    CHECK(hokku::log_sum_exp(large) == Approx(1000.0 + std::log(3000.0)));
}
