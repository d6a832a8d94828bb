// SPDX-License-Identifier: Apache-2.0
#include "sampling/softmax.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace hokku {
namespace {

// exp(x) = 2^n * exp(r), n = round(x / ln 2), |r| <= ln(2) / 2, the Taylor series of exp(r) to the
// seventh power (the term left out is below 1e-8). No branches: this is what gets vectorised.
inline float exp_of_negative(float x) {
    constexpr float kLog2e = 1.44269504f;
    constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;  // Cody & Waite split
    constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
    constexpr float kSmallest = -85.0f;    // exp(-85) is a normal number
    const float clamped = x > kSmallest ? x : kSmallest;
    const float shifted = clamped * kLog2e + kRound;
    const float n = shifted - kRound;
    const float r = (clamped - n * kLn2High) - n * kLn2Low;
    float p = 1.0f / 5040.0f;
    p = p * r + 1.0f / 720.0f;
    p = p * r + 1.0f / 120.0f;
    p = p * r + 1.0f / 24.0f;
    p = p * r + 1.0f / 6.0f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    // The low bits of `shifted` hold n; moved into the exponent they multiply by 2^n.
    const uint32_t scaled = std::bit_cast<uint32_t>(p) + (std::bit_cast<uint32_t>(shifted) << 23);
    return x > kSmallest ? std::bit_cast<float>(scaled) : 0.0f;
}

constexpr size_t kLanes = 16;

}  // namespace

double exp_shifted(std::span<const float> x, float maximum, float* out) {
    const size_t count = x.size();
    for (size_t i = 0; i < count; ++i) out[i] = exp_of_negative(x[i] - maximum);
    std::array<double, kLanes> sums{};
    size_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
        for (size_t j = 0; j < kLanes; ++j) sums[j] += static_cast<double>(out[i + j]);
    double sum = 0;
    for (; i < count; ++i) sum += static_cast<double>(out[i]);
    for (const double lane : sums) sum += lane;
    return sum;
}

float max_of(std::span<const float> x) {
    std::array<float, kLanes> maxima;
    maxima.fill(-std::numeric_limits<float>::infinity());
    size_t i = 0;
    for (; i + kLanes <= x.size(); i += kLanes)
        for (size_t j = 0; j < kLanes; ++j) maxima[j] = x[i + j] > maxima[j] ? x[i + j] : maxima[j];
    float best = -std::numeric_limits<float>::infinity();
    for (; i < x.size(); ++i) best = x[i] > best ? x[i] : best;
    for (const float lane : maxima) best = lane > best ? lane : best;
    return best;
}

double log_sum_exp(std::span<const float> x) {
    const float maximum = max_of(x);
    constexpr size_t kPart = 1024;
    std::array<float, kPart> weights;
    double sum = 0;
    for (size_t start = 0; start < x.size(); start += kPart) {
        const auto part = x.subspan(start, std::min(kPart, x.size() - start));
        sum += exp_shifted(part, maximum, weights.data());
    }
    return static_cast<double>(maximum) + std::log(sum);
}

}  // namespace hokku
