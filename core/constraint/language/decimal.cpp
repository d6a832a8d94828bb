// SPDX-License-Identifier: Apache-2.0
#include "constraint/language/decimal.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace hokku::constraint {

namespace {

constexpr int kMaxWrittenDigits = 60;

std::string_view take_digits(std::string_view& text) {
    size_t end = 0;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    const std::string_view digits = text.substr(0, end);
    text.remove_prefix(end);
    return digits;
}

/// One more or, for a number above zero, one less.
std::string next_digits(std::string digits, bool up) {
    for (size_t i = digits.size(); i-- > 0;) {
        if (digits[i] != (up ? '9' : '0')) {
            digits[i] = static_cast<char>(digits[i] + (up ? 1 : -1));
            break;
        }
        digits[i] = up ? '0' : '9';
        if (i == 0 && up) digits.insert(digits.begin(), '1');
    }
    const size_t first = std::min(digits.find_first_not_of('0'), digits.size() - 1);
    return digits.substr(first);
}

}  // namespace

Decimal Decimal::negated() const {
    Decimal result = *this;
    result.is_negative = !is_negative && !is_zero();
    return result;
}

std::optional<Decimal> parse_decimal(std::string_view text) {
    Decimal result;
    const bool is_negative = text.substr(0, 1) == "-";
    if (is_negative) text.remove_prefix(1);
    std::string whole(take_digits(text)), fraction;
    if (whole.empty()) return std::nullopt;
    if (text.substr(0, 1) == ".") {
        text.remove_prefix(1);
        fraction = take_digits(text);
    }
    if (!text.empty()) {
        if (text[0] != 'e' && text[0] != 'E') return std::nullopt;
        text.remove_prefix(1);
        if (text.substr(0, 1) == "+") text.remove_prefix(1);
        int exponent = 0;
        const auto parsed = std::from_chars(text.data(), text.data() + text.size(), exponent);
        if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size() ||
            std::abs(exponent) > kMaxWrittenDigits)
            return std::nullopt;
        for (; exponent > 0; --exponent) {
            whole += fraction.empty() ? '0' : fraction.front();
            if (!fraction.empty()) fraction.erase(0, 1);
        }
        for (; exponent < 0; ++exponent) {
            fraction.insert(fraction.begin(), whole.back());
            whole.pop_back();
            if (whole.empty()) whole = "0";
        }
    }
    if (whole.size() + fraction.size() > size_t{kMaxWrittenDigits}) return std::nullopt;
    result.whole = whole.substr(std::min(whole.find_first_not_of('0'), whole.size() - 1));
    result.fraction = fraction.substr(0, fraction.find_last_not_of('0') + 1);
    result.is_negative = is_negative && !result.is_zero();
    return result;
}

int compare_digits(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
    const int order = a.compare(b);
    return order < 0 ? -1 : (order > 0 ? 1 : 0);
}

int compare(const Decimal& a, const Decimal& b) {
    if (a.is_negative != b.is_negative) return a.is_negative ? -1 : 1;
    int order = compare_digits(a.whole, b.whole);
    if (order == 0) {
        const int fractions = a.fraction.compare(b.fraction);
        order = fractions < 0 ? -1 : (fractions > 0 ? 1 : 0);
    }
    return a.is_negative ? -order : order;
}

Decimal lowest_whole(const Decimal& bound, bool is_exclusive) {
    Decimal result = bound;
    result.fraction.clear();
    if (!bound.is_negative) {
        if (!bound.fraction.empty() || is_exclusive) result.whole = next_digits(bound.whole, true);
    } else if (bound.fraction.empty() && is_exclusive) {
        result.whole = next_digits(bound.whole, false);
    }
    result.is_negative = bound.is_negative && !result.is_zero();
    return result;
}

Decimal highest_whole(const Decimal& bound, bool is_exclusive) {
    return lowest_whole(bound.negated(), is_exclusive).negated();
}

}  // namespace hokku::constraint
