// SPDX-License-Identifier: Apache-2.0
#include "constraint/grammar/left_calls.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace hokku::constraint {

namespace {

/// The rules called from the start of a rule before anything is consumed.
std::vector<RuleId> left_calls(const Grammar& grammar, RuleId rule,
                               std::vector<uint32_t>& seen_by) {
    std::vector<RuleId> called;
    std::vector<PositionId> todo{grammar.rules[rule].start};
    while (!todo.empty()) {
        const PositionId id = todo.back();
        todo.pop_back();
        if (seen_by[id] == rule + 1) continue;
        seen_by[id] = rule + 1;
        const Position& position = grammar.positions[id];
        switch (position.kind) {
            case PositionKind::split:
                for (uint32_t i = 0; i < position.num; ++i)
                    todo.push_back(grammar.targets[position.first + i]);
                break;
            case PositionKind::call:
                called.push_back(position.first);
                if (grammar.rules[position.first].is_nullable) todo.push_back(position.next);
                break;
            case PositionKind::count:
                todo.push_back(position.next);
                break;
            default:
                break;  // at_least leads to the end of the rule only.
        }
    }
    std::sort(called.begin(), called.end());
    called.erase(std::unique(called.begin(), called.end()), called.end());
    return called;
}

struct Visit {
    RuleId rule;
    std::vector<RuleId> called;
    size_t next = 0;
};

Error left_recursion(const Grammar& grammar, const std::vector<Visit>& path, RuleId rule) {
    auto first = std::find_if(path.begin(), path.end(),
                              [rule](const Visit& visit) { return visit.rule == rule; });
    // A repetition is a rule too, with the name of the rule that it stands in.
    std::string ring;
    const std::string* last = nullptr;
    size_t num_shown = 0;
    for (auto at = first; at != path.end() && num_shown < 8; ++at) {
        const std::string& name = grammar.rules[at->rule].name;
        if (last != nullptr && *last == name) continue;
        ring += to_printable(name) + " -> ";
        last = &name;
        ++num_shown;
    }
    if (num_shown == 8) ring += "... -> ";
    const std::string name = to_printable(grammar.rules[rule].name);
    return Error{ErrorCode::bad_format,
                 fmt::format("rule \"{}\" calls itself before it has matched anything", name),
                 ring + name, "a rule that first matches a character (no left recursion)"};
}

}  // namespace

Result<void> rank_rules(Grammar& grammar) {
    enum class State : uint8_t { fresh, open, done };
    std::vector<State> states(grammar.rules.size(), State::fresh);
    std::vector<uint32_t> seen_by(grammar.positions.size(), 0);
    auto rank = static_cast<uint32_t>(grammar.rules.size());
    std::vector<Visit> path;
    const auto open = [&](RuleId rule) {
        states[rule] = State::open;
        path.push_back({rule, left_calls(grammar, rule, seen_by), 0});
    };
    for (RuleId rule = 0; rule < grammar.rules.size(); ++rule) {
        if (states[rule] == State::fresh) open(rule);
        while (!path.empty()) {
            Visit& visit = path.back();
            if (visit.next == visit.called.size()) {
                states[visit.rule] = State::done;
                grammar.rules[visit.rule].rank = --rank;
                path.pop_back();
                continue;
            }
            const RuleId called = visit.called[visit.next++];
            if (states[called] == State::open) return left_recursion(grammar, path, called);
            if (states[called] == State::fresh) open(called);
        }
    }
    return {};
}

}  // namespace hokku::constraint
