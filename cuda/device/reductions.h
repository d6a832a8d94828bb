// SPDX-License-Identifier: Apache-2.0
// Sums and maxima over warps and blocks, in a fixed order: the same bits in every run.
#pragma once

#include "device/device.h"

namespace hokku::cuda {

/// The sum over all lanes, in every lane.
HOKKU_DEVICE float warp_sum(float value) {
    HOKKU_UNROLL
    for (uint32_t bits = kWarp / 2; bits > 0; bits /= 2) {
        value += shuffle_xor(kAllLanes, value, bits);
    }
    return value;
}

HOKKU_DEVICE float warp_max(float value) {
    HOKKU_UNROLL
    for (uint32_t bits = kWarp / 2; bits > 0; bits /= 2) {
        value = max_f(value, shuffle_xor(kAllLanes, value, bits));
    }
    return value;
}

/// The sum over all threads of a block of whole warps, in every thread. Ends with a barrier's worth
/// of order: it may be called again at once.
HOKKU_DEVICE float block_sum(float value) {
    HOKKU_SHARED(float, block_sum_parts, 32);
    const float part = warp_sum(value);
    block_barrier();  // The parts of the call before have been read.
    if (lane_id() == 0) block_sum_parts[warp_id()] = part;
    block_barrier();
    return warp_sum(lane_id() < num_warps() ? block_sum_parts[lane_id()] : 0.0f);
}

}  // namespace hokku::cuda
