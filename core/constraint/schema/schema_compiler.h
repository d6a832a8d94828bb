// SPDX-License-Identifier: Apache-2.0
// SchemaCompiler: makes one rule for each set of schemas that a value must satisfy at once.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "constraint/grammar/char_dfa.h"
#include "constraint/grammar/expressions.h"
#include "constraint/language/json_text.h"
#include "constraint/language/number_ranges.h"
#include "constraint/schema/schema_document.h"
#include "constraint/schema/schema_members.h"

namespace hokku::constraint {

/// Threads: one thread at a time.
class SchemaCompiler {
  public:
    SchemaCompiler(const SchemaDocument& document, Expressions& out)
        : document_(document), out_(out), text_(out) {}

    /// The whole schema. Works through a list of rules to make; the depth of the schema costs no
    /// stack.
    Result<ExprId> run();

  private:
    using MembersKey = std::vector<std::tuple<const Json*, bool, bool, bool>>;
    struct PendingRule {
        RuleId rule;
        Members members;
    };

    /// As flatten(), within the work that is granted to the whole schema.
    Result<FlatMembers> flatten_all(const Members& members);
    /// A value that satisfies all members: a call of their rule.
    ExprId value_of(const Members& members);
    Result<ExprId> compile(const Members& members);
    Result<ExprId> compile_flat(const Members& members);
    Result<ExprId> compile_choice(const Members& members, size_t chooser, bool is_any);
    /// An expression that matches nothing, and the reason.
    ExprId never(std::string why);
    static std::string place_of(const Members& members,
                                std::initializer_list<std::string_view> keywords);
    Result<ExprId> compile_types(const Members& members, uint32_t types);

    // schema_values.cpp: listed values.
    Result<std::optional<std::vector<Json>>> listed_values(const Members& members);
    struct ValueCheck;
    Result<bool> value_matches(const Json& value, const Members& members, ValueCheck& check);
    Result<bool> string_matches(const std::string& value, const Members& members,
                                ValueCheck& check);

    // schema_one_of.cpp
    struct Shape;
    Result<void> check_exclusive(const Members& base, const SchemaRef& schema);
    Result<std::optional<Shape>> shape_of(const Members& members);

    // schema_string.cpp
    struct StringRules {
        std::vector<std::pair<SchemaRef, std::string>> patterns;  ///< Regular expressions.
        std::vector<bool> is_whole;  ///< A format's pattern, which the whole text matches.
        uint32_t min_length = 0, max_length = kUnbounded;
    };
    Result<StringRules> string_rules(const Members& members);
    Result<ExprId> compile_string(const Members& members);
    Result<CharDfa> string_dfa(const StringRules& rules);
    Result<CharDfa> pattern_dfa(const SchemaRef& where, const std::string& pattern, bool is_whole);
    ExprId quoted_dfa(const CharDfa& dfa, const std::string& name);

    // schema_number.cpp
    struct NumberRules {
        NumberBounds bounds;
        std::vector<Decimal> divisors;
        std::optional<SchemaRef> divided_by;  ///< Where the first divisor stands.
    };
    Result<NumberRules> number_rules(const Members& members);
    Result<ExprId> compile_number(const Members& members, bool is_whole);
    Result<ExprId> compile_multiples(const NumberRules& rules, const SchemaRef& where);

    /// What the members say of scalars, once it was asked for.
    struct ValueCheck {
        std::optional<StringRules> strings;
        std::vector<CharDfa> patterns;
        std::optional<NumberRules> numbers;
    };

    // schema_object.cpp
    struct ExtraProperty {
        ExprId key;
        Members value;
    };
    struct ObjectRules {
        std::vector<std::string> names;  ///< In the schema's order; then those only required.
        std::set<std::string> required;
        uint32_t min = 0, max = kUnbounded;
        /// Properties without a name here may be written.
        bool has_extra = false;
        const SchemaRef* limited_by = nullptr;  ///< Where minProperties stands.
    };
    Result<ObjectRules> object_rules(const Members& members);
    Result<Members> property_members(const Members& members, const std::string& name);
    Result<std::vector<ExtraProperty>> extra_properties(const Members& members,
                                                        const ObjectRules& rules);
    Result<ExprId> compile_object(const Members& members);

    // schema_array.cpp
    struct ArrayRules;
    Result<ArrayRules> array_rules(const Members& members);
    Result<ExprId> compile_array(const Members& members);
    Result<ExprId> compile_unique(const ArrayRules& rules);

    /// Things in a fixed order with commas between, some of which may be left out.
    struct OrderedItem {
        ExprId item;
        bool is_required;
    };
    struct OrderedList {
        std::vector<OrderedItem> items;
        ExprId more = 0;  ///< May follow any number of times; an expression that never matches
                          ///< for none.
        uint32_t min = 0, max = kUnbounded;
        std::string name;  ///< Of the rules, for messages.
    };
    Result<ExprId> ordered_list(const OrderedList& list, char open, char close);
    std::optional<ExprId> rest_of_list(const OrderedList& list, uint32_t count, bool counts_min,
                                       bool counts_max);

    const SchemaDocument& document_;
    Expressions& out_;
    JsonText text_;
    std::map<MembersKey, RuleId> rules_;
    std::vector<PendingRule> pending_;
    std::map<std::pair<std::string, bool>, CharDfa> dfas_;  ///< By pattern and is_whole.
    /// Members handled; edges of automata looked at. Schemas may combine their parts in more ways
    /// than there is time or memory for.
    uint64_t work_left_ = 3'000'000, dfa_work_left_ = 100'000'000;
};

/// The same for equal values alone: the order of properties does not matter, 1 and 1.0 are equal.
std::string canonical_text(const Json& value);

/// The regular expression of a "format"; nullopt for one that is not known, "" for one that
/// restricts no string.
std::optional<std::string> format_pattern(std::string_view format);
/// Their names, for messages.
std::string known_formats();

}  // namespace hokku::constraint
