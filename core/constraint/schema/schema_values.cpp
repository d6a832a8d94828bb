// SPDX-License-Identifier: Apache-2.0
// Listed values: enum and const.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/try.h"
#include "base/utf8.h"
#include "constraint/schema/schema_compiler.h"

namespace hokku::constraint {

namespace {

/// Equal as JSON values: the order of properties does not matter, 1 and 1.0 are the same.
bool are_equal(const Json& a, const Json& b) {
    return nlohmann::json(a) == nlohmann::json(b);
}

/// Keywords that would have to be tried on listed objects and arrays.
const char* structure_keyword(const SchemaRef& ref, bool is_object) {
    constexpr const char* kObjectKeywords[] = {
        "properties",    "required",      "patternProperties", "additionalProperties",
        "propertyNames", "minProperties", "maxProperties",     "unevaluatedProperties"};
    constexpr const char* kArrayKeywords[] = {"items",    "prefixItems", "minItems",
                                              "maxItems", "uniqueItems", "unevaluatedItems"};
    const auto first_of = [&ref](const auto& keywords) -> const char* {
        for (const char* keyword : keywords)
            if (find(ref, keyword) != nullptr) return keyword;
        return nullptr;
    };
    return is_object ? first_of(kObjectKeywords) : first_of(kArrayKeywords);
}

size_t num_characters(const std::string& text) {
    return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xC0u) != 0x80u;
    }));
}

std::optional<Decimal> decimal_of(const Json& number) {
    return parse_decimal(number.dump());
}

}  // namespace

/// The values that enum and const list and that satisfy all members; nullopt without such lists.
Result<std::optional<std::vector<Json>>> SchemaCompiler::listed_values(const Members& members) {
    std::optional<std::vector<Json>> values;
    for (const Member& member : members) {
        std::vector<Json> own;
        if (const Json* list = find(member.ref, "enum")) {
            if (!list->is_array())
                return Error{ErrorCode::bad_format, "a bad \"enum\"", at(member.ref, "enum"),
                             "a list of values"};
            own.assign(list->begin(), list->end());
            if (!values) values = own;
            std::erase_if(*values, [&](const Json& value) {
                return std::none_of(own.begin(), own.end(),
                                    [&](const Json& other) { return are_equal(value, other); });
            });
        }
        if (const Json* constant = find(member.ref, "const")) {
            if (!values) values = std::vector<Json>{*constant};
            std::erase_if(*values, [&](const Json& value) { return !are_equal(value, *constant); });
        }
    }
    if (!values) return values;
    std::vector<Json> kept;
    for (Json& value : *values) {
        HOKKU_TRY(const bool is_valid, value_matches(value, members));
        if (is_valid) kept.push_back(std::move(value));
    }
    return std::optional(std::move(kept));
}

Result<bool> SchemaCompiler::value_matches(const Json& value, const Members& members) {
    for (const Member& member : members) {
        if (find(member.ref, "type") == nullptr) continue;
        HOKKU_TRY(const uint32_t types, allowed_types({member}));
        if ((types & type_of(value)) == 0) return false;
    }
    if (value.is_structured()) {
        for (const Member& member : members)
            if (const char* keyword = structure_keyword(member.ref, value.is_object()))
                return Error{ErrorCode::unsupported,
                             fmt::format("keyword \"{}\" beside listed objects or arrays", keyword),
                             at(member.ref, keyword), "an enum or const alone"};
        return true;
    }
    if (value.is_string()) return string_matches(value.get<std::string>(), members);
    if (!value.is_number()) return true;
    HOKKU_TRY(const NumberRules rules, number_rules(members));
    const auto number = decimal_of(value);
    if (!number)
        return Error{ErrorCode::unsupported, "a listed number " + value.dump(),
                     members.front().ref.path, "at most 60 digits"};
    if (!rules.bounds.contains(*number)) return false;
    for (const Decimal& divisor : rules.divisors) {
        const auto by = std::stod(divisor.whole + "." + divisor.fraction + "0");
        const double ratio = value.get<double>() / by;
        if (std::abs(ratio - std::round(ratio)) > 1e-9 * std::max(1.0, std::abs(ratio)))
            return false;
    }
    return true;
}

Result<bool> SchemaCompiler::string_matches(const std::string& value, const Members& members) {
    HOKKU_TRY(const StringRules rules, string_rules(members));
    const size_t length = num_characters(value);
    if (length < rules.min_length || length > rules.max_length) return false;
    for (size_t i = 0; i < rules.patterns.size(); ++i) {
        const auto& [where, pattern] = rules.patterns[i];
        HOKKU_TRY(const CharDfa dfa, pattern_dfa(where, pattern, rules.is_whole[i]));
        if (!dfa.accepts(value)) return false;
    }
    return true;
}

}  // namespace hokku::constraint
