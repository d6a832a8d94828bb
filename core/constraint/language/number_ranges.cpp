// SPDX-License-Identifier: Apache-2.0
#include "constraint/language/number_ranges.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace hokku::constraint {

namespace {

/// Decimal digits that a double keeps apart: with more, a number could round onto a bound.
constexpr uint32_t kMaxDigits = 15;
constexpr uint32_t kMaxWholeDigits = 18;

/// Builds expressions of digits; see the functions for what each means.
class Digits {
  public:
    /// `num_whole` is the number of digits before the point, where fractions are asked for.
    explicit Digits(Expressions& out, size_t num_whole = 0)
        : out_(out),
          max_digits_(num_whole < kMaxDigits ? kMaxDigits - static_cast<uint32_t>(num_whole) : 1) {}

    ExprId any(uint32_t min, uint32_t max) { return out_.repeat(digit('0', '9'), min, max); }

    /// Numbers without leading zeros from low to high, which have as many digits.
    ExprId same_length(std::string_view low, std::string_view high) {
        return from(low, high, 0, true, true);
    }

    /// Whole numbers of at least `low`, at most `high` if there is one.
    ExprId whole(const std::string& low, const std::optional<std::string>& high) {
        if (high && compare_digits(low, *high) > 0) return out_.never();
        const auto longest = static_cast<uint32_t>(
            high ? high->size() : std::max<size_t>(kMaxWholeDigits, low.size() + 1));
        if (longest == low.size()) return same_length(low, *high);
        std::vector<ExprId> options{same_length(low, std::string(low.size(), '9'))};
        const auto shortest = static_cast<uint32_t>(low.size()) + 1;
        const uint32_t last_free = high ? longest - 1 : longest;
        if (shortest <= last_free)
            options.push_back(out_.sequence({digit('1', '9'), any(shortest - 1, last_free - 1)}));
        if (high) options.push_back(same_length("1" + std::string(longest - 1, '0'), *high));
        return out_.alternatives(options);
    }

    /// Fractions with their point, or none, so that 0.digits lies between the bounds; an absent
    /// bound does not restrict.
    struct FractionBound {
        std::string digits;
        bool is_exclusive = false;
    };
    ExprId fraction(const std::optional<FractionBound>& low,
                    const std::optional<FractionBound>& high) {
        low_ = low;
        high_ = high;
        size_t length = 0;
        if (low) length = std::max(length, low->digits.size());
        if (high) length = std::max(length, high->digits.size());
        max_digits_ = std::max(max_digits_, static_cast<uint32_t>(length));
        std::vector<ExprId> options;
        if (may_end(0, low.has_value(), high.has_value())) options.push_back(out_.empty());
        options.push_back(out_.sequence(
            {out_.literal("."), fraction_from(0, low.has_value(), high.has_value(), true)}));
        return out_.alternatives(options);
    }

  private:
    ExprId digit(char first, char last) {
        return out_.chars(
            CharSet({{static_cast<unsigned char>(first), static_cast<unsigned char>(last)}}));
    }

    /// Digits from place i on; is_low, is_high: those before were equal to the bound's.
    ExprId from(std::string_view low, std::string_view high, size_t i, bool is_low, bool is_high) {
        const auto num_left = static_cast<uint32_t>(low.size() - i);
        if (num_left == 0) return out_.empty();
        if (!is_low && !is_high) return any(num_left, num_left);
        const char first = is_low ? low[i] : '0', last = is_high ? high[i] : '9';
        if (first > last) return out_.never();
        std::vector<ExprId> options;
        const auto add = [&](char a, char b, bool low_next, bool high_next) {
            if (a <= b)
                options.push_back(
                    out_.sequence({digit(a, b), from(low, high, i + 1, low_next, high_next)}));
        };
        if (first == last) {
            add(first, last, is_low, is_high);
        } else {
            const char inner_first = static_cast<char>(first + (is_low ? 1 : 0));
            const char inner_last = static_cast<char>(last - (is_high ? 1 : 0));
            if (is_low) add(first, first, true, false);
            add(inner_first, inner_last, false, false);
            if (is_high) add(last, last, false, true);
        }
        return out_.alternatives(options);
    }

    char low_digit(size_t i) const { return i < low_->digits.size() ? low_->digits[i] : '0'; }
    char high_digit(size_t i) const { return i < high_->digits.size() ? high_->digits[i] : '0'; }

    /// Whether a fraction may end after i digits that were equal to the bounds' so far.
    bool may_end(size_t i, bool is_low, bool is_high) const {
        if (is_low && (i < low_->digits.size() || low_->is_exclusive)) return false;
        return !(is_high && i >= high_->digits.size() && high_->is_exclusive);
    }

    ExprId fraction_from(size_t i, bool is_low, bool is_high, bool needs_digit) {
        const auto num_left = max_digits_ - static_cast<uint32_t>(i);
        if (!is_low && !is_high) return any(needs_digit ? 1 : 0, num_left);
        std::vector<ExprId> options;
        if (!needs_digit && may_end(i, is_low, is_high)) options.push_back(out_.empty());
        const char first = is_low ? low_digit(i) : '0', last = is_high ? high_digit(i) : '9';
        const auto add = [&](char a, char b, bool low_next, bool high_next) {
            if (a <= b)
                options.push_back(
                    out_.sequence({digit(a, b), fraction_from(i + 1, low_next, high_next, false)}));
        };
        if (num_left > 0 && first == last) {
            add(first, last, is_low, is_high);
        } else if (num_left > 0 && first < last) {
            if (is_low) add(first, first, true, false);
            add(static_cast<char>(first + (is_low ? 1 : 0)),
                static_cast<char>(last - (is_high ? 1 : 0)), false, false);
            if (is_high) add(last, last, false, true);
        }
        return out_.alternatives(options);
    }

