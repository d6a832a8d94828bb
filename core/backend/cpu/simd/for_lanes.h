// SPDX-License-Identifier: Apache-2.0
// Loops over a row by registers of floats. Internal linkage on purpose.
#pragma once

#include <cstddef>

#include "backend/cpu/simd/floats.h"

namespace hokku::cpu {
namespace {

/// Calls function(index, lanes) for each kLanes of n values: lanes is AllLanes, at the end a Mask.
template <class Function>
HOKKU_INLINE void for_lanes(size_t n, Function function) {
    size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) function(i, AllLanes{});
    if (i < n) function(i, first_lanes(n - i));
}

}  // namespace
}  // namespace hokku::cpu
