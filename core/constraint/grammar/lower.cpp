// SPDX-License-Identifier: Apache-2.0
#include "constraint/grammar/lower.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "constraint/grammar/nullable.h"
#include "constraint/grammar/utf8_edges.h"

namespace hokku::constraint {

namespace {

constexpr RuleId kNoRule = UINT32_MAX;

/// An expression that the automaton from `start` on has to match before it goes on at `next`.
struct Task {
    ExprId expr = 0;
    PositionId start = 0, next = 0;
    RuleId rule = 0;
};

class Lowering {
  public:
    explicit Lowering(const Expressions& expressions)
        : expressions_(expressions),
          nullable_(find_nullable(expressions)),
          rule_of_(expressions.num_rules(), kNoRule) {}

    Result<Grammar> run(RuleId root) {
        out_.root = enter_rule(root);
        while (!tasks_.empty()) {
            const Task task = tasks_.back();
            tasks_.pop_back();
            lower(task);
            if (out_.positions.size() > kMaxPositions)
                return Error{ErrorCode::limit_exceeded, "the grammar is too large",
                             "rule \"" + out_.rules[task.rule].name + "\"",
                             fmt::format("at most {} positions", kMaxPositions)};
        }
        return std::move(out_);
    }

  private:
    PositionId add(RuleId rule) {
        out_.positions.push_back({PositionKind::dead, 0, 0, 0, rule});
        return static_cast<PositionId>(out_.positions.size() - 1);
    }

    RuleId add_rule(std::string name, bool nullable) {
        const auto id = static_cast<RuleId>(out_.rules.size());
        out_.rules.emplace_back();
        out_.rules[id].name = std::move(name);
        out_.rules[id].is_nullable = nullable;
        out_.rules[id].start = add(id);
        return id;
    }

    /// The compiled rule of a rule, which is lowered once it is called.
    RuleId enter_rule(RuleId rule) {
        if (rule_of_[rule] != kNoRule) return rule_of_[rule];
        const ExprId body = expressions_.rule_body(rule);
        const RuleId id = add_rule(expressions_.rule_name(rule), nullable_[body]);
        rule_of_[rule] = id;
        const PositionId end = add(id);
        out_.positions[end].kind = PositionKind::end;
        tasks_.push_back({body, out_.rules[id].start, end, id});
        return id;
    }

    void set_split(PositionId at, const std::vector<PositionId>& targets) {
        Position& position = out_.positions[at];
        position.kind = PositionKind::split;
        position.first = static_cast<uint32_t>(out_.targets.size());
        position.num = static_cast<uint32_t>(targets.size());
        out_.targets.insert(out_.targets.end(), targets.begin(), targets.end());
    }

    void set_bytes(PositionId at, const std::vector<ByteEdge>& edges) {
        Position& position = out_.positions[at];
        position.kind = PositionKind::bytes;
        position.first = static_cast<uint32_t>(out_.edges.size());
        position.num = static_cast<uint32_t>(edges.size());
        out_.edges.insert(out_.edges.end(), edges.begin(), edges.end());
    }

    void set_step(PositionId at, PositionKind kind, uint32_t first, uint32_t num, PositionId next) {
        Position& position = out_.positions[at];
        position.kind = kind;
        position.first = first;
        position.num = num;
        position.next = next;
    }

    void lower(const Task& task) {
        const Expr& expr = expressions_[task.expr];
        switch (expr.kind) {
            case ExprKind::never:
                break;
            case ExprKind::empty:
                set_split(task.start, {task.next});
                break;
            case ExprKind::literal:
                lower_literal(task);
                break;
            case ExprKind::chars:
                lower_chars(task);
                break;
            case ExprKind::choice:
                lower_choice(task);
                break;
            case ExprKind::sequence:
                lower_sequence(task);
                break;
            case ExprKind::alternatives:
                lower_alternatives(task);
                break;
            case ExprKind::repeat:
                lower_repeat(task);
                break;
            case ExprKind::rule:
                set_step(task.start, PositionKind::call, enter_rule(expr.a), 0, task.next);
                break;
            case ExprKind::token:
                set_step(task.start, PositionKind::token, expr.a, expr.b, task.next);
                break;
        }
    }

    void lower_literal(const Task& task) {
        const std::string& text = expressions_.text(task.expr);
        PositionId at = task.start;
        for (size_t i = 0; i < text.size(); ++i) {
            const PositionId next = i + 1 == text.size() ? task.next : add(task.rule);
            const auto byte = static_cast<uint8_t>(text[i]);
            set_bytes(at, {{byte, byte, next}});
            at = next;
        }
    }

