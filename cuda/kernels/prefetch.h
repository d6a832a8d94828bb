// SPDX-License-Identifier: Apache-2.0
// What is asked into the L2 cache before its time: by a product, while the launch in front still
// runs, weights behind the ones that its lanes have loaded; by attention, which leaves most of the
// memory's speed unused, and between the operations of a persistent step those of the next product.
// Never past the end of a plane.
#pragma once

#include "device/device.h"
#include "kernels/params.h"

namespace hokku::cuda {

constexpr uint32_t kPrefetchLine = 128;

/// Units of weights that lie one behind the other: groups of codes, or pieces of floats.
struct PrefetchRow {
    const void* weights;  ///< Where the plane begins.
    uint64_t first;       ///< Unit that the row begins with.
    uint32_t size;        ///< Units that may be read from there on.
};

/// By a warp whose lanes have loaded the units [begin, begin + 32) of a row and go on in steps: 4
/// KiB of those, a line for each lane.
template <uint32_t kUnitBytes>
HOKKU_DEVICE void prefetch_behind(const PrefetchRow& row, uint32_t begin, uint32_t step) {
    if constexpr (!kHasDependentLaunches) return;  // The weights themselves follow at once.
    constexpr uint32_t kLines = kWarp * kUnitBytes / kPrefetchLine;  // Of a step.
    const uint32_t unit =
        begin + (1 + lane_id() / kLines) * step + lane_id() % kLines * (kPrefetchLine / kUnitBytes);
    if (unit < row.size) {
        prefetch(static_cast<const uint8_t*>(row.weights) + (row.first + unit) * kUnitBytes);
    }
}

/// By number `index` of `count` threads.
HOKKU_DEVICE void prefetch_next(const NextWeights& next, uint32_t index, uint32_t count) {
    HOKKU_NO_UNROLL
    for (uint32_t line = index; line < next.num_lines; line += count) {
        prefetch(next.planes[0] + uint64_t{line} * kPrefetchLine);
        if (next.planes[1] != nullptr) {
            prefetch(next.planes[1] + uint64_t{line} * kPrefetchLine);
        }
    }
}

}  // namespace hokku::cuda