    Expressions& out_;
    std::optional<FractionBound> low_, high_;
    uint32_t max_digits_;  ///< Behind the point.
};

/// Bounds of absolute values: of the negative numbers, or of the others.
struct Magnitudes {
    std::optional<NumberBounds::Bound> low, high;
    bool is_empty = false;
};

Magnitudes magnitudes(const NumberBounds& bounds, bool negative) {
    Magnitudes result;
    const auto& near = negative ? bounds.max : bounds.min;
    const auto& far = negative ? bounds.min : bounds.max;
    if (far) {
        result.is_empty = far->value.is_negative != negative;
        result.high = far;
        result.high->value.is_negative = false;
    }
    if (near && near->value.is_negative == negative) {
        result.low = near;
        result.low->value.is_negative = false;
    }
    // Zero belongs to the numbers that are not negative.
    if (negative && (!result.low || result.low->value.is_zero()))
        result.low = NumberBounds::Bound{Decimal{}, true};
    return result;
}

}  // namespace

void NumberBounds::add_min(const Decimal& value, bool is_exclusive) {
    const int order = min ? compare(value, min->value) : 1;
    if (order > 0 || (order == 0 && is_exclusive)) min = Bound{value, is_exclusive};
}

void NumberBounds::add_max(const Decimal& value, bool is_exclusive) {
    const int order = max ? compare(value, max->value) : -1;
    if (order < 0 || (order == 0 && is_exclusive)) max = Bound{value, is_exclusive};
}

bool NumberBounds::contains(const Decimal& value) const {
    if (min && compare(value, min->value) < (min->is_exclusive ? 1 : 0)) return false;
    return !max || compare(value, max->value) <= (max->is_exclusive ? -1 : 0);
}

ExprId whole_numbers(const NumberBounds& bounds, Expressions& out) {
    std::vector<ExprId> options;
    for (const bool negative : {false, true}) {
        const Magnitudes range = magnitudes(bounds, negative);
        if (range.is_empty) continue;
        Decimal low;
        if (range.low) low = lowest_whole(range.low->value, range.low->is_exclusive);
        std::optional<std::string> high;
        if (range.high) {
            const Decimal highest = highest_whole(range.high->value, range.high->is_exclusive);
            if (highest.is_negative) continue;
            high = highest.whole;
        }
        const ExprId digits = Digits(out).whole(low.whole, high);
        options.push_back(negative ? out.sequence({out.literal("-"), digits}) : digits);
    }
    return out.alternatives(options);
}

ExprId decimal_numbers(const NumberBounds& bounds, Expressions& out) {
    using FractionBound = Digits::FractionBound;
    std::vector<ExprId> options;
    for (const bool negative : {false, true}) {
        const Magnitudes range = magnitudes(bounds, negative);
        if (range.is_empty) continue;
        const Decimal low = range.low ? range.low->value : Decimal{};
        const FractionBound low_fraction{low.fraction, range.low && range.low->is_exclusive};
        size_t num_whole = low.whole.size();
        if (range.high) num_whole = std::max(num_whole, range.high->value.whole.size());
        std::vector<ExprId> parts;
        const auto add = [&](ExprId whole, const std::optional<FractionBound>& from,
                             const std::optional<FractionBound>& to) {
            parts.push_back(out.sequence({whole, Digits(out, num_whole).fraction(from, to)}));
        };
        const std::string above_low = lowest_whole({false, low.whole, ""}, true).whole;
        if (!range.high) {
            add(out.literal(low.whole), low_fraction, std::nullopt);
            add(Digits(out).whole(above_low, std::nullopt), std::nullopt, std::nullopt);
        } else {
            const Decimal& high = range.high->value;
            const FractionBound high_fraction{high.fraction, range.high->is_exclusive};
            const int order = compare_digits(low.whole, high.whole);
            if (order == 0) add(out.literal(low.whole), low_fraction, high_fraction);
            if (order < 0) {
                add(out.literal(low.whole), low_fraction, std::nullopt);
                const std::string below_high = highest_whole({false, high.whole, ""}, true).whole;
                add(Digits(out).whole(above_low, below_high), std::nullopt, std::nullopt);
                add(out.literal(high.whole), std::nullopt, high_fraction);
            }
        }
        const ExprId digits = out.alternatives(parts);
        options.push_back(negative ? out.sequence({out.literal("-"), digits}) : digits);
    }
    return out.alternatives(options);
}

// One rule for each remainder of the digits so far: a text may end at remainder 0.
ExprId multiples_of(uint32_t divisor, Sign sign, Expressions& out) {
    std::vector<RuleId> rules;
    for (uint32_t i = 0; i < divisor; ++i) rules.push_back(out.add_rule("multiple"));
    const auto digits_from = [&](uint32_t remainder, uint32_t first) {
        std::vector<ExprId> options;
        for (uint32_t digit = first; digit < 10; ++digit) {
            const char text = static_cast<char>('0' + digit);
            options.push_back(out.sequence(
                {out.literal({&text, 1}), out.rule(rules[(remainder * 10 + digit) % divisor])}));
        }
        return options;
    };
    for (uint32_t i = 0; i < divisor; ++i) {
        std::vector<ExprId> options = digits_from(i, 0);
        if (i == 0) options.push_back(out.empty());
        out.set_body(rules[i], out.alternatives(options));
    }
    const ExprId positive = out.alternatives(digits_from(0, 1));
    if (sign == Sign::positive) return positive;
    if (sign == Sign::not_negative) return out.alternatives({positive, out.literal("0")});
    return out.alternatives(
        {out.sequence({out.optional(out.literal("-")), positive}), out.literal("0")});
}

}  // namespace hokku::constraint
