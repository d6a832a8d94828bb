// SPDX-License-Identifier: Apache-2.0
// The reference table: scalar float32 that says what the other tables must compute. Sums run in
// several accumulators, which keeps them accurate and lets the compiler use baseline vectors.
#include <cmath>
#include <cstring>

#include "backend/cpu/attention_kernels.h"
#include "backend/cpu/kernel_tables.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/matmul_kernels.h"

namespace hokku::cpu {

namespace {

constexpr size_t kLanes = 8;  // Accumulators of one sum.

float sum_lanes(const float* lanes) {
    const float a = (lanes[0] + lanes[4]) + (lanes[2] + lanes[6]);
    const float b = (lanes[1] + lanes[5]) + (lanes[3] + lanes[7]);
    return a + b;
}

void rms_norm(float* out, const float* x, const float* weight, size_t n, float eps) {
    double square_sum = 0;
    for (size_t i = 0; i < n; ++i) square_sum += static_cast<double>(x[i]) * x[i];
    const double mean = square_sum / static_cast<double>(n);
    const float factor = static_cast<float>(1.0 / std::sqrt(mean + static_cast<double>(eps)));
    for (size_t i = 0; i < n; ++i) out[i] = x[i] * factor * (weight ? weight[i] : 1.0f);
}

void layer_norm(float* out, const float* x, const float* weight, const float* bias, size_t n,
                float eps) {
    double sum = 0, square_sum = 0;
    for (size_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
    const double mean = sum / static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) {
        const double centred = static_cast<double>(x[i]) - mean;
        square_sum += centred * centred;
    }
    const double variance = square_sum / static_cast<double>(n);
    const double factor = 1.0 / std::sqrt(variance + static_cast<double>(eps));
    for (size_t i = 0; i < n; ++i) {
        const float y = static_cast<float>((static_cast<double>(x[i]) - mean) * factor);
        out[i] = y * (weight ? weight[i] : 1.0f) + (bias ? bias[i] : 0.0f);
    }
}

void rope_halves(float* x, const float* cos_sin, size_t num_dims) {
    const size_t half = num_dims / 2;
    for (size_t i = 0; i < half; ++i) {
        const float c = cos_sin[i], s = cos_sin[half + i], a = x[i], b = x[half + i];
        x[i] = a * c - b * s;
        x[half + i] = a * s + b * c;
    }
}

void rope_interleaved(float* x, const float* cos_sin, size_t num_dims) {
    const size_t half = num_dims / 2;
    for (size_t i = 0; i < half; ++i) {
        const float c = cos_sin[i], s = cos_sin[half + i], a = x[2 * i], b = x[2 * i + 1];
        x[2 * i] = a * c - b * s;
        x[2 * i + 1] = a * s + b * c;
    }
}

template <class Function>
void activate(float* gate, const float* up, size_t n, Function function) {
    for (size_t i = 0; i < n; ++i) gate[i] = function(gate[i]) * (up ? up[i] : 1.0f);
}

void silu_mul(float* gate, const float* up, size_t n) {
    activate(gate, up, n, [](float x) { return x / (1.0f + std::exp(-x)); });
}

/// x (1 + tanh y) / 2 with y = sqrt(2 / pi) (x + 0.044715 x^3), as x / (1 + e^-2y), which keeps its
/// digits for negative x. Source: Hendrycks & Gimpel 2016, arXiv:1606.08415.
void gelu_tanh_mul(float* gate, const float* up, size_t n) {
    constexpr float kSqrtTwoOverPi = 0.79788456080286535588f;
    activate(gate, up, n, [](float x) {
        const float y = kSqrtTwoOverPi * (x + 0.044715f * x * x * x);
        return x / (1.0f + std::exp(-2.0f * y));
    });
}

void gelu_erf_mul(float* gate, const float* up, size_t n) {
    constexpr float kSqrtHalf = 0.70710678118654752440f;
    activate(gate, up, n, [](float x) { return 0.5f * x * (1.0f + std::erf(x * kSqrtHalf)); });
}

/// Source: So et al. 2021, arXiv:2109.08668.
void relu_squared_mul(float* gate, const float* up, size_t n) {
    activate(gate, up, n, [](float x) { return x > 0.0f ? x * x : 0.0f; });
}

void softcap(float* x, float cap, size_t n) {
    for (size_t i = 0; i < n; ++i) x[i] = cap * std::tanh(x[i] / cap);
}

void add_scaled(float* x, const float* y, float scale, size_t n) {
    for (size_t i = 0; i < n; ++i) x[i] += scale * y[i];
}

/// kWeights weight rows against one row of x, with kLanes accumulators each.
template <size_t kWeights>
void dot_some(const float* w, const float* x, size_t n, float* dots) {
    float lanes[kWeights][kLanes] = {};
    size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        for (size_t r = 0; r < kWeights; ++r) {
            for (size_t j = 0; j < kLanes; ++j) lanes[r][j] += w[r * n + i + j] * x[i + j];
        }
    }
    for (; i < n; ++i) {
        for (size_t r = 0; r < kWeights; ++r) lanes[r][0] += w[r * n + i] * x[i];
    }
    for (size_t r = 0; r < kWeights; ++r) dots[r] = sum_lanes(lanes[r]);
}

void dot_rows(const DotCall& call) {
    for (size_t row = 0; row < call.num_rows; ++row) {
        const float* x = call.x + row * call.x_stride;
        float dots[kDotWeights];
        size_t w = 0;
        for (; w + 4 <= call.num_weights; w += 4) {
            dot_some<4>(call.weights + w * call.n, x, call.n, dots + w);
        }
        for (; w < call.num_weights; ++w) {
            dot_some<1>(call.weights + w * call.n, x, call.n, dots + w);
        }
        float* out = call.out + row * call.out_stride;
        for (w = 0; w < call.num_weights; ++w) out[w] = dots[w] + (call.accumulate ? out[w] : 0);
    }
}

constexpr MatmulKernels kMatmul = {.dot_rows = dot_rows};
constexpr AttentionKernels kAttention = {.run_tile = run_reference_tile};

constexpr KernelTable kTable = {
    .name = "reference",
    .rms_norm = rms_norm,
    .layer_norm = layer_norm,
    .rope_halves = rope_halves,
    .rope_interleaved = rope_interleaved,
    .silu_mul = silu_mul,
    .gelu_tanh_mul = gelu_tanh_mul,
    .gelu_erf_mul = gelu_erf_mul,
    .relu_squared_mul = relu_squared_mul,
    .softcap = softcap,
    .add_scaled = add_scaled,
    .matmul = &kMatmul,
    .attention = &kAttention,
};

}  // namespace

const KernelTable* reference_kernels() {
    return &kTable;
}

}  // namespace hokku::cpu
