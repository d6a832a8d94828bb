// SPDX-License-Identifier: Apache-2.0
#include "constraint/grammar/nullable.h"

namespace hokku::constraint {

namespace {

/// Who has to be told when an expression turns out to be nullable, as lists in one array.
class Dependants {
  public:
    explicit Dependants(const Expressions& expressions)
        : first_(expressions.size(), kNone), rule_first_(expressions.num_rules(), kNone) {
        for (ExprId id = 0; id < expressions.size(); ++id) {
            const Expr& expr = expressions[id];
            if (expr.kind == ExprKind::sequence || expr.kind == ExprKind::alternatives) {
                for (const ExprId child : expressions.children(id)) link(first_[child], id);
            } else if (expr.kind == ExprKind::repeat) {
                link(first_[expr.a], id);
            } else if (expr.kind == ExprKind::rule) {
                link(rule_first_[expr.a], id);
            }
        }
    }
    template <class Visit>
    void of_expr(ExprId id, const Visit& visit) const {
        for (uint32_t at = first_[id]; at != kNone; at = links_[at].next) visit(links_[at].id);
    }
    template <class Visit>
    void of_rule(RuleId id, const Visit& visit) const {
        for (uint32_t at = rule_first_[id]; at != kNone; at = links_[at].next) visit(links_[at].id);
    }

  private:
    static constexpr uint32_t kNone = UINT32_MAX;
    struct Link {
        ExprId id;
        uint32_t next;
    };
    void link(uint32_t& list, ExprId id) {
        links_.push_back({id, list});
        list = static_cast<uint32_t>(links_.size() - 1);
    }
    std::vector<uint32_t> first_, rule_first_;
    std::vector<Link> links_;
};

/// How many children must be nullable before the expression is; 0 if it is at once.
uint32_t num_needed(const Expressions& expressions, ExprId id) {
    const Expr& expr = expressions[id];
    switch (expr.kind) {
        case ExprKind::empty:
            return 0;
        case ExprKind::choice:
            return expressions.choices(id).front().empty() ? 0 : UINT32_MAX;
        case ExprKind::sequence:
            return expr.b;
        case ExprKind::alternatives:
        case ExprKind::rule:
            return 1;
        case ExprKind::repeat:
            return expr.b == 0 ? 0 : 1;
        default:
            return UINT32_MAX;
    }
}

}  // namespace

std::vector<bool> find_nullable(const Expressions& expressions) {
    const Dependants dependants(expressions);
    std::vector<bool> nullable(expressions.size(), false);
    std::vector<uint32_t> needed(expressions.size());
    std::vector<ExprId> found;
    for (ExprId id = 0; id < expressions.size(); ++id) {
        needed[id] = num_needed(expressions, id);
        if (needed[id] == 0) found.push_back(id);
    }
    std::vector<std::vector<RuleId>> rules_of_body;
    std::vector<uint32_t> body_list(expressions.size(), UINT32_MAX);
    for (RuleId rule = 0; rule < expressions.num_rules(); ++rule) {
        uint32_t& list = body_list[expressions.rule_body(rule)];
        if (list == UINT32_MAX) {
            list = static_cast<uint32_t>(rules_of_body.size());
            rules_of_body.emplace_back();
        }
        rules_of_body[list].push_back(rule);
    }
    const auto tell = [&](ExprId dependant) {
        if (needed[dependant] == UINT32_MAX || needed[dependant] == 0) return;
        if (--needed[dependant] == 0) found.push_back(dependant);
    };
    while (!found.empty()) {
        const ExprId id = found.back();
        found.pop_back();
        if (nullable[id]) continue;
        nullable[id] = true;
        dependants.of_expr(id, tell);
        if (body_list[id] == UINT32_MAX) continue;
        for (const RuleId rule : rules_of_body[body_list[id]]) dependants.of_rule(rule, tell);
    }
    return nullable;
}

}  // namespace hokku::constraint