    /// Sequences [begin, end) that agree in their first `depth` bytes, from position `at` on.
    void lower_sequences(const std::vector<ByteSequence>& all, size_t begin, size_t end,
                         uint32_t depth, PositionId at, const Task& task,
                         std::map<std::string, PositionId>& tails) {
        std::vector<ByteEdge> edges;
        for (size_t i = begin; i < end;) {
            const ByteRange range = all[i].bytes[depth];
            size_t group_end = i + 1;
            while (group_end < end && all[group_end].bytes[depth] == range) ++group_end;
            PositionId next = task.next;
            if (all[i].length > depth + 1) {
                std::string tail;
                for (size_t k = i; k < group_end; ++k)
                    for (uint32_t d = depth + 1; d < all[k].length; ++d) {
                        tail += static_cast<char>(all[k].bytes[d].first);
                        tail += static_cast<char>(all[k].bytes[d].last);
                    }
                tail += static_cast<char>('0' + all[i].length - depth);
                const auto [known, is_new] = tails.try_emplace(tail, 0);
                if (is_new) {
                    known->second = next = add(task.rule);
                    lower_sequences(all, i, group_end, depth + 1, next, task, tails);
                }
                next = known->second;
            }
            edges.push_back({range.first, range.last, next});
            i = group_end;
        }
        set_bytes(at, edges);
    }

    void lower_chars(const Task& task) {
        const auto sequences = utf8_sequences(expressions_.char_set(task.expr));
        std::map<std::string, PositionId> tails;
        lower_sequences(sequences, 0, sequences.size(), 0, task.start, task, tails);
    }

    void lower_choice(const Task& task) {
        const std::vector<std::string>& all = expressions_.choices(task.expr);
        struct Group {
            size_t begin, end, depth;
            PositionId at;
        };
        std::vector<Group> groups{{0, all.size(), 0, task.start}};
        while (!groups.empty()) {
            const Group group = groups.back();
            groups.pop_back();
            std::vector<ByteEdge> edges;
            size_t i = group.begin;
            const bool ends_here = all[i].size() == group.depth;  // The shortest comes first.
            if (ends_here) ++i;
            while (i < group.end) {
                const char byte = all[i][group.depth];
                size_t group_end = i + 1;
                while (group_end < group.end && all[group_end][group.depth] == byte) ++group_end;
                const bool is_last = group_end == i + 1 && all[i].size() == group.depth + 1;
                const PositionId next = is_last ? task.next : add(task.rule);
                edges.push_back({static_cast<uint8_t>(byte), static_cast<uint8_t>(byte), next});
                if (!is_last) groups.push_back({i, group_end, group.depth + 1, next});
                i = group_end;
            }
            if (ends_here && edges.empty()) {
                set_split(group.at, {task.next});
            } else if (ends_here) {
                const PositionId rest = add(task.rule);
                set_bytes(rest, edges);
                set_split(group.at, {task.next, rest});
            } else {
                set_bytes(group.at, edges);
            }
        }
    }

    void lower_sequence(const Task& task) {
        const auto parts = expressions_.children(task.expr);
        PositionId at = task.start;
        for (size_t i = 0; i < parts.size(); ++i) {
            const PositionId next = i + 1 == parts.size() ? task.next : add(task.rule);
            tasks_.push_back({parts[i], at, next, task.rule});
            at = next;
        }
    }

    void lower_alternatives(const Task& task) {
        std::vector<PositionId> starts;
        for (const ExprId option : expressions_.children(task.expr)) {
            starts.push_back(add(task.rule));
            tasks_.push_back({option, starts.back(), task.next, task.rule});
        }
        set_split(task.start, starts);
    }

    void lower_repeat(const Task& task) {
        const Expr& expr = expressions_[task.expr];
        const bool is_optional = expr.b == 0 && expr.c == 1;
        if (is_optional || (expr.b <= 1 && expr.c == kUnbounded)) {
            const PositionId body = add(task.rule);
            if (is_optional) {
                set_split(task.start, {body, task.next});
                tasks_.push_back({expr.a, body, task.next, task.rule});
                return;
            }
            // The loop is at a position of its own, for start may be the end of another loop.
            const PositionId loop = add(task.rule);
            set_split(task.start, {expr.b == 0 ? loop : body});
            set_split(loop, {body, task.next});
            tasks_.push_back({expr.a, body, loop, task.rule});
            return;
        }
        set_step(task.start, PositionKind::call, add_counted(task), 0, task.next);
    }

    /// The rule of a repetition: head -> (at least min) -> end, head -> (count) -> body -> head.
    RuleId add_counted(const Task& task) {
        const Expr& expr = expressions_[task.expr];
        const uint32_t min = nullable_[expr.a] ? 0 : expr.b;  // Empty rounds make up the rest.
        const RuleId id = add_rule(out_.rules[task.rule].name, min == 0);
        out_.rules[id].is_counted = true;
        out_.rules[id].min_count = min;
        out_.rules[id].max_count = expr.c;
        const PositionId head = out_.rules[id].start;
        const PositionId leave = add(id), enter = add(id), body = add(id), end = add(id);
        set_split(head, {leave, enter});
        set_step(leave, PositionKind::at_least, 0, 0, end);
        set_step(enter, PositionKind::count, 0, 0, body);
        out_.positions[end].kind = PositionKind::end;
        tasks_.push_back({expr.a, body, head, id});
        return id;
    }

    const Expressions& expressions_;
    std::vector<bool> nullable_;
    std::vector<RuleId> rule_of_;
    std::vector<Task> tasks_;
    Grammar out_;
};

}  // namespace

Result<Grammar> lower(const Expressions& expressions, RuleId root) {
    return Lowering(expressions).run(root);
}

}  // namespace hokku::constraint
