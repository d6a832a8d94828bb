// SPDX-License-Identifier: Apache-2.0
// Unsigned arithmetic that reports overflow instead of wrapping. For every number that comes from
// a file, before it is used as a size, a count or an offset.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace hokku {

/// a + b, or nullopt where it does not fit.
constexpr std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) {
    if (a > std::numeric_limits<uint64_t>::max() - b) return std::nullopt;
    return a + b;
}

/// a * b, or nullopt where it does not fit. A factor of zero is an ordinary value.
constexpr std::optional<uint64_t> checked_mul(uint64_t a, uint64_t b) {
    if (b != 0 && a > std::numeric_limits<uint64_t>::max() / b) return std::nullopt;
    return a * b;
}

/// The next multiple of `alignment` from `value` on, or nullopt where it does not fit.
///
/// Needs  : alignment is a power of two.
constexpr std::optional<uint64_t> checked_pad(uint64_t value, uint64_t alignment) {
    const std::optional<uint64_t> raised = checked_add(value, alignment - 1);
    if (!raised) return std::nullopt;
    return *raised & ~(alignment - 1);
}

}  // namespace hokku
