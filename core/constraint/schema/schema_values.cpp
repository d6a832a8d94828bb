// SPDX-License-Identifier: Apache-2.0
// Listed values: enum and const.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/try.h"
#include "base/utf8.h"
#include "constraint/schema/schema_compiler.h"

namespace hokku::constraint {

namespace {

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

}  // namespace

std::string canonical_text(const Json& value) {
    std::string text;
    if (value.is_object()) {
        std::map<std::string, const Json*> sorted;
        for (const auto& [name, inner] : value.items()) sorted[name] = &inner;
        for (const auto& [name, inner] : sorted)
            text += json_quoted(name) + ":" + canonical_text(*inner) + ",";
        return "{" + text + "}";
    }
    if (value.is_array()) {
        for (const Json& inner : value) text += canonical_text(inner) + ",";
        return "[" + text + "]";
    }
    if (!value.is_number()) return value.dump();
    const auto number = parse_decimal(value.dump());
    if (!number) return value.dump();
    return (number->is_negative ? "-" : "") + number->whole + "." + number->fraction;
}

/// The values that enum and const list and that satisfy all members; nullopt without such lists.
Result<std::optional<std::vector<Json>>> SchemaCompiler::listed_values(const Members& members) {
    std::optional<std::vector<Json>> values;
    const auto keep_common = [&values](std::vector<Json> own) {
        if (!values) {
            values = std::move(own);
            return;
        }
        std::set<std::string> texts;
        for (const Json& value : own) texts.insert(canonical_text(value));
        std::erase_if(*values,
                      [&](const Json& value) { return texts.count(canonical_text(value)) == 0; });
    };
    for (const Member& member : members) {
        if (const Json* list = find(member.ref, "enum")) {
            if (!list->is_array())
                return Error{ErrorCode::bad_format, "a bad \"enum\"", at(member.ref, "enum"),
                             "a list of values"};
            keep_common({list->begin(), list->end()});
        }
        if (const Json* constant = find(member.ref, "const"))
            keep_common(std::vector<Json>(1, *constant));
    }
    if (!values) return values;
    ValueCheck check;
    std::vector<Json> kept;
    for (Json& value : *values) {
        HOKKU_TRY(const bool is_valid, value_matches(value, members, check));
        if (is_valid) kept.push_back(std::move(value));
    }
    return std::optional(std::move(kept));
}

/// Whether a value satisfies all that the members say besides enum and const.
Result<bool> SchemaCompiler::value_matches(const Json& value, const Members& members,
                                           ValueCheck& check) {
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
    if (value.is_string()) return string_matches(value.get<std::string>(), members, check);
    if (!value.is_number()) return true;
    if (!check.numbers) {
        HOKKU_TRY(check.numbers, number_rules(members));
    }
    const auto number = parse_decimal(value.dump());
    if (!number)
        return Error{ErrorCode::unsupported, "a listed number " + value.dump(),
                     members.front().ref.path, "at most 60 digits"};
    if (!check.numbers->bounds.contains(*number)) return false;
    for (const Decimal& divisor : check.numbers->divisors) {
        const double ratio =
            value.get<double>() / std::stod(divisor.whole + "." + divisor.fraction + "0");
        if (std::abs(ratio - std::round(ratio)) > 1e-9 * std::max(1.0, std::abs(ratio)))
            return false;
    }
    return true;
}

Result<bool> SchemaCompiler::string_matches(const std::string& value, const Members& members,
                                            ValueCheck& check) {
    if (!check.strings) {
        HOKKU_TRY(check.strings, string_rules(members));
        for (size_t i = 0; i < check.strings->patterns.size(); ++i) {
            const auto& [where, pattern] = check.strings->patterns[i];
            HOKKU_TRY(CharDfa dfa, pattern_dfa(where, pattern, check.strings->is_whole[i]));
            check.patterns.push_back(std::move(dfa));
        }
    }
    const size_t length = num_characters(value);
    if (length < check.strings->min_length || length > check.strings->max_length) return false;
    return std::all_of(check.patterns.begin(), check.patterns.end(),
                       [&value](const CharDfa& dfa) { return dfa.accepts(value); });
}

}  // namespace hokku::constraint
