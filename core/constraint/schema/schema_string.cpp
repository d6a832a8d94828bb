// SPDX-License-Identifier: Apache-2.0
// Strings: lengths, patterns, formats.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "constraint/language/regex_parser.h"
#include "constraint/schema/schema_compiler.h"

namespace hokku::constraint {

namespace {

/// The error of a pattern, with its place in the schema.
Error in_schema(Error error, const SchemaRef& where) {
    error.where = error.where.empty() ? at(where, "pattern")
                                      : fmt::format("{}, {}", at(where, "pattern"), error.where);
    return error;
}

Result<ExprId> parse_pattern(const SchemaRef& where, const std::string& pattern, bool is_whole,
                             Expressions& out) {
    auto parsed = parse_regex(pattern, is_whole ? RegexMatch::whole : RegexMatch::search, out);
    if (!parsed.ok()) return in_schema(std::move(parsed).error(), where);
    return parsed;
}

}  // namespace

Result<SchemaCompiler::StringRules> SchemaCompiler::string_rules(const Members& members) {
    StringRules rules;
    for (const Member& member : members) {
        const SchemaRef& ref = member.ref;
        HOKKU_TRY(const uint32_t min, get_count(ref, "minLength", 0));
        HOKKU_TRY(const uint32_t max, get_count(ref, "maxLength", kUnbounded));
        if (min > kMaxRepeat)
            return Error{ErrorCode::limit_exceeded, "a large \"minLength\"", at(ref, "minLength"),
                         fmt::format("at most {}", kMaxRepeat)};
        rules.min_length = std::max(rules.min_length, min);
        rules.max_length = std::min(rules.max_length, max > kMaxRepeat ? kUnbounded : max);
        if (const Json* pattern = find(ref, "pattern")) {
            if (!pattern->is_string())
                return Error{ErrorCode::bad_format, "a bad \"pattern\"", at(ref, "pattern"),
                             "a string"};
            rules.patterns.emplace_back(ref, pattern->get<std::string>());
            rules.is_whole.push_back(false);
        }
        if (const Json* format = find(ref, "format")) {
            const auto pattern =
                format_pattern(format->is_string() ? format->get<std::string>() : format->dump());
            if (!pattern)
                return Error{ErrorCode::unsupported, "the format " + format->dump(),
                             at(ref, "format"), "one of " + known_formats()};
            if (!pattern->empty()) {
                rules.patterns.emplace_back(ref, *pattern);
                rules.is_whole.push_back(true);
            }
        }
    }
    return rules;
}

Result<CharDfa> SchemaCompiler::pattern_dfa(const SchemaRef& where, const std::string& pattern,
                                            bool is_whole) {
    const auto known = dfas_.find({pattern, is_whole});
    if (known != dfas_.end()) return known->second;
    Expressions scratch;
    HOKKU_TRY(const ExprId root, parse_pattern(where, pattern, is_whole, scratch));
    auto dfa = CharDfa::of(scratch, root, dfa_work_left_);
    if (!dfa.ok()) return in_schema(std::move(dfa).error(), where);
    dfas_.emplace(std::pair(pattern, is_whole), *dfa);
    return dfa;
}

Result<CharDfa> SchemaCompiler::string_dfa(const StringRules& rules) {
    CharDfa all = CharDfa::of_anything();
    if (rules.min_length > 0 || rules.max_length != kUnbounded) {
        if (rules.min_length > rules.max_length) return CharDfa::of_words({});
        HOKKU_TRY(all, CharDfa::of_length(rules.min_length, rules.max_length));
    }
    for (size_t i = 0; i < rules.patterns.size(); ++i) {
        const auto& [where, pattern] = rules.patterns[i];
        HOKKU_TRY(const CharDfa one, pattern_dfa(where, pattern, rules.is_whole[i]));
        HOKKU_TRY(all, all.intersected(one, dfa_work_left_));
    }
    return all;
}

ExprId SchemaCompiler::quoted_dfa(const CharDfa& dfa, const std::string& name) {
    if (dfa.is_empty()) return out_.never();
    return text_.quoted(
        dfa.to_expression(out_, name, [this](const CharSet& set) { return text_.char_of(set); }));
}

Result<ExprId> SchemaCompiler::compile_string(const Members& members) {
    HOKKU_TRY(const StringRules rules, string_rules(members));
    const bool has_length = rules.min_length > 0 || rules.max_length != kUnbounded;
    if (rules.patterns.empty()) {
        if (!has_length) return text_.any_string();
        if (rules.min_length > rules.max_length)
            return never(place_of(members, {"minLength"}) + " is above the maxLength");
        return text_.quoted(out_.repeat(text_.any_char(), rules.min_length, rules.max_length));
    }
    if (rules.patterns.size() == 1 && !has_length) {
        // No automaton: repetitions stay counters.
        const auto& [where, pattern] = rules.patterns.front();
        Expressions scratch;
        HOKKU_TRY(const ExprId root,
                  parse_pattern(where, pattern, rules.is_whole.front(), scratch));
        return text_.quoted(copy_with_chars(
            scratch, root, out_, [this](const CharSet& set) { return text_.char_of(set); }));
    }
    auto dfa = string_dfa(rules);
    if (!dfa.ok()) {
        Error error = std::move(dfa).error();
        if (error.where.empty()) error.where = at(rules.patterns.front().first, "pattern");
        return error;
    }
    if (dfa->is_empty())
        out_.explain_never(place_of(members, {"minLength", "maxLength", "pattern", "format"}) +
                           " leaves no string that fits the rest");
    return quoted_dfa(*dfa, members.back().ref.path);
}

}  // namespace hokku::constraint
