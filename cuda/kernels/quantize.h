// SPDX-License-Identifier: Apache-2.0
// How a warp turns 32 values into int8 codes with a scale and sums: the activations of all
// products with quantised weights.
#pragma once

#include "device/reductions.h"
#include "kernels/params.h"

namespace hokku::cuda {

/// Lane i brings value i of the group. A value that is not finite makes the scale not a number, so
/// that it is not lost.
HOKKU_DEVICE void store_group(const QuantizedVectors& out, uint32_t vector, uint32_t group,
                              float value) {
    const uint64_t place = uint64_t{vector} * out.groups + group;
    if (out.values != nullptr) out.values[place * kGroup + lane_id()] = value;
    if (out.codes == nullptr) return;  // The same for the whole warp.
    const float largest = warp_max(abs_f(value));
    const bool is_finite = ballot(kAllLanes, value - value == 0.0f) == kAllLanes;
    const float factor = largest > 0.0f ? 127.0f / largest : 0.0f;
    // Of a subnormal group the factor is infinite: its values are zero for all purposes.
    const bool is_zero = !(factor > 0.0f && factor < 3.0e38f);
    const int32_t code = is_finite && !is_zero ? round_to_int(value * factor) : 0;
    int32_t sum = code;
    HOKKU_UNROLL
    for (uint32_t bits = kGroup / 4; bits > 0; bits /= 2) {
        sum += shuffle_xor(kAllLanes, sum, bits);
    }
    const int32_t upper_sum = shuffle(kAllLanes, sum, 16);
    out.codes[place * kGroup + lane_id()] = static_cast<int8_t>(code);
    if (lane_id() == 0) {
        GroupScale scale;
        scale.scale = is_zero ? 0.0f : largest / 127.0f;
        if (!is_finite) scale.scale = not_a_number();
        scale.sums[0] = static_cast<int16_t>(sum);
        scale.sums[1] = static_cast<int16_t>(upper_sum);
        out.scales[place] = scale;
    }
}

}  // namespace hokku::cuda
