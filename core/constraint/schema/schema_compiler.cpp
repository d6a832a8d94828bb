// SPDX-License-Identifier: Apache-2.0
#include "constraint/schema/schema_compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "constraint/schema/json_schema.h"

namespace hokku::constraint {

Result<ExprId> SchemaCompiler::run() {
    const ExprId root = value_of({{document_.root()}});
    while (!pending_.empty()) {
        const PendingRule next = std::move(pending_.back());
        pending_.pop_back();
        HOKKU_TRY(const ExprId body, compile(next.members));
        out_.set_body(next.rule, body);
        if (out_.num_rules() > kMaxSchemaRules || out_.size() > kMaxExpressions || work_left_ == 0)
            return Error{ErrorCode::limit_exceeded, "the schema is too large",
                         out_.rule_name(next.rule),
                         fmt::format("at most {} rules", kMaxSchemaRules)};
    }
    return root;
}

Result<FlatMembers> SchemaCompiler::flatten_all(const Members& members) {
    auto flat = flatten(members, document_);
    if (!flat.ok()) return flat;
    work_left_ -= std::min<uint64_t>(work_left_, members.size() + flat->members.size() + 1);
    if (work_left_ == 0)
        return Error{ErrorCode::limit_exceeded, "the schema is too large",
                     members.empty() ? "#" : members.back().ref.path,
                     "fewer combinations of its parts"};
    return flat;
}

ExprId SchemaCompiler::value_of(const Members& members) {
    MembersKey key;
    for (const Member& member : members)
        key.emplace_back(member.ref.schema, member.is_any_chosen, member.is_one_chosen,
                         member.is_expanded);
    std::sort(key.begin(), key.end());
    key.erase(std::unique(key.begin(), key.end()), key.end());
    const auto [known, is_new] = rules_.try_emplace(std::move(key), 0);
    if (is_new) {
        known->second = out_.add_rule(members.empty() ? "any value" : members.back().ref.path);
        work_left_ -= std::min<uint64_t>(work_left_, members.size() + 1);
        if (work_left_ > 0) pending_.push_back({known->second, members});
    }
    return out_.rule(known->second);
}

Result<ExprId> SchemaCompiler::compile(const Members& members) {
    HOKKU_TRY(const FlatMembers flat, flatten_all(members));
    if (flat.is_never) return never(flat.never_at + " is false and allows nothing");
    for (size_t i = 0; i < flat.members.size(); ++i) {
        const Member& member = flat.members[i];
        if (!member.is_any_chosen && find(member.ref, "anyOf") != nullptr)
            return compile_choice(flat.members, i, true);
        if (!member.is_one_chosen && find(member.ref, "oneOf") != nullptr)
            return compile_choice(flat.members, i, false);
    }
    return compile_flat(flat.members);
}

/// One alternative for each branch of an anyOf or oneOf, each with all other members.
Result<ExprId> SchemaCompiler::compile_choice(const Members& members, size_t chooser, bool is_any) {
    const SchemaRef& ref = members[chooser].ref;
    const std::string keyword = is_any ? "anyOf" : "oneOf";
    const Json& branches = *find(ref, keyword);
    if (!branches.is_array() || branches.empty())
        return Error{ErrorCode::bad_format, fmt::format("a bad \"{}\"", keyword), at(ref, keyword),
                     "a list of schemas"};
    Members others = members;
    (is_any ? others[chooser].is_any_chosen : others[chooser].is_one_chosen) = true;
    if (!is_any) HOKKU_CHECK(check_exclusive(others, ref));
    std::vector<ExprId> options;
    for (size_t i = 0; i < branches.size() && work_left_ > 0; ++i) {
        Members all = others;
        all.push_back({child(ref, branches[i], {keyword, std::to_string(i)})});
        options.push_back(value_of(all));
    }
    return out_.alternatives(options);
}

Result<ExprId> SchemaCompiler::compile_flat(const Members& members) {
    HOKKU_TRY(const auto values, listed_values(members));
    if (values) {
        std::vector<std::string> texts;
        if (values->empty())
            return never(place_of(members, {"enum", "const"}) +
                         " lists no value that fits the rest");
        for (const Json& value : *values) texts.push_back(value.dump());
        return out_.choice(std::move(texts));
    }
    HOKKU_TRY(const uint32_t types, allowed_types(members));
    if (types == 0) return never(place_of(members, {"type"}) + " excludes every type");
    return compile_types(members, types);
}

ExprId SchemaCompiler::never(std::string why) {
    out_.explain_never(std::move(why));
    return out_.never();
}

/// The last place where one of the keywords stands.
std::string SchemaCompiler::place_of(const Members& members,
                                     std::initializer_list<std::string_view> keywords) {
    std::string place = members.empty() ? "#" : members.back().ref.path;
    for (const Member& member : members)
        for (const std::string_view keyword : keywords)
            if (find(member.ref, keyword) != nullptr) place = at(member.ref, keyword);
    return place;
}

Result<ExprId> SchemaCompiler::compile_types(const Members& members, uint32_t types) {
    std::vector<ExprId> options;
    if ((types & kObject) != 0) {
        HOKKU_TRY(const ExprId object, compile_object(members));
        options.push_back(object);
    }
    if ((types & kArray) != 0) {
        HOKKU_TRY(const ExprId array, compile_array(members));
        options.push_back(array);
    }
    if ((types & kString) != 0) {
        HOKKU_TRY(const ExprId string, compile_string(members));
        options.push_back(string);
    }
    if ((types & kWhole) != 0) {
        HOKKU_TRY(const ExprId number, compile_number(members, (types & kBroken) == 0));
        options.push_back(number);
    }
    if ((types & kBoolean) != 0) options.push_back(text_.boolean());
    if ((types & kNull) != 0) options.push_back(text_.null());
    return out_.alternatives(options);
}

/// What may follow the named items, when so many of them were written; absent if nothing may.
std::optional<ExprId> SchemaCompiler::rest_of_list(const OrderedList& list, uint32_t count,
                                                   bool counts_min, bool counts_max) {
    const uint32_t missing = counts_min && list.min > count ? list.min - count : 0;
    uint32_t room = kUnbounded;
    if (counts_max) room = list.max > count ? list.max - count : 0;
    if (count > 0) {
        if (missing > room) return std::nullopt;
        return out_.repeat(out_.sequence({text_.comma(), list.more}), missing, room);
    }
    const uint32_t more_room = room == kUnbounded || room == 0 ? room : room - 1;
    const uint32_t more_missing = missing > 0 ? missing - 1 : 0;
    if (room == 0 || more_missing > more_room) return std::nullopt;
    return out_.sequence({list.more, out_.repeat(out_.sequence({text_.comma(), list.more}),
                                                 more_missing, more_room)});
}

/// Where counting matters, the rules are numbered by how many items came before.
Result<ExprId> SchemaCompiler::ordered_list(const OrderedList& list, char open, char close) {
    const size_t num_items = list.items.size();
    uint32_t num_required = 0;
    for (const OrderedItem& item : list.items) num_required += item.is_required ? 1 : 0;
    const bool has_more = out_[list.more].kind != ExprKind::never;
    const bool counts_min = list.min > std::max(num_required, 1u);
    const bool counts_max = list.max != kUnbounded && (list.max < num_items || has_more);
    // Whether something came before matters always, for the comma.
    uint32_t last_count = 1;
    if (counts_min) last_count = std::max(last_count, list.min);
    if (counts_max) last_count = std::max(last_count, list.max);
    if (num_items > 0)
        last_count = std::min(last_count, std::max(1u, static_cast<uint32_t>(num_items)));
    if (list.min > list.max)
        out_.explain_never(fmt::format("{} asks for at least {} and at most {} of them", list.name,
                                       list.min, list.max));
    if ((num_items + 1) * (size_t{last_count} + 1) > kMaxSchemaRules)
        return Error{ErrorCode::limit_exceeded, "too many combinations of items", list.name,
                     fmt::format("at most {}", kMaxSchemaRules)};

    // What follows once the first i items are dealt with and count of them were written. The count
    // stays at last_count, where it matters no more.
    std::vector<RuleId> rules((num_items + 1) * (size_t{last_count} + 1));
    const auto rule_at = [&](size_t i, uint32_t count) -> RuleId& {
        return rules[i * (size_t{last_count} + 1) + std::min(count, last_count)];
    };
    for (RuleId& rule : rules) rule = out_.add_rule(list.name);
    for (size_t i = 0; i <= num_items; ++i) {
        for (uint32_t count = 0; count <= std::min<size_t>(i, last_count); ++count) {
            const bool may_add = !counts_max || count < list.max;
            std::vector<ExprId> options;
            if (i < num_items) {
                const OrderedItem& item = list.items[i];
                const ExprId comma = count > 0 ? text_.comma() : out_.empty();
                if (may_add)
                    options.push_back(
                        out_.sequence({comma, item.item, out_.rule(rule_at(i + 1, count + 1))}));
                if (!item.is_required) options.push_back(out_.rule(rule_at(i + 1, count)));
            } else if (const auto rest = rest_of_list(list, count, counts_min, counts_max)) {
                options.push_back(*rest);
            }
            out_.set_body(rule_at(i, count), out_.alternatives(options));
        }
    }
    std::vector<ExprId> options{text_.enclosed(open, out_.rule(rule_at(0, 0)), close)};
    if (num_required == 0 && list.min == 0) options.push_back(text_.empty_pair(open, close));
    return out_.alternatives(options);
}

Result<ExprId> parse_json_schema(std::string_view text, Expressions& out) {
    HOKKU_TRY(const SchemaDocument document, SchemaDocument::read(text));
    return SchemaCompiler(document, out).run();
}

}  // namespace hokku::constraint
