// SPDX-License-Identifier: Apache-2.0
// What stands before and behind products that a library computes: activations as two halves each,
// and scale, bias and residual of what came out.
#include "device/device.h"
#include "device/reductions.h"
#include "kernels/params.h"

namespace hokku::cuda {

/// 2^exponent of a float, within what has an inverse.
HOKKU_DEVICE float power_of_two_below(float value) {
    const uint32_t exponent = float_to_bits(value) >> 23 & 0xffu;
    const uint32_t clamped = exponent < 7 ? 7 : exponent > 247 ? 247 : exponent;
    return bits_to_float(clamped << 23);
}

/// The largest magnitude of a row, not a number where a value is not finite; in every thread.
HOKKU_DEVICE float row_magnitude(const float* x, uint32_t n) {
    HOKKU_SHARED(float, parts, 32);
    float largest = 0;
    bool is_finite = true;
    for (uint32_t i = thread_id(); i < n; i += num_threads()) {
        is_finite = is_finite && x[i] - x[i] == 0.0f;
        largest = max_f(largest, abs_f(x[i]));
    }
    largest = warp_max(largest);
    if (ballot(kAllLanes, is_finite) != kAllLanes) largest = -1.0f;
    if (lane_id() == 0) parts[warp_id()] = largest;
    block_barrier();
    bool is_row_finite = true;
    for (uint32_t i = 0; i < num_warps(); ++i) {
        is_row_finite = is_row_finite && parts[i] >= 0.0f;
        largest = max_f(largest, parts[i]);
    }
    return is_row_finite ? largest : not_a_number();
}

HOKKU_KERNEL(split_rows_f16, SplitRowsParams, 256) {
    wait_for_primary();
    allow_dependents();
    const float* x = p.x + uint64_t{block_x()} * p.x_stride;
    const float largest = row_magnitude(x, p.n);
    const float scale = power_of_two_below(largest), inverse = 1.0f / scale;
    if (thread_id() == 0) p.scales[block_x()] = largest == largest ? scale : not_a_number();
    const uint64_t first = uint64_t{block_x()} * p.n;
    for (uint32_t i = thread_id(); i < p.n; i += num_threads()) {
        const float value = x[i] * inverse;
        const uint16_t high = float_to_half(value);
        p.high[first + i] = high;
        if (p.low != nullptr)
            p.low[first + i] = float_to_half((value - half_to_float(high)) * kLowFactor);
    }
}

HOKKU_KERNEL(split_rows_bf16, SplitRowsParams, 256) {
    wait_for_primary();
    allow_dependents();
    const float* x = p.x + uint64_t{block_x()} * p.x_stride;
    const uint64_t first = uint64_t{block_x()} * p.n;
    for (uint32_t i = thread_id(); i < p.n; i += num_threads()) {
        const uint16_t high = float_to_bfloat(x[i]);
        p.high[first + i] = high;
        if (p.low != nullptr) p.low[first + i] = float_to_bfloat(x[i] - bfloat_to_float(high));
    }
}

HOKKU_KERNEL(finish_rows, FinishRowsParams, 256) {
    wait_for_primary();
    allow_dependents();
    const float scale = p.scales != nullptr ? p.scales[block_y()] : 1.0f;
    for (uint32_t i = block_x() * num_threads() + thread_id(); i < p.n;
         i += grid_x() * num_threads()) {
        float value = p.y[uint64_t{block_y()} * p.y_stride + i] * scale;
        if (p.bias != nullptr) value += p.bias[i];
        const uint64_t place = uint64_t{block_y()} * p.out_stride + i;
        if (p.residual != nullptr) value += p.residual[place];
        p.out[place] = value;
    }
}

}  // namespace hokku::cuda
