// SPDX-License-Identifier: Apache-2.0
// oneOf: branches are alternatives, as in anyOf, but a value that two of them accept is not valid.
// No grammar can rule that out in general, so the branches must differ in a way seen here.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/try.h"
#include "constraint/schema/schema_compiler.h"

namespace hokku::constraint {

/// What is known of the values that a branch allows, and of those that are written for it.
struct SchemaCompiler::Shape {
    uint32_t valid_types = kAllTypes, written_types = 0;
    std::optional<std::vector<Json>> values;
    std::set<std::string> required, named;
    bool has_extra = true;   ///< Properties that are not named may be written.
    bool is_closed = false;  ///< Properties that are not named are not valid.
    std::vector<std::pair<std::string, std::vector<Json>>> listed;  ///< Of properties.
};

namespace {

bool share_a_value(const std::vector<Json>& a, const std::vector<Json>& b) {
    std::set<std::string> texts;
    for (const Json& value : a) texts.insert(canonical_text(value));
    return std::any_of(b.begin(), b.end(), [&texts](const Json& value) {
        return texts.count(canonical_text(value)) > 0;
    });
}

}  // namespace

/// nullopt for branches with choices of their own.
Result<std::optional<SchemaCompiler::Shape>> SchemaCompiler::shape_of(const Members& members) {
    HOKKU_TRY(const FlatMembers flat, flatten_all(members));
    Shape shape;
    if (flat.is_never) {
        shape.valid_types = 0;
        return std::optional(shape);
    }
    for (const Member& member : flat.members)
        if ((!member.is_any_chosen && find(member.ref, "anyOf") != nullptr) ||
            (!member.is_one_chosen && find(member.ref, "oneOf") != nullptr))
            return std::optional<Shape>();
    HOKKU_TRY(shape.values, listed_values(flat.members));
    for (const Member& member : flat.members) {
        if (find(member.ref, "type") == nullptr) continue;
        HOKKU_TRY(const uint32_t own, allowed_types({member}));
        shape.valid_types &= own;
    }
    if (shape.values) {
        for (const Json& value : *shape.values) shape.written_types |= type_of(value);
        shape.valid_types &= shape.written_types;
        return std::optional(shape);
    }
    HOKKU_TRY(shape.written_types, allowed_types(flat.members));
    if (shape.written_types != kObject) return std::optional(shape);
    for (const Member& member : flat.members) {
        const SchemaRef& ref = member.ref;
        const Json* additional = find(ref, "additionalProperties");
        const bool has_patterns = find(ref, "patternProperties") != nullptr;
        shape.is_closed |= additional != nullptr && *additional == false && !has_patterns;
        if (const Json* required = find(ref, "required");
            required != nullptr && required->is_array())
            for (const Json& name : *required)
                if (name.is_string()) shape.required.insert(name.get<std::string>());
        const Json* properties = find(ref, "properties");
        if (properties == nullptr || !properties->is_object()) continue;
        for (const auto& [name, schema] : properties->items()) shape.named.insert(name);
    }
    shape.named.insert(shape.required.begin(), shape.required.end());
    HOKKU_TRY(const ObjectRules rules, object_rules(flat.members));
    shape.has_extra = rules.has_extra;
    for (const std::string& name : rules.names) {
        HOKKU_TRY(const Members property, property_members(flat.members, name));
        HOKKU_TRY(const FlatMembers inner, flatten_all(property));
        if (inner.is_never) continue;
        HOKKU_TRY(auto values, listed_values(inner.members));
        if (values) shape.listed.emplace_back(name, std::move(*values));
    }
    return std::optional(std::move(shape));
}

Result<void> SchemaCompiler::check_exclusive(const Members& base, const SchemaRef& schema) {
    const Json& branches = *find(schema, "oneOf");
    if (branches.size() == 1) return {};
    constexpr size_t kMaxBranches = 500;
    if (branches.size() > kMaxBranches)
        return Error{ErrorCode::limit_exceeded, fmt::format("{} branches", branches.size()),
                     at(schema, "oneOf"), fmt::format("at most {}", kMaxBranches)};
    std::vector<std::optional<Shape>> shapes;
    for (size_t i = 0; i < branches.size(); ++i) {
        Members all = base;
        all.push_back({child(schema, branches[i], {"oneOf", std::to_string(i)})});
        HOKKU_TRY(auto shape, shape_of(all));
        shapes.push_back(std::move(shape));
    }
    // Whether nothing that is written for `a` is valid for `b`.
    const auto fails = [](const Shape& a, const Shape& b) {
        for (const std::string& name : b.required)
            if (!a.has_extra && a.named.count(name) == 0) return true;
        for (const std::string& name : a.required)
            if (b.is_closed && b.named.count(name) == 0) return true;
        return false;
    };
    const auto differ = [&fails](const Shape& a, const Shape& b) {
        if ((a.written_types & b.valid_types) == 0 && (b.written_types & a.valid_types) == 0)
            return true;
        if (a.values && b.values) return !share_a_value(*a.values, *b.values);
        if (a.written_types != kObject || b.written_types != kObject) return false;
        for (const auto& [name, values] : a.listed)
            for (const auto& [other, other_values] : b.listed)
                if (name == other && (a.required.count(name) > 0 || b.required.count(name) > 0) &&
                    !share_a_value(values, other_values))
                    return true;
        return fails(a, b) && fails(b, a);
    };
    for (size_t i = 0; i < shapes.size(); ++i)
        for (size_t k = i + 1; k < shapes.size(); ++k)
            if (!shapes[i] || !shapes[k] || !differ(*shapes[i], *shapes[k]))
                return Error{ErrorCode::unsupported,
                             fmt::format("\"oneOf\" whose branches {} and {} may both match", i, k),
                             at(schema, "oneOf"),
                             "\"anyOf\", or branches that differ by type, by a listed value or by "
                             "a required property"};
    return {};
}

}  // namespace hokku::constraint
