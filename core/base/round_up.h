// SPDX-License-Identifier: Apache-2.0
// Whole units of integers.
#pragma once

#include <type_traits>

namespace hokku {

/// Units that n takes.
template <class Integer>
constexpr Integer ceil_div(Integer n, std::type_identity_t<Integer> unit) {
    return (n + unit - 1) / unit;
}

/// n, or the next multiple of a unit.
template <class Integer>
constexpr Integer round_up(Integer n, std::type_identity_t<Integer> unit) {
    return ceil_div(n, unit) * unit;
}

}  // namespace hokku
