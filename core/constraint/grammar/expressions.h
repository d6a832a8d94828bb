// SPDX-License-Identifier: Apache-2.0
// Expressions: a grammar as trees of literals, characters, sequences, alternatives, repetitions
// and references to rules. What the front ends (GBNF, regex, JSON schema) build and the grammar
// compiler reads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "constraint/grammar/char_set.h"

namespace hokku::constraint {

using ExprId = uint32_t;
using RuleId = uint32_t;

inline constexpr uint32_t kUnbounded = UINT32_MAX;
/// Largest count of a repetition; counters hold it without expansion.
inline constexpr uint32_t kMaxRepeat = 2'000'000'000;
inline constexpr size_t kMaxExpressions = 1'500'000;

enum class ExprKind : uint8_t {
    empty,         ///< Matches the empty text.
    never,         ///< Matches nothing, not even the empty text.
    literal,       ///< Bytes: text(expr).
    chars,         ///< One character of char_set(expr).
    choice,        ///< One of many literals: choices(expr).
    sequence,      ///< children(expr), in order.
    alternatives,  ///< One of children(expr).
    repeat,        ///< Child a, between b and c times (c may be kUnbounded).
    rule,          ///< Rule a.
    token,         ///< The vocabulary's token a; with b = 1 any text token but that.
};

struct Expr {
    ExprKind kind = ExprKind::empty;
    uint32_t a = 0, b = 0, c = 0;
};

/// Children always have lower ids than their parents, so passes over the trees are loops. A node
/// may have several parents. The functions that add nodes simplify where the language stays the
/// same: nested repetitions fold into one, literals side by side become a choice.
class Expressions {
  public:
    ExprId empty() { return add({ExprKind::empty, 0, 0, 0}); }
    ExprId never() { return add({ExprKind::never, 0, 0, 0}); }
    ExprId literal(std::string_view bytes);
    ExprId chars(CharSet set);
    ExprId choice(std::vector<std::string> literals);
    ExprId sequence(std::span<const ExprId> parts);
    ExprId sequence(std::initializer_list<ExprId> parts) {
        return sequence(std::span(parts.begin(), parts.size()));
    }
    ExprId alternatives(std::span<const ExprId> options);
    ExprId alternatives(std::initializer_list<ExprId> options) {
        return alternatives(std::span(options.begin(), options.size()));
    }
    /// Needs  : min <= max.
    ExprId repeat(ExprId child, uint32_t min, uint32_t max);
    ExprId optional(ExprId child) { return repeat(child, 0, 1); }
    ExprId rule(RuleId id) { return add({ExprKind::rule, id, 0, 0}); }
    ExprId token(uint32_t id, bool negated) {
        return add({ExprKind::token, id, negated ? 1u : 0u, 0});
    }

    /// Why a part of this matches nothing, for the case that nothing is left of the whole.
    void explain_never(std::string why);
    [[nodiscard]] const std::vector<std::string>& reasons() const { return reasons_; }

    /// A rule without body matches nothing until set_body().
    RuleId add_rule(std::string name);
    void set_body(RuleId rule, ExprId body) { rules_[rule].body = body; }

    [[nodiscard]] size_t size() const { return nodes_.size(); }
    [[nodiscard]] const Expr& operator[](ExprId id) const { return nodes_[id]; }
    [[nodiscard]] std::span<const ExprId> children(ExprId id) const;
    [[nodiscard]] const std::string& text(ExprId id) const { return texts_[nodes_[id].a]; }
    [[nodiscard]] const CharSet& char_set(ExprId id) const { return sets_[nodes_[id].a]; }
    /// Ascending, each once.
    [[nodiscard]] const std::vector<std::string>& choices(ExprId id) const {
        return choices_[nodes_[id].a];
    }
    [[nodiscard]] size_t num_rules() const { return rules_.size(); }
    [[nodiscard]] const std::string& rule_name(RuleId rule) const { return rules_[rule].name; }
    [[nodiscard]] ExprId rule_body(RuleId rule) const { return rules_[rule].body; }

  private:
    struct RuleText {
        std::string name;
        ExprId body = 0;
    };
    ExprId add(Expr expr);
    ExprId add_parent(ExprKind kind, const std::vector<ExprId>& children);

    std::vector<Expr> nodes_{{ExprKind::never, 0, 0, 0}};
    std::vector<ExprId> children_;
    std::vector<std::string> texts_;
    std::vector<CharSet> sets_;
    std::vector<std::vector<std::string>> choices_;
    std::vector<RuleText> rules_;
    std::vector<std::string> reasons_;
};

}  // namespace hokku::constraint
