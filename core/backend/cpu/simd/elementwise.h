// SPDX-License-Identifier: Apache-2.0
// Norms, RoPE and activations over registers of floats; ends of rows go through masked loads and
// stores. Internal linkage on purpose.
#pragma once

#include <cstddef>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd/for_lanes.h"
#include "backend/cpu/simd/math.h"

namespace hokku::cpu {
namespace {

HOKKU_INLINE float reciprocal_root(float x) {
    return 1.0f / __builtin_sqrtf(x);
}

void rms_norm(float* out, const float* x, const float* weight, size_t n, float eps) {
    Floats sums[4] = {zero(), zero(), zero(), zero()};
    size_t i = 0;
    for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
        for (size_t k = 0; k < 4; ++k) {
            const Floats v = load(x + i + k * kLanes);
            sums[k] = mul_add(v, v, sums[k]);
        }
    }
    for_lanes(n - i, [&](size_t j, auto lanes) HOKKU_LAMBDA {
        const Floats v = load(x + i + j, lanes);
        sums[0] = mul_add(v, v, sums[0]);
    });
    const Floats sum = add(add(sums[0], sums[1]), add(sums[2], sums[3]));
    const Floats factor = splat(reciprocal_root(sum_of_lanes(sum) / static_cast<float>(n) + eps));
    for_lanes(n, [&](size_t j, auto lanes) HOKKU_LAMBDA {
        Floats v = mul(load(x + j, lanes), factor);
        if (weight) v = mul(v, load(weight + j, lanes));
        store(out + j, lanes, v);
    });
}

void layer_norm(float* out, const float* x, const float* weight, const float* bias, size_t n,
                float eps) {
    Floats sum = zero();
    for_lanes(n, [&](size_t j, auto lanes) HOKKU_LAMBDA { sum = add(sum, load(x + j, lanes)); });
    const Floats mean = splat(sum_of_lanes(sum) / static_cast<float>(n));
    Floats squares = zero();
    for_lanes(n, [&](size_t j, auto lanes) HOKKU_LAMBDA {
        const Floats v = choose(lanes, sub(load(x + j, lanes), mean), zero());
        squares = mul_add(v, v, squares);
    });
    const float variance = sum_of_lanes(squares) / static_cast<float>(n);
    const Floats factor = splat(reciprocal_root(variance + eps));
    for_lanes(n, [&](size_t j, auto lanes) HOKKU_LAMBDA {
        Floats v = mul(sub(load(x + j, lanes), mean), factor);
        if (weight) v = mul(v, load(weight + j, lanes));
        if (bias) v = add(v, load(bias + j, lanes));
        store(out + j, lanes, v);
    });
}

void rope_halves(float* x, const float* cos_sin, size_t num_dims) {
    const size_t half = num_dims / 2;
    for_lanes(half, [&](size_t j, auto lanes) HOKKU_LAMBDA {
        const Floats c = load(cos_sin + j, lanes), s = load(cos_sin + half + j, lanes);
        const Floats a = load(x + j, lanes), b = load(x + half + j, lanes);
        store(x + j, lanes, mul_sub(a, c, mul(b, s)));
        store(x + half + j, lanes, mul_add(a, s, mul(b, c)));
    });
}

void rope_interleaved(float* x, const float* cos_sin, size_t num_dims) {
    const size_t half = num_dims / 2, step = kLanes / 2;
    for (size_t i = 0; i < half; i += step) {
        const size_t count = half - i < step ? half - i : step;
        const Mask lanes = first_lanes(2 * count);
        const Floats c = load_twice(cos_sin + i, count);
        const Floats s = load_twice(cos_sin + half + i, count);
        store(x + 2 * i, lanes, turn_pairs(load(x + 2 * i, lanes), c, s));
    }
}

/// gate[i] = function(gate[i]) * up[i]
template <class Function>
HOKKU_INLINE void activate(float* gate, const float* up, size_t n, Function function) {
    for_lanes(n, [&](size_t i, auto lanes) HOKKU_LAMBDA {
        Floats v = function(load(gate + i, lanes));
        if (up) v = mul(v, load(up + i, lanes));
        store(gate + i, lanes, v);
    });
}

void silu_mul(float* gate, const float* up, size_t n) {
    activate(gate, up, n, [](Floats x) HOKKU_LAMBDA { return mul(x, sigmoid_floats(x)); });
}

void gelu_tanh_mul(float* gate, const float* up, size_t n) {
    // x (1 + tanh y) / 2 = x sigmoid(2 y), y = sqrt(2 / pi) (x + 0.044715 x^3).
    activate(gate, up, n, [](Floats x) HOKKU_LAMBDA {
        const Floats cubic = mul_add(mul(x, x), splat(0.044715f), splat(1.0f));
        const Floats twice_y = mul(mul(x, cubic), splat(2.0f * 0.79788456080286535588f));
        return mul(x, sigmoid_floats(twice_y));
    });
}

void relu_squared_mul(float* gate, const float* up, size_t n) {
    activate(gate, up, n, [](Floats x) HOKKU_LAMBDA {
        const Floats positive = at_least(zero(), x);
        return mul(positive, positive);
    });
}

void softcap(float* x, float cap, size_t n) {
    const Floats c = splat(cap);
    activate(x, nullptr, n, [c](Floats v) HOKKU_LAMBDA { return mul(c, tanh_floats(div(v, c))); });
}

void add_scaled(float* x, const float* y, float scale, size_t n) {
    const Floats s = splat(scale);
    for_lanes(n, [&](size_t i, auto lanes) HOKKU_LAMBDA {
        store(x + i, lanes, mul_add(load(y + i, lanes), s, load(x + i, lanes)));
    });
}

void fill_elementwise(KernelTable& table) {
    table.rms_norm = rms_norm;
    table.layer_norm = layer_norm;
    table.rope_halves = rope_halves;
    table.rope_interleaved = rope_interleaved;
    table.silu_mul = silu_mul;
    table.gelu_tanh_mul = gelu_tanh_mul;
    table.relu_squared_mul = relu_squared_mul;
    table.softcap = softcap;
    table.add_scaled = add_scaled;
}

}  // namespace
}  // namespace hokku::cpu
