// SPDX-License-Identifier: Apache-2.0
#include "constraint/grammar/productive.h"

#include <algorithm>

namespace hokku::constraint {

namespace {

/// Calls visit(id) for each position that `position` can go on at (for a call: after it).
template <class Visit>
void each_next(const Grammar& grammar, const Position& position, const Visit& visit) {
    switch (position.kind) {
        case PositionKind::split:
            for (uint32_t i = 0; i < position.num; ++i) visit(grammar.targets[position.first + i]);
            break;
        case PositionKind::bytes:
            for (uint32_t i = 0; i < position.num; ++i)
                visit(grammar.edges[position.first + i].next);
            break;
        case PositionKind::token:
        case PositionKind::call:
        case PositionKind::count:
        case PositionKind::at_least:
            visit(position.next);
            break;
        case PositionKind::dead:
        case PositionKind::end:
            break;
    }
}

/// Lists of positions, one per key, in two flat arrays.
class PositionLists {
  public:
    explicit PositionLists(size_t num_keys) : begin_(num_keys + 1, 0) {}
    void count(uint32_t key) { ++begin_[key + 1]; }
    void end_counting() {
        for (size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
        items_.resize(begin_.back());
        fill_.assign(begin_.begin(), begin_.end() - 1);
    }
    void put(uint32_t key, PositionId item) { items_[fill_[key]++] = item; }
    template <class Visit>
    void each(uint32_t key, const Visit& visit) const {
        for (uint32_t i = begin_[key]; i < begin_[key + 1]; ++i) visit(items_[i]);
    }

  private:
    std::vector<uint32_t> begin_, fill_;
    std::vector<PositionId> items_;
};

/// A repetition whose rounds must match something: it ends where a round can, which leads back to
/// its start; the way from there to its end is open only after enough of them.
bool needs_rounds(const Rule& rule) {
    return rule.is_counted && rule.min_count > 0;
}

std::vector<bool> find_productive(const Grammar& grammar) {
    PositionLists before(grammar.positions.size());
    PositionLists callers(grammar.rules.size());
    const auto each_link = [&grammar](const auto& on_next, const auto& on_call) {
        for (PositionId id = 0; id < grammar.positions.size(); ++id) {
            const Position& position = grammar.positions[id];
            each_next(grammar, position, [&](PositionId next) { on_next(next, id); });
            if (position.kind == PositionKind::call) on_call(position.first, id);
        }
    };
    each_link([&](PositionId next, PositionId) { before.count(next); },
              [&](RuleId rule, PositionId) { callers.count(rule); });
    before.end_counting();
    callers.end_counting();
    each_link([&](PositionId next, PositionId id) { before.put(next, id); },
              [&](RuleId rule, PositionId id) { callers.put(rule, id); });

    std::vector<bool> productive(grammar.positions.size(), false);
    std::vector<bool> rule_done(grammar.rules.size(), false);
    std::vector<PositionId> found;
    const auto mark = [&](PositionId id) {
        if (productive[id]) return;
        productive[id] = true;
        found.push_back(id);
    };
    for (PositionId id = 0; id < grammar.positions.size(); ++id)
        if (grammar.positions[id].kind == PositionKind::end) mark(id);
    for (const Rule& rule : grammar.rules)
        if (needs_rounds(rule)) mark(rule.start);
    while (!found.empty()) {
        const PositionId id = found.back();
        found.pop_back();
        before.each(id, [&](PositionId earlier) {
            const Position& position = grammar.positions[earlier];
            if (position.kind != PositionKind::call || rule_done[position.first]) mark(earlier);
        });
        const RuleId rule = grammar.positions[id].rule;
        const bool is_way_through = needs_rounds(grammar.rules[rule])
                                        ? grammar.positions[id].kind == PositionKind::count
                                        : grammar.rules[rule].start == id;
        if (!is_way_through) continue;
        rule_done[rule] = true;
        callers.each(rule, [&](PositionId call) {
            if (productive[grammar.positions[call].next]) mark(call);
        });
    }
    return productive;
}

/// The position that a chain of splits with one target leads to.
PositionId skip_single(const Grammar& grammar, PositionId id) {
    // A ring of such splits would be unproductive, and that has been removed.
    while (grammar.positions[id].kind == PositionKind::split && grammar.positions[id].num == 1)
        id = grammar.targets[grammar.positions[id].first];
    return id;
}

}  // namespace

void remove_unproductive(Grammar& grammar) {
    const std::vector<bool> productive = find_productive(grammar);
    for (PositionId id = 0; id < grammar.positions.size(); ++id) {
        Position& position = grammar.positions[id];
        if (!productive[id]) {
            position.kind = PositionKind::dead;
        } else if (position.kind == PositionKind::split) {
            const auto begin = grammar.targets.begin() + position.first;
            const auto end = std::remove_if(begin, begin + position.num,
                                            [&](PositionId to) { return !productive[to]; });
            position.num = static_cast<uint32_t>(end - begin);
        } else if (position.kind == PositionKind::bytes) {
            const auto begin = grammar.edges.begin() + position.first;
            const auto end = std::remove_if(begin, begin + position.num, [&](const ByteEdge& edge) {
                return !productive[edge.next];
            });
            position.num = static_cast<uint32_t>(end - begin);
        }
    }
    for (Position& position : grammar.positions)
        if (position.kind != PositionKind::dead)
            position.next = skip_single(grammar, position.next);
    for (PositionId id = 0; id < grammar.positions.size(); ++id) {
        const Position& position = grammar.positions[id];
        if (position.kind == PositionKind::split)
            for (uint32_t i = 0; i < position.num; ++i) {
                PositionId& target = grammar.targets[position.first + i];
                target = skip_single(grammar, target);
            }
        if (position.kind == PositionKind::bytes)
            for (uint32_t i = 0; i < position.num; ++i) {
                PositionId& next = grammar.edges[position.first + i].next;
                next = skip_single(grammar, next);
            }
    }
    for (Rule& rule : grammar.rules) rule.start = skip_single(grammar, rule.start);
}

}  // namespace hokku::constraint
