// SPDX-License-Identifier: Apache-2.0
// Objects: properties that are named, and those that are not.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/try.h"
#include "constraint/schema/schema_compiler.h"

namespace hokku::constraint {

namespace {

Result<const Json*> get_object(const SchemaRef& ref, const char* keyword) {
    const Json* value = find(ref, keyword);
    if (value != nullptr && !value->is_object())
        return Error{ErrorCode::bad_format, fmt::format("a bad \"{}\"", keyword), at(ref, keyword),
                     "an object"};
    return value;
}

SchemaRef below(const SchemaRef& ref, const char* keyword, const std::string& name,
                const Json& schema) {
    return child(ref, schema, {keyword, name});
}

SchemaRef below(const SchemaRef& ref, const char* keyword) {
    return child(ref, *find(ref, keyword), {keyword});
}

bool is_false(const Json* value) {
    return value != nullptr && *value == false;
}

/// A property that a member neither names nor allows; by patterns it may still.
bool is_left_out(const Members& members, const std::string& name) {
    return std::any_of(members.begin(), members.end(), [&name](const Member& member) {
        const Json* properties = find(member.ref, "properties");
        const bool is_named = properties != nullptr && properties->contains(name);
        return !is_named && find(member.ref, "patternProperties") == nullptr &&
               is_false(find(member.ref, "additionalProperties"));
    });
}

/// unevaluatedProperties and unevaluatedItems: false closes what is not named; schemas are refused.
Result<bool> is_closed_by(const SchemaRef& ref, const char* keyword) {
    const Json* value = find(ref, keyword);
    if (value == nullptr || *value == true) return false;
    if (*value == false) return true;
    return Error{ErrorCode::unsupported, fmt::format("keyword \"{}\" with a schema", keyword),
                 at(ref, keyword), "true or false"};
}

}  // namespace

Result<SchemaCompiler::ObjectRules> SchemaCompiler::object_rules(const Members& members) {
    ObjectRules rules;
    std::set<std::string> known;
    const auto add_name = [&](const std::string& name) {
        if (known.insert(name).second) rules.names.push_back(name);
    };
    bool is_opened = false, is_closed = false;
    for (const Member& member : members) {
        const SchemaRef& ref = member.ref;
        HOKKU_TRY(const Json* properties, get_object(ref, "properties"));
        if (properties != nullptr)
            for (const auto& [name, schema] : properties->items()) add_name(name);
        if (const Json* required = find(ref, "required")) {
            for (const Json& name : *required) {
                if (!required->is_array() || !name.is_string())
                    return Error{ErrorCode::bad_format, "a bad \"required\"", at(ref, "required"),
                                 "a list of names"};
                rules.required.insert(name.get<std::string>());
            }
        }
        HOKKU_TRY(const uint32_t min, get_count(ref, "minProperties", 0));
        HOKKU_TRY(const uint32_t max, get_count(ref, "maxProperties", kUnbounded));
        if (min > rules.min) {
            rules.min = min;
            rules.limited_by = &ref;
        }
        rules.max = std::min(rules.max, max);
        HOKKU_TRY(const Json* patterns, get_object(ref, "patternProperties"));
        const Json* additional = find(ref, "additionalProperties");
        is_opened |= (patterns != nullptr && !patterns->empty()) ||
                     (additional != nullptr && !is_false(additional));
        is_closed |= is_false(additional);
        HOKKU_TRY(const bool is_unevaluated, is_closed_by(ref, "unevaluatedProperties"));
        is_closed |= is_unevaluated;
    }
    for (const std::string& name : rules.required) add_name(name);
    rules.has_extra = is_opened || (!is_closed && rules.names.empty());
    return rules;
}

/// The schemas for the property of this name.
Result<Members> SchemaCompiler::property_members(const Members& members, const std::string& name) {
    Members result;
    for (const Member& member : members) {
        const SchemaRef& ref = member.ref;
        bool is_matched = false;
        if (const Json* properties = find(ref, "properties")) {
            const auto found = properties->find(name);
            if (found != properties->end()) {
                result.push_back({below(ref, "properties", name, *found)});
                is_matched = true;
            }
        }
        if (const Json* patterns = find(ref, "patternProperties")) {
            for (const auto& [pattern, schema] : patterns->items()) {
                HOKKU_TRY(const CharDfa dfa, pattern_dfa(ref, pattern, false));
                if (!dfa.accepts(name)) continue;
                result.push_back({below(ref, "patternProperties", pattern, schema)});
                is_matched = true;
            }
        }
        if (!is_matched && find(ref, "additionalProperties") != nullptr)
            result.push_back({below(ref, "additionalProperties")});
    }
    return result;
}

/// Properties without a name in the schema, in groups by the patterns that their names match.
Result<std::vector<SchemaCompiler::ExtraProperty>> SchemaCompiler::extra_properties(
    const Members& members, const ObjectRules& rules) {
    struct Pattern {
        size_t member;
        SchemaRef schema;
        CharDfa dfa;
    };
    constexpr size_t kMaxPatterns = 6;
    std::vector<Pattern> patterns;
    CharDfa free = CharDfa::of_words(rules.names).complement();
    bool is_any_name = rules.names.empty();
    for (size_t i = 0; i < members.size(); ++i) {
        const SchemaRef& ref = members[i].ref;
        if (find(ref, "propertyNames") != nullptr) {
            HOKKU_TRY(const FlatMembers names, flatten_all({{below(ref, "propertyNames")}}));
            if (names.is_never) return std::vector<ExtraProperty>{};
            HOKKU_TRY(const StringRules name_rules, string_rules(names.members));
            HOKKU_TRY(CharDfa allowed, string_dfa(name_rules));
            HOKKU_TRY(const auto listed, listed_values(names.members));
            if (listed) {
                std::vector<std::string> words;
                for (const Json& value : *listed)
                    if (value.is_string()) words.push_back(value.get<std::string>());
                allowed = CharDfa::of_words(words);
            }
            HOKKU_TRY(free, free.intersected(allowed, dfa_work_left_));
            is_any_name = false;
        }
        const Json* own = find(ref, "patternProperties");
        if (own == nullptr) continue;
        for (const auto& [pattern, schema] : own->items()) {
            HOKKU_TRY(CharDfa dfa, pattern_dfa(ref, pattern, false));
            patterns.push_back(
                {i, below(ref, "patternProperties", pattern, schema), std::move(dfa)});
            if (patterns.size() > kMaxPatterns)
                return Error{ErrorCode::limit_exceeded, "many \"patternProperties\"",
                             at(ref, "patternProperties"), fmt::format("at most {}", kMaxPatterns)};
        }
    }
    std::vector<ExtraProperty> extras;
    for (size_t matched = 0; matched < size_t{1} << patterns.size(); ++matched) {
        CharDfa names = free;
        Members value;
        std::vector<bool> is_covered(members.size(), false);
        for (size_t i = 0; i < patterns.size(); ++i) {
            const bool is_matched = (matched >> i & 1u) != 0;
            HOKKU_TRY(names,
                      names.intersected(is_matched ? patterns[i].dfa : patterns[i].dfa.complement(),
                                        dfa_work_left_));
            if (!is_matched) continue;
            value.push_back({patterns[i].schema});
            is_covered[patterns[i].member] = true;
        }
        // Without a pattern, only what additionalProperties asks for is written.
        bool is_wanted = matched != 0 || patterns.empty();
        for (size_t i = 0; i < members.size(); ++i) {
            const Json* additional = find(members[i].ref, "additionalProperties");
            if (is_covered[i] || additional == nullptr) continue;
            value.push_back({below(members[i].ref, "additionalProperties")});
            is_wanted |= !is_false(additional);
        }
        if (!is_wanted || names.is_empty()) continue;
        const ExprId key = is_any_name && patterns.empty()
                               ? text_.any_string()
                               : quoted_dfa(names, members.back().ref.path + " (names)");
        extras.push_back({key, std::move(value)});
    }
    return extras;
}

Result<ExprId> SchemaCompiler::compile_object(const Members& members) {
    HOKKU_TRY(const ObjectRules rules, object_rules(members));
    OrderedList list;
    list.min = rules.min;
    list.max = rules.max;
    list.name = members.empty() ? "any object" : members.back().ref.path;
    for (const std::string& name : rules.names) {
        HOKKU_TRY(const Members value, property_members(members, name));
        bool is_allowed = true;
        for (const Member& member : members) {
            if (find(member.ref, "propertyNames") == nullptr) continue;
            HOKKU_TRY(const FlatMembers names, flatten_all({{below(member.ref, "propertyNames")}}));
            ValueCheck check;
            HOKKU_TRY(const bool matches, value_matches(Json(name), names.members, check));
            HOKKU_TRY(const auto listed, listed_values(names.members));
            is_allowed &=
                !names.is_never && matches &&
                (!listed || std::find(listed->begin(), listed->end(), Json(name)) != listed->end());
        }
        const ExprId item = is_allowed
                                ? text_.member(out_.literal(json_quoted(name)), value_of(value))
                                : out_.never();
        const bool is_required = rules.required.count(name) > 0;
        if (is_required && !is_allowed)
            out_.explain_never(place_of(members, {"propertyNames"}) +
                               " does not allow the required property " + json_quoted(name));
        if (is_required && is_left_out(members, name))
            out_.explain_never(place_of(members, {"additionalProperties"}) +
                               " does not allow the required property " + json_quoted(name));
        list.items.push_back({item, is_required});
    }
    list.more = out_.never();
    if (rules.has_extra) {
        // Names may be repeated, so more of them prove nothing.
        if (rules.min > std::max<size_t>(rules.required.size(), 1))
            return Error{ErrorCode::unsupported,
                         "\"minProperties\" where properties are not all named",
                         at(*rules.limited_by, "minProperties"), "at most 1, or named properties"};
        HOKKU_TRY(const auto extras, extra_properties(members, rules));
        std::vector<ExprId> options;
        for (const ExtraProperty& extra : extras)
            options.push_back(text_.member(extra.key, value_of(extra.value)));
        list.more = out_.alternatives(options);
    }
    return ordered_list(list, '{', '}');
}

}  // namespace hokku::constraint
