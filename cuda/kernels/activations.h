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

}  // namespace hokku::cuda
