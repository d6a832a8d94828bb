// SPDX-License-Identifier: Apache-2.0
#include "constraint/schema/schema_members.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "base/try.h"
#include "base/utf8.h"

namespace hokku::constraint {

namespace {

/// Keywords that change what is valid and that no grammar is made for. Source: draft 2020-12, the
/// drafts before it, and OpenAPI 3.0 ("nullable").
constexpr std::array<std::string_view, 14> kRefused{
    "not",         "if",          "dependentSchemas", "dependentRequired", "dependencies",
    "contains",    "minContains", "maxContains",      "$dynamicRef",       "$recursiveRef",
    "divisibleBy", "disallow",    "extends",          "nullable"};

/// What says the same where something does.
std::string_view instead_of(std::string_view keyword) {
    if (keyword == "not" || keyword == "disallow")
        return "a schema of what is allowed: \"enum\", \"pattern\" or \"type\"";
    if (keyword == "if" || keyword.substr(0, 9) == "dependent" || keyword == "dependencies")
        return "\"anyOf\" with the cases spelt out";
    if (keyword == "nullable") return "\"type\": [.., \"null\"]";
    if (keyword == "extends") return "\"allOf\"";
    if (keyword == "divisibleBy") return "\"multipleOf\"";
    return "a schema without it";
}

constexpr std::array<std::string_view, 33> kKnown{"additionalProperties",
                                                  "allOf",
                                                  "anyOf",
                                                  "const",
                                                  "contains",
                                                  "dependentRequired",
                                                  "dependentSchemas",
                                                  "enum",
                                                  "exclusiveMaximum",
                                                  "exclusiveMinimum",
                                                  "format",
                                                  "items",
                                                  "maxContains",
                                                  "maxItems",
                                                  "maxLength",
                                                  "maxProperties",
                                                  "maximum",
                                                  "minContains",
                                                  "minItems",
                                                  "minLength",
                                                  "minProperties",
                                                  "minimum",
                                                  "multipleOf",
                                                  "oneOf",
                                                  "pattern",
                                                  "patternProperties",
                                                  "prefixItems",
                                                  "properties",
                                                  "propertyNames",
                                                  "required",
                                                  "type",
                                                  "unevaluatedItems",
                                                  "unevaluatedProperties"};

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// "property" for "properties", "item" for "items".
std::string singular(std::string_view word) {
    if (word.ends_with("ies")) return std::string(word.substr(0, word.size() - 3)) + "y";
    return std::string(word.substr(0, word.size() - (word.ends_with('s') ? 1 : 0)));
}

/// Equal but for case and one letter that is wrong, missing, too many or in its neighbour's place.
bool is_misspelt(std::string_view word, std::string_view known) {
    const auto is_same = [](char a, char b) { return lower(a) == lower(b); };
    const size_t shorter = std::min(word.size(), known.size());
    if (std::max(word.size(), known.size()) - shorter > 1) return false;
    size_t begin = 0, end = 0;
    while (begin < shorter && is_same(word[begin], known[begin])) ++begin;
    while (end < shorter - begin &&
           is_same(word[word.size() - 1 - end], known[known.size() - 1 - end]))
        ++end;
    const std::string_view a = word.substr(begin, word.size() - begin - end),
                           b = known.substr(begin, known.size() - begin - end);
    if (a.size() <= 1 && b.size() <= 1) return true;
    return a.size() == 2 && b.size() == 2 && is_same(a[0], b[1]) && is_same(a[1], b[0]);
}

/// What is not known says nothing by the standard. One that is almost known was meant to.
Result<void> check_spelling(const SchemaRef& ref) {
    for (const auto& [word, value] : ref.schema->items()) {
        if (std::find(kKnown.begin(), kKnown.end(), word) != kKnown.end()) continue;
        for (const std::string_view known : kKnown) {
            if (is_misspelt(word, known) || singular(word) == singular(known))
                return Error{ErrorCode::bad_format,
                             fmt::format("unknown keyword \"{}\"", to_printable(word)),
                             at(ref, word), fmt::format("\"{}\"", known)};
        }
    }
    return {};
}

Result<void> check_keywords(const SchemaRef& ref) {
    HOKKU_CHECK(check_spelling(ref));
    const auto refuse = [&ref](std::string_view keyword) {
        return Error{ErrorCode::unsupported, fmt::format("keyword \"{}\"", keyword),
                     at(ref, keyword), std::string(instead_of(keyword))};
    };
    for (const std::string_view keyword : kRefused) {
        const Json* value = find(ref, keyword);
        const bool is_idle = value != nullptr && keyword == "nullable" && *value == false;
        if (value != nullptr && !is_idle) return refuse(keyword);
    }
    // Below another base, "#" would mean another document.
    if (ref.path != "#" && find(ref, "$id") != nullptr) return refuse("$id");
    return {};
}

/// Depth first, with the way down, so that rings are told from schemas that are met twice.
class Flattening {
  public:
    explicit Flattening(const SchemaDocument& document) : document_(document) {}

    Result<FlatMembers> run(const Members& members) {
        for (auto at = members.rbegin(); at != members.rend(); ++at) todo_.push_back({*at, false});
        while (!todo_.empty()) {
            const Step step = todo_.back();
            todo_.pop_back();
            if (step.is_leaving) {
                states_[step.member.ref.schema] = State::done;
                continue;
            }
            HOKKU_CHECK(enter(step.member));
        }
        return std::move(out_);
    }

  private:
    enum class State { open, done, given };
    struct Step {
        Member member;
        bool is_leaving = false;
    };

