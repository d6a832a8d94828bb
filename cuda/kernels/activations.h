// SPDX-License-Identifier: Apache-2.0
// The activation functions, as the CPU's reference kernels compute them.
#pragma once

#include "device/device.h"
#include "kernels/params.h"

namespace hokku::cuda {

HOKKU_DEVICE float activate(uint32_t activation, float x) {
    if (activation == kSilu) return x / (1.0f + exp_f(-x));
    if (activation == kGeluTanh) {
        // x (1 + tanh y) / 2 as x / (1 + e^-2y), which keeps its digits for negative x.
        const float y = 0.79788456080286535588f * (x + 0.044715f * x * x * x);
        return x / (1.0f + exp_f(-2.0f * y));
    }
    if (activation == kGeluErf) return 0.5f * x * (1.0f + erf_f(x * 0.70710678118654752440f));
    return x > 0.0f ? x * x : (x == x ? 0.0f : x);  // A value that is no number stays so.
}

/// e^x - 1 for x <= 0, with its digits near 0.
HOKKU_DEVICE float exp_minus_one(float x) {
    if (x < -0.1f) return exp_f(x) - 1.0f;
    return x + x * x * (0.5f + x * (1.0f / 6 + x * (1.0f / 24 + x * (1.0f / 120))));
}

/// Source : Apertus, arXiv:2509.14233.
HOKKU_DEVICE float xielu(const XieluParams& p, float x) {
    const float curve =
        x > 0.0f ? p.alpha_p * x * x : (exp_minus_one(min_f(x, p.eps)) - x) * p.alpha_n;
    return curve + p.beta * x;
}

/// Source : the gpt-oss model card, arXiv:2508.10925.
HOKKU_DEVICE float swiglu_clamped(float gate, float up) {
    // Comparisons, so that what is no number stays so.
    const float g = gate > 7.0f ? 7.0f : gate;
    const float u = up > 7.0f ? 7.0f : (up < -7.0f ? -7.0f : up);
    return g / (1.0f + exp_f(-1.702f * g)) * (u + 1.0f);
}

}  // namespace hokku::cuda
