// SPDX-License-Identifier: Apache-2.0
// Numbers: bounds and multiples.
#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "base/try.h"
#include "base/utf8.h"
#include "constraint/schema/schema_compiler.h"

namespace hokku::constraint {

namespace {

Result<Decimal> get_decimal(const SchemaRef& ref, const char* keyword, const Json& value) {
    if (!value.is_number())
        return Error{ErrorCode::bad_format, fmt::format("a bad \"{}\"", keyword), at(ref, keyword),
                     "a number"};
    const auto number = parse_decimal(value.dump());
    if (!number)
        return Error{ErrorCode::unsupported,
                     fmt::format("\"{}\" of {}", keyword, to_printable(value.dump())),
                     at(ref, keyword), "at most 60 digits"};
    return *number;
}

}  // namespace

Result<SchemaCompiler::NumberRules> SchemaCompiler::number_rules(const Members& members) {
    NumberRules rules;
    for (const Member& member : members) {
        const SchemaRef& ref = member.ref;
        for (const char* keyword : {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}) {
            const Json* value = find(ref, keyword);
            if (value == nullptr) continue;
            HOKKU_TRY(const Decimal bound, get_decimal(ref, keyword, *value));
            const std::string_view name = keyword;
            const bool is_exclusive = name.substr(0, 9) == "exclusive";
            if (name == "minimum" || name == "exclusiveMinimum") {
                rules.bounds.add_min(bound, is_exclusive);
            } else {
                rules.bounds.add_max(bound, is_exclusive);
            }
        }
        if (const Json* value = find(ref, "multipleOf")) {
            HOKKU_TRY(const Decimal divisor, get_decimal(ref, "multipleOf", *value));
            if (divisor.is_negative || divisor.is_zero())
                return Error{ErrorCode::bad_format, "a bad \"multipleOf\"", at(ref, "multipleOf"),
                             "a number above 0"};
            rules.divisors.push_back(divisor);
            if (!rules.divided_by) rules.divided_by = ref;
        }
        const Json* format = find(ref, "format");
        if (format != nullptr && (*format == "int32" || *format == "int64")) {
            const bool is_short = *format == "int32";
            rules.bounds.add_min(*parse_decimal(is_short ? "-2147483648" : "-9223372036854775808"),
                                 false);
            rules.bounds.add_max(*parse_decimal(is_short ? "2147483647" : "9223372036854775807"),
                                 false);
        }
    }
    return rules;
}

Result<ExprId> SchemaCompiler::compile_number(const Members& members, bool is_whole) {
    HOKKU_TRY(const NumberRules rules, number_rules(members));
    if (!rules.divisors.empty()) return compile_multiples(rules, *rules.divided_by);
    const auto& [min, max] = rules.bounds;
    if (min && max) {
        const Decimal low = is_whole ? lowest_whole(min->value, min->is_exclusive) : min->value;
        const Decimal high = is_whole ? highest_whole(max->value, max->is_exclusive) : max->value;
        const int order = compare(low, high);
        const bool is_exclusive = !is_whole && (min->is_exclusive || max->is_exclusive);
        if (order > 0 || (order == 0 && is_exclusive))
            return never(place_of(members, {"minimum", "exclusiveMinimum"}) +
                         " leaves nothing below the maximum");
    }
    if (rules.bounds.empty()) return is_whole ? text_.any_integer() : text_.any_number();
    return is_whole ? whole_numbers(rules.bounds, out_) : decimal_numbers(rules.bounds, out_);
}

/// Whole multiples of whole divisors. With both bounds they are listed; with none, or 0 as the
/// lower one, an automaton follows the remainder.
Result<ExprId> SchemaCompiler::compile_multiples(const NumberRules& rules, const SchemaRef& where) {
    constexpr int64_t kMaxListed = 20'000;
    static constexpr int64_t kMaxBound = 1'000'000'000'000'000;
    const auto refuse = [&](std::string_view what) {
        return Error{ErrorCode::unsupported, fmt::format("\"multipleOf\" {}", what),
                     at(where, "multipleOf"),
                     fmt::format("one whole number up to {}, with no bounds, minimum 0, or two "
                                 "bounds with at most {} multiples between",
                                 kMaxDivisor, kMaxListed)};
    };
    if (rules.divisors.size() > 1) return refuse("twice");
    const Decimal& divisor = rules.divisors.front();
    if (!divisor.fraction.empty()) return refuse("of a fraction");
    const auto to_int = [](const Decimal& value) {
        int64_t number = kMaxBound;
        std::from_chars(value.whole.data(), value.whole.data() + value.whole.size(), number);
        number = std::min(number, kMaxBound);
        return value.is_negative ? -number : number;
    };
    const int64_t step = to_int(divisor);
    const auto& [min, max] = rules.bounds;
    if (min && max) {
        const int64_t low = to_int(lowest_whole(min->value, min->is_exclusive));
        const int64_t high = to_int(highest_whole(max->value, max->is_exclusive));
        int64_t first = low / step * step;
        if (first < low) first += step;
        if (first > high)
            return never(at(where, "multipleOf") + " has no multiple within the bounds");
        if ((high - first) / step < kMaxListed && std::abs(low) < kMaxBound &&
            std::abs(high) < kMaxBound) {
            std::vector<std::string> listed;
            for (int64_t value = first; value <= high; value += step)
                listed.push_back(std::to_string(value));
            return out_.choice(std::move(listed));
        }
        return refuse("with bounds too far apart");
    }
    if (max) return refuse("with a maximum alone");
    if (step > kMaxDivisor) return refuse("of a large number");
    Sign sign = Sign::any;
    if (min) {
        const int64_t low = to_int(lowest_whole(min->value, min->is_exclusive));
        if (low < 0 || low > step) return refuse("with such a minimum");
        sign = low == 0 ? Sign::not_negative : Sign::positive;
    }
    return multiples_of(static_cast<uint32_t>(step), sign, out_);
}

}  // namespace hokku::constraint