    Result<void> enter(const Member& member) {
        const SchemaRef& ref = member.ref;
        const auto [known, is_new] = states_.try_emplace(ref.schema, State::open);
        if (!is_new) return enter_again(member, known->second);
        if (ref.schema->is_boolean()) {
            if (!ref.schema->get<bool>()) {
                out_.is_never = true;
                out_.never_at = ref.path;
            }
            known->second = State::done;
            return {};
        }
        if (!ref.schema->is_object())
            return Error{ErrorCode::bad_format, "not a schema", ref.path,
                         "a JSON object, true or false"};
        HOKKU_CHECK(check_keywords(ref));
        out_.members.push_back(member);
        out_.members.back().is_expanded = true;
        if (member.is_expanded) {
            known->second = State::given;
            return {};
        }
        todo_.push_back({member, true});
        return push_parts(ref);
    }

    /// The schema is met again. That is a ring on its own way down, or below a branch of its own.
    Result<void> enter_again(const Member& member, State& state) {
        bool is_ring = state == State::open;
        for (const Member& known : out_.members)
            is_ring |= known.ref.schema == member.ref.schema &&
                       ((known.is_any_chosen && !member.is_any_chosen) ||
                        (known.is_one_chosen && !member.is_one_chosen));
        if (is_ring)
            return Error{ErrorCode::bad_format, "a reference leads back to itself", member.ref.path,
                         "a schema that says something on the way"};
        if (state != State::given || member.is_expanded) return {};
        // Its parts are members already; the way may lead on through them.
        state = State::open;
        todo_.push_back({member, true});
        return push_parts(member.ref);
    }

    Result<void> push_parts(const SchemaRef& ref) {
        if (const Json* all = find(ref, "allOf")) {
            if (!all->is_array())
                return Error{ErrorCode::bad_format, "a bad \"allOf\"", at(ref, "allOf"),
                             "a list of schemas"};
            for (size_t i = all->size(); i-- > 0;)
                todo_.push_back({{child(ref, (*all)[i], {"allOf", std::to_string(i)})}, false});
        }
        if (const Json* reference = find(ref, "$ref")) {
            if (!reference->is_string())
                return Error{ErrorCode::bad_format, "a bad \"$ref\"", at(ref, "$ref"), "a string"};
            HOKKU_TRY(SchemaRef target, document_.resolve(reference->get<std::string>(), ref));
            todo_.push_back({{std::move(target)}, false});
        }
        return {};
    }

    const SchemaDocument& document_;
    std::vector<Step> todo_;
    std::map<const Json*, State> states_;
    FlatMembers out_;
};

Result<uint32_t> type_bits(const SchemaRef& ref, const Json& name) {
    static const std::map<std::string, uint32_t> kNames{
        {"object", kObject},   {"array", kArray}, {"string", kString},         {"integer", kWhole},
        {"boolean", kBoolean}, {"null", kNull},   {"number", kWhole | kBroken}};
    const auto found = name.is_string() ? kNames.find(name.get<std::string>()) : kNames.end();
    if (found == kNames.end())
        return Error{ErrorCode::bad_format, "unknown type " + name.dump(), at(ref, "type"),
                     "object, array, string, number, integer, boolean or null"};
    return found->second;
}

/// Types that the keywords of a schema speak of.
uint32_t implied_types(const SchemaRef& ref) {
    struct Implied {
        std::string_view keyword;
        uint32_t types;
    };
    constexpr Implied kImplied[] = {{"properties", kObject},
                                    {"required", kObject},
                                    {"additionalProperties", kObject},
                                    {"patternProperties", kObject},
                                    {"propertyNames", kObject},
                                    {"minProperties", kObject},
                                    {"maxProperties", kObject},
                                    {"items", kArray},
                                    {"prefixItems", kArray},
                                    {"minItems", kArray},
                                    {"maxItems", kArray},
                                    {"uniqueItems", kArray},
                                    {"minLength", kString},
                                    {"maxLength", kString},
                                    {"pattern", kString},
                                    {"format", kString},
                                    {"minimum", kWhole | kBroken},
                                    {"maximum", kWhole | kBroken},
                                    {"exclusiveMinimum", kWhole | kBroken},
                                    {"exclusiveMaximum", kWhole | kBroken},
                                    {"multipleOf", kWhole | kBroken}};
    uint32_t types = 0;
    for (const Implied& one : kImplied)
        if (find(ref, one.keyword) != nullptr) types |= one.types;
    return types;
}

}  // namespace

Result<FlatMembers> flatten(const Members& members, const SchemaDocument& document) {
    return Flattening(document).run(members);
}

Result<uint32_t> allowed_types(const Members& members) {
    uint32_t types = kAllTypes, implied = 0;
    bool is_said = false;
    for (const Member& member : members) {
        implied |= implied_types(member.ref);
        const Json* type = find(member.ref, "type");
        if (type == nullptr) continue;
        is_said = true;
        uint32_t own = 0;
        if (type->is_array()) {
            for (const Json& name : *type) {
                HOKKU_TRY(const uint32_t bits, type_bits(member.ref, name));
                own |= bits;
            }
        } else {
            HOKKU_TRY(own, type_bits(member.ref, *type));
        }
        types &= own;
    }
    return is_said || implied == 0 ? types : implied;
}

uint32_t type_of(const Json& value) {
    if (value.is_object()) return kObject;
    if (value.is_array()) return kArray;
    if (value.is_string()) return kString;
    if (value.is_boolean()) return kBoolean;
    if (value.is_null()) return kNull;
    const double number = value.get<double>();
    return number == std::floor(number) ? kWhole : kBroken;
}

}  // namespace hokku::constraint
