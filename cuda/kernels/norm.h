// SPDX-License-Identifier: Apache-2.0
// RMSNorm and LayerNorm by one block, for the kernels that end or begin with one.
#pragma once

#include "device/device.h"
#include "device/reductions.h"
#include "kernels/params.h"
#include "kernels/quantize.h"

namespace hokku::cuda {

/// value = (x - mean) * factor, before weight and bias.
struct NormFactors {
    float mean, factor;
};

/// Of a vector of which every thread reads the elements thread_id(), + num_threads(), ..; by all
/// threads of the block.
/// Source : Zhang & Sennrich 2019, arXiv:1910.07467; Ba et al. 2016, arXiv:1607.06450.
HOKKU_DEVICE NormFactors norm_factors(const float* x, uint32_t n, uint32_t kind, float eps) {
    NormFactors out{0.0f, 1.0f};
    if (kind == kNoNorm) return out;
    if (kind == kLayerNorm) {
        float sum = 0;
        for (uint32_t i = thread_id(); i < n; i += num_threads()) sum += x[i];
        out.mean = block_sum(sum) / static_cast<float>(n);
    }
    float square_sum = 0;
    for (uint32_t i = thread_id(); i < n; i += num_threads()) {
        const float value = x[i] - out.mean;
        square_sum = fma_f(value, value, square_sum);
    }
    out.factor = 1.0f / sqrt_f(block_sum(square_sum) / static_cast<float>(n) + eps);
    return out;
}

HOKKU_DEVICE float apply_norm(const NormFactors& factors, float x, const float* weight,
                              const float* bias, uint32_t i) {
    const float value =
        (x - factors.mean) * factors.factor * (weight != nullptr ? weight[i] : 1.0f);
    return bias != nullptr ? value + bias[i] : value;
}

/// The end of a branch of one vector: x += norm(y) * scale, or x = that; by one block.
HOKKU_DEVICE void add_normed(const NormAddParams& p, uint32_t vector) {
    float* x = p.x + uint64_t{vector} * p.x_stride;
    const float* y = p.y + uint64_t{vector} * p.y_stride;
    const NormFactors factors = norm_factors(y, p.n, p.kind, p.eps);
    for (uint32_t i = thread_id(); i < p.n; i += num_threads()) {
        const float value = apply_norm(factors, y[i], p.weight, p.bias, i);
        x[i] = p.is_addition != 0 ? fma_f(value, p.scale, x[i]) : value * p.scale;
    }
}

/// Residual add, norm and quantisation of one vector, by one block.
HOKKU_DEVICE void norm_vector(const NormParams& p, uint32_t vector) {
    float* x = p.x + uint64_t{vector} * p.n;
    if (p.delta != nullptr) {
        const float* delta = p.delta + uint64_t{vector} * p.n;
        for (uint32_t i = thread_id(); i < p.n; i += num_threads()) x[i] += delta[i];
        block_barrier();
    }
    const NormFactors factors = norm_factors(x, p.n, p.kind, p.eps);
    for (uint32_t group = warp_id(); group < p.out.groups; group += num_warps()) {
        const uint32_t i = group * kGroup + lane_id();
        const float value = i < p.n ? apply_norm(factors, x[i], p.weight, p.bias, i) : 0.0f;
        store_group(p.out, vector, group, value);
    }
}

}  // namespace hokku::cuda
