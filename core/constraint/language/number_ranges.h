// SPDX-License-Identifier: Apache-2.0
// Numbers between bounds as expressions of digits.
#pragma once

#include <optional>

#include "constraint/grammar/expressions.h"
#include "constraint/language/decimal.h"

namespace hokku::constraint {

struct NumberBounds {
    struct Bound {
        Decimal value;
        bool is_exclusive = false;
    };
    std::optional<Bound> min, max;

    /// Keeps the narrower of the bound so far and this one.
    void add_min(const Decimal& value, bool is_exclusive);
    void add_max(const Decimal& value, bool is_exclusive);
    [[nodiscard]] bool contains(const Decimal& value) const;
    [[nodiscard]] bool empty() const { return !min && !max; }
};

/// Whole numbers within the bounds; where there is none, up to 18 digits or as many as the other
/// bound has and one more.
ExprId whole_numbers(const NumberBounds& bounds, Expressions& out);

/// Numbers within the bounds, without exponent, with up to 15 digits in all or, behind the point,
/// as many as the bounds have.
ExprId decimal_numbers(const NumberBounds& bounds, Expressions& out);

/// Whole multiples of `divisor`: those that are not negative, or not positive, or all. Zero is
/// always one.
enum class Sign { any, not_negative, positive };
ExprId multiples_of(uint32_t divisor, Sign sign, Expressions& out);
inline constexpr uint32_t kMaxDivisor = 2000;

}  // namespace hokku::constraint
