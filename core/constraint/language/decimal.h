// SPDX-License-Identifier: Apache-2.0
// Decimal: a number as its decimal digits, for bounds that are compared digit by digit.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hokku::constraint {

struct Decimal {
    bool is_negative = false;   ///< Never for zero.
    std::string whole = "0";    ///< Digits before the point, without leading zeros.
    std::string fraction = "";  ///< Digits behind it, without trailing zeros.

    bool operator==(const Decimal&) const = default;
    [[nodiscard]] bool is_zero() const { return whole == "0" && fraction.empty(); }
    [[nodiscard]] Decimal negated() const;
};

/// Reads "-12.5e3". nullopt for what is no number or has more than 60 digits written out.
std::optional<Decimal> parse_decimal(std::string_view text);

/// Below, equal, above: -1, 0, 1.
int compare(const Decimal& a, const Decimal& b);
/// The same for digit strings without leading zeros.
int compare_digits(std::string_view a, std::string_view b);

/// The least whole number that is at least (above, if exclusive) the bound; and the greatest that
/// is at most (below) it.
Decimal lowest_whole(const Decimal& bound, bool is_exclusive);
Decimal highest_whole(const Decimal& bound, bool is_exclusive);

}  // namespace hokku::constraint
