// SPDX-License-Identifier: Apache-2.0
// Arrays: items by place and all others.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/try.h"
#include "constraint/schema/schema_compiler.h"

namespace hokku::constraint {

struct SchemaCompiler::ArrayRules {
    std::vector<Members> first;  ///< By place.
    Members rest;                ///< Of all items behind those.
    uint32_t min = 0, max = kUnbounded;
    const SchemaRef* unique_by = nullptr;  ///< Where uniqueItems stands.
    std::string name;
};

namespace {

/// The schemas of a member's items: by place, and behind. Before draft 2020 "items" was a list and
/// "additionalItems" the rest.
struct ItemSchemas {
    const Json* list = nullptr;
    const char* list_keyword = "prefixItems";
    const Json* rest = nullptr;
    const char* rest_keyword = "items";
};

Result<ItemSchemas> item_schemas(const SchemaRef& ref) {
    ItemSchemas schemas;
    schemas.list = find(ref, "prefixItems");
    schemas.rest = find(ref, "items");
    if (schemas.rest != nullptr && schemas.rest->is_array() && schemas.list == nullptr) {
        schemas.list = schemas.rest;
        schemas.list_keyword = "items";
        schemas.rest = find(ref, "additionalItems");
        schemas.rest_keyword = "additionalItems";
    }
    if (schemas.list != nullptr && !schemas.list->is_array())
        return Error{ErrorCode::bad_format, "a bad \"prefixItems\"", at(ref, "prefixItems"),
                     "a list of schemas"};
    return schemas;
}

}  // namespace

Result<SchemaCompiler::ArrayRules> SchemaCompiler::array_rules(const Members& members) {
    ArrayRules rules;
    rules.name = members.empty() ? "any array" : members.back().ref.path;
    bool has_rest = false, is_closed = false;
    std::vector<ItemSchemas> all;
    size_t num_first = 0;
    for (const Member& member : members) {
        const SchemaRef& ref = member.ref;
        HOKKU_TRY(const ItemSchemas schemas, item_schemas(ref));
        all.push_back(schemas);
        if (schemas.list != nullptr) num_first = std::max(num_first, schemas.list->size());
        has_rest |= schemas.rest != nullptr;
        HOKKU_TRY(const uint32_t min, get_count(ref, "minItems", 0));
        HOKKU_TRY(const uint32_t max, get_count(ref, "maxItems", kUnbounded));
        if (min > kMaxRepeat)
            return Error{ErrorCode::limit_exceeded, "a large \"minItems\"", at(ref, "minItems"),
                         fmt::format("at most {}", kMaxRepeat)};
        rules.min = std::max(rules.min, min);
        rules.max = std::min(rules.max, max > kMaxRepeat ? kUnbounded : max);
        const Json* unique = find(ref, "uniqueItems");
        if (unique != nullptr && *unique != false) rules.unique_by = &ref;
        const Json* unevaluated = find(ref, "unevaluatedItems");
        if (unevaluated != nullptr && !unevaluated->is_boolean())
            return Error{ErrorCode::unsupported, "keyword \"unevaluatedItems\" with a schema",
                         at(ref, "unevaluatedItems"), "true or false"};
        is_closed |= unevaluated != nullptr && *unevaluated == false;
    }
    const auto members_at = [&](size_t place, bool is_rest) {
        Members result;
        for (size_t i = 0; i < members.size(); ++i) {
            const SchemaRef& ref = members[i].ref;
            const ItemSchemas& schemas = all[i];
            if (!is_rest && schemas.list != nullptr && place < schemas.list->size()) {
                result.push_back({child(ref, (*schemas.list)[place],
                                        {schemas.list_keyword, std::to_string(place)})});
            } else if (schemas.rest != nullptr) {
                result.push_back({child(ref, *schemas.rest, {schemas.rest_keyword})});
            }
        }
        return result;
    };
    for (size_t place = 0; place < num_first; ++place)
        rules.first.push_back(members_at(place, false));
    rules.rest = members_at(0, true);
    // Items that no schema speaks of are written only where the others are too few.
    const bool is_rest_idle = num_first > 0 && rules.min <= num_first;
    if (!has_rest && (is_closed || is_rest_idle))
        rules.max = std::min(rules.max, static_cast<uint32_t>(num_first));
    return rules;
}

Result<ExprId> SchemaCompiler::compile_array(const Members& members) {
    HOKKU_TRY(const ArrayRules rules, array_rules(members));
    if (rules.min > rules.max)
        return never(place_of(members, {"minItems"}) + " is above the number of items allowed");
    if (rules.unique_by != nullptr && rules.max > 1) return compile_unique(rules);
    // From the last item to the first: what follows once i items were written.
    const auto num_first = static_cast<uint32_t>(std::min<size_t>(rules.first.size(), rules.max));
    const auto less = [](uint32_t count, uint32_t by) {
        return count == kUnbounded ? kUnbounded : (count > by ? count - by : 0);
    };
    const uint32_t before_rest = std::max(num_first, 1u);
    ExprId tail = out_.empty();
    if (less(rules.max, before_rest) > 0)
        tail = out_.repeat(out_.sequence({text_.comma(), value_of(rules.rest)}),
                           less(rules.min, before_rest), less(rules.max, before_rest));
    if (num_first == 0 && rules.max > 0) tail = out_.sequence({value_of(rules.rest), tail});
    for (uint32_t i = num_first; i-- > 0;) {
        const ExprId item = value_of(rules.first[i]);
        if (i == 0) {
            tail = out_.sequence({item, tail});
            continue;
        }
        tail = out_.sequence({text_.comma(), item, tail});
        if (i >= rules.min) tail = out_.optional(tail);
    }
    std::vector<ExprId> options;
    if (rules.min == 0) options.push_back(text_.empty_pair('[', ']'));
    if (rules.max > 0) options.push_back(text_.enclosed('[', tail, ']'));
    return out_.alternatives(options);
}

/// Listed values without repetition: each at most once, in the order of the list.
Result<ExprId> SchemaCompiler::compile_unique(const ArrayRules& rules) {
    std::optional<std::vector<Json>> values;
    HOKKU_TRY(const FlatMembers flat, flatten_all(rules.rest));
    if (rules.first.empty() && !flat.is_never) {
        HOKKU_TRY(values, listed_values(flat.members));
    }
    if (!values)
        return Error{ErrorCode::unsupported, "keyword \"uniqueItems\" where values are not listed",
                     at(*rules.unique_by, "uniqueItems"), "items with an \"enum\""};
    OrderedList list;
    list.more = out_.never();
    list.min = rules.min;
    list.max = rules.max;
    list.name = rules.name;
    std::set<std::string> known;
    for (const Json& value : *values)
        if (known.insert(canonical_text(value)).second)
            list.items.push_back({out_.literal(value.dump()), false});
    return ordered_list(list, '[', ']');
}

}  // namespace hokku::constraint
