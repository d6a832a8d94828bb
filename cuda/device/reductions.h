// SPDX-License-Identifier: Apache-2.0
// Sums and maxima over warps and blocks, in a fixed order: the same bits in every run; and which
// block of a grid comes last.
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

/// Whether, with this block's `amount`, `total` has been counted: true for the last block to come,
/// which then sees what the others wrote before. By every thread; the counter is zero at first and
/// again when all have come.
HOKKU_DEVICE bool is_last_to_arrive(uint32_t* counter, uint32_t amount, uint32_t total) {
    HOKKU_SHARED(uint32_t, arrival_is_last, 1);
    block_barrier();
    if (thread_id() == 0) {
        const bool is_last = add_release(counter, amount) + amount == total;
        if (is_last) *counter = 0;
        arrival_is_last[0] = is_last ? 1u : 0u;
    }
    block_barrier();
    return arrival_is_last[0] != 0;
}

}  // namespace hokku::cuda
