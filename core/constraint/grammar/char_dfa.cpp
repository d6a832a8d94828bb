// SPDX-License-Identifier: Apache-2.0
#include "constraint/grammar/char_dfa.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/try.h"
#include "base/utf8.h"

namespace hokku::constraint {

namespace {

Error too_large() {
    return {ErrorCode::limit_exceeded, "a combination of patterns and lengths is too large", "",
            fmt::format("an automaton of at most {} states", CharDfa::kMaxStates)};
}

void spend(uint64_t& work_left, uint64_t amount) {
    work_left -= std::min(work_left, amount);
}

using StateSet = std::vector<uint32_t>;

constexpr size_t kMaxNfaStates = 2 * CharDfa::kMaxStates;

/// The automaton of an expression with steps that consume nothing.
struct Nfa {
    struct State {
        std::vector<uint32_t> free;  ///< Reached without a character.
        const CharSet* chars = nullptr;
        uint32_t next = 0;  ///< Reached with a character of the set.
    };
    std::vector<State> states;
    uint32_t add() {
        states.emplace_back();
        return static_cast<uint32_t>(states.size() - 1);
    }
};

struct Task {
    ExprId expr;
    uint32_t start, next;
};

/// A part of a chain: at the new state the expression has matched.
void chain(Nfa& nfa, std::vector<Task>& tasks, uint32_t& at, ExprId expr) {
    const uint32_t next = nfa.add();
    tasks.push_back({expr, at, next});
    at = next;
}

Result<void> add_repeat(Nfa& nfa, std::vector<Task>& tasks, const Task& task, const Expr& expr) {
    const uint32_t num_copies = expr.c == kUnbounded ? expr.b : expr.c;
    if (num_copies > kMaxNfaStates) return too_large();
    uint32_t at = task.start;
    if (num_copies == 0) {
        // The loop comes back to a state of its own: start may have other ways out.
        at = nfa.add();
        nfa.states[task.start].free.push_back(at);
    }
    for (uint32_t i = 0; i < num_copies; ++i) {
        if (i >= expr.b) nfa.states[at].free.push_back(task.next);
        chain(nfa, tasks, at, expr.a);
        if (nfa.states.size() > kMaxNfaStates) return too_large();
    }
    nfa.states[at].free.push_back(task.next);
    if (expr.c == kUnbounded) {
        const uint32_t loop = nfa.add();
        nfa.states[at].free.push_back(loop);
        tasks.push_back({expr.a, loop, at});
    }
    return {};
}

/// State 0 is the start, state 1 the end.
Result<Nfa> build_nfa(const Expressions& expressions, ExprId root) {
    Nfa nfa;
    nfa.add();
    nfa.add();
    std::vector<Task> tasks{{root, 0, 1}};
    while (!tasks.empty()) {
        if (nfa.states.size() > kMaxNfaStates) return too_large();
        const Task task = tasks.back();
        tasks.pop_back();
        const Expr& expr = expressions[task.expr];
        uint32_t at = task.start;
        switch (expr.kind) {
            case ExprKind::never:
                break;
            case ExprKind::empty:
                nfa.states[at].free.push_back(task.next);
                break;
            case ExprKind::chars:
                // Each task has a start of its own, but for the free steps out of it.
                nfa.states[at].chars = &expressions.char_set(task.expr);
                nfa.states[at].next = task.next;
                break;
            case ExprKind::sequence:
                for (const ExprId part : expressions.children(task.expr))
                    chain(nfa, tasks, at, part);
                nfa.states[at].free.push_back(task.next);
                break;
            case ExprKind::alternatives:
                for (const ExprId option : expressions.children(task.expr)) {
                    const uint32_t start = nfa.add();
                    nfa.states[at].free.push_back(start);
                    tasks.push_back({option, start, task.next});
                }
                break;
            case ExprKind::repeat:
                HOKKU_CHECK(add_repeat(nfa, tasks, task, expr));
                break;
            default:
                return Error{ErrorCode::unsupported, "not an expression of characters", "", ""};
        }
    }
    return nfa;
}

void close_over_free(const Nfa& nfa, StateSet& set) {
    std::vector<uint32_t> todo = set;
    std::sort(set.begin(), set.end());
    std::vector<bool> seen(nfa.states.size(), false);
    for (const uint32_t state : set) seen[state] = true;
    while (!todo.empty()) {
        const uint32_t state = todo.back();
        todo.pop_back();
        for (const uint32_t next : nfa.states[state].free) {
            if (seen[next]) continue;
            seen[next] = true;
            set.push_back(next);
            todo.push_back(next);
        }
    }
    // Only what consumes, or is the end, tells sets apart.
    set.erase(std::remove_if(
                  set.begin(), set.end(),
                  [&](uint32_t state) { return state != 1 && nfa.states[state].chars == nullptr; }),
              set.end());
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
}

}  // namespace

/// Numbers the states of an automaton under construction by what they stand for.
class DfaBuilder {
  public:
    template <class Key>
    static uint32_t number(std::map<Key, uint32_t>& known, std::vector<Key>& keys, CharDfa& dfa,
                           const Key& key) {
        const auto [at, is_new] = known.try_emplace(key, static_cast<uint32_t>(keys.size()));
        if (is_new) {
            keys.push_back(key);
            dfa.states_.emplace_back();
        }
        return at->second;
    }
    static void add_edge(CharDfa& dfa, uint32_t from, CharRange chars, uint32_t to) {
        auto& edges = dfa.states_[from].edges;
        if (!edges.empty() && edges.back().next == to && edges.back().chars.last + 1 == chars.first)
            edges.back().chars.last = chars.last;
        else
            edges.push_back({chars, to});
    }
};

Result<CharDfa> CharDfa::of(const Expressions& expressions, ExprId root, uint64_t& work_left) {
    HOKKU_TRY(const Nfa nfa, build_nfa(expressions, root));
    CharDfa dfa;
    std::map<StateSet, uint32_t> known;
    std::vector<StateSet> sets;
    StateSet start{0};
    close_over_free(nfa, start);
    DfaBuilder::number(known, sets, dfa, start);
    size_t num_edges = 0;
    for (uint32_t i = 0; i < sets.size(); ++i) {
        const StateSet set = sets[i];
        // The places where a range of some member begins or ends.
        std::vector<char32_t> cuts;
        for (const uint32_t state : set) {
            if (state == 1) dfa.states_[i].accepts = true;
            if (nfa.states[state].chars == nullptr) continue;
            for (const CharRange& range : nfa.states[state].chars->ranges()) {
                cuts.push_back(range.first);
                cuts.push_back(range.last + 1);
            }
        }
        std::sort(cuts.begin(), cuts.end());
        cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
        for (size_t cut = 0; cut + 1 < cuts.size(); ++cut) {
            StateSet next;
            for (const uint32_t state : set)
                if (nfa.states[state].chars != nullptr &&
                    nfa.states[state].chars->contains(cuts[cut]))
                    next.push_back(nfa.states[state].next);
            spend(work_left, set.size() + nfa.states.size() / 8);
            if (next.empty()) continue;
            close_over_free(nfa, next);
            const uint32_t to = DfaBuilder::number(known, sets, dfa, next);
            DfaBuilder::add_edge(dfa, i, {cuts[cut], cuts[cut + 1] - 1}, to);
        }
        num_edges += dfa.states_[i].edges.size();
        if (sets.size() > kMaxStates || num_edges > kMaxEdges || work_left == 0) return too_large();
    }
    dfa.trim();
    return dfa;
}

Result<CharDfa> CharDfa::of_length(uint32_t min, uint32_t max) {
    const uint32_t num_steps = max == kUnbounded ? min : max;
    if (num_steps >= kMaxStates) return too_large();
    CharDfa dfa;
    dfa.states_.resize(num_steps + size_t{1});
    for (uint32_t i = 0; i <= num_steps; ++i) {
        dfa.states_[i].accepts = i >= min;
        if (i < num_steps)
            dfa.states_[i].edges.push_back({{0, kMaxCodePoint}, i + 1});
        else if (max == kUnbounded)
            dfa.states_[i].edges.push_back({{0, kMaxCodePoint}, i});
    }
    return dfa;
}

CharDfa CharDfa::of_words(const std::vector<std::string>& words) {
    CharDfa dfa;
    dfa.states_.emplace_back();
    for (const std::string& word : words) {
        uint32_t at = 0;
        for (size_t pos = 0; pos < word.size();) {
            const Utf8Char c = decode_utf8(word, pos);
            pos += c.num_bytes;
            auto& edges = dfa.states_[at].edges;
            auto edge = std::lower_bound(
                edges.begin(), edges.end(), c.code_point,
                [](const Edge& one, char32_t value) { return one.chars.first < value; });
            if (edge != edges.end() && edge->chars.first == c.code_point) {
                at = edge->next;
                continue;
            }
            const auto next = static_cast<uint32_t>(dfa.states_.size());
            edges.insert(edge, {{c.code_point, c.code_point}, next});
            dfa.states_.emplace_back();
            at = next;
        }
        dfa.states_[at].accepts = true;
    }
    return dfa;
}

CharDfa CharDfa::of_anything() {
    CharDfa dfa;
    dfa.states_.push_back({true, {{{0, kMaxCodePoint}, 0}}});
    return dfa;
}

Result<CharDfa> CharDfa::intersected(const CharDfa& other, uint64_t& work_left) const {
    using Pair = std::pair<uint32_t, uint32_t>;
    CharDfa dfa;
    std::map<Pair, uint32_t> known;
    std::vector<Pair> pairs;
    DfaBuilder::number(known, pairs, dfa, Pair{0, 0});
    size_t num_edges = 0;
    for (uint32_t i = 0; i < pairs.size(); ++i) {
        const State& a = states_[pairs[i].first];
        const State& b = other.states_[pairs[i].second];
        dfa.states_[i].accepts = a.accepts && b.accepts;
        auto from_a = a.edges.begin();
        auto from_b = b.edges.begin();
        while (from_a != a.edges.end() && from_b != b.edges.end()) {
            const CharRange common{std::max(from_a->chars.first, from_b->chars.first),
                                   std::min(from_a->chars.last, from_b->chars.last)};
            if (common.first <= common.last) {
                const uint32_t to =
                    DfaBuilder::number(known, pairs, dfa, Pair{from_a->next, from_b->next});
                DfaBuilder::add_edge(dfa, i, common, to);
            }
            (from_a->chars.last < from_b->chars.last) ? ++from_a : ++from_b;
        }
        num_edges += dfa.states_[i].edges.size();
        spend(work_left, a.edges.size() + b.edges.size() + 1);
        if (pairs.size() > kMaxStates || num_edges > kMaxEdges || work_left == 0)
            return too_large();
    }
    dfa.trim();
    return dfa;
}

CharDfa CharDfa::complement() const {
    CharDfa dfa = *this;
    const auto rest = static_cast<uint32_t>(dfa.states_.size());
    for (State& state : dfa.states_) {
        state.accepts = !state.accepts;
        std::vector<Edge> edges;
        char32_t next = 0;
        for (const Edge& edge : state.edges) {
            if (edge.chars.first > next) edges.push_back({{next, edge.chars.first - 1}, rest});
            edges.push_back(edge);
            next = edge.chars.last + 1;
        }
        if (next <= kMaxCodePoint) edges.push_back({{next, kMaxCodePoint}, rest});
        state.edges = std::move(edges);
    }
    dfa.states_.push_back({true, {{{0, kMaxCodePoint}, rest}}});
    dfa.trim();
    return dfa;
}

/// Removes states from which nothing is accepted.
void CharDfa::trim() {
    std::vector<std::vector<uint32_t>> before(states_.size());
    std::vector<bool> useful(states_.size(), false);
    std::vector<uint32_t> todo;
    for (uint32_t i = 0; i < states_.size(); ++i) {
        for (const Edge& edge : states_[i].edges) before[edge.next].push_back(i);
        if (states_[i].accepts) todo.push_back(i);
    }
    while (!todo.empty()) {
        const uint32_t state = todo.back();
        todo.pop_back();
        if (useful[state]) continue;
        useful[state] = true;
        todo.insert(todo.end(), before[state].begin(), before[state].end());
    }
    useful[0] = true;  // The start stays, even where it accepts nothing.
    std::vector<uint32_t> new_ids(states_.size(), 0);
    uint32_t num_kept = 0;
    for (uint32_t i = 0; i < states_.size(); ++i)
        if (useful[i]) new_ids[i] = num_kept++;
    std::vector<State> kept;
    for (uint32_t i = 0; i < states_.size(); ++i) {
        if (!useful[i]) continue;
        State state;
        state.accepts = states_[i].accepts;
        for (const Edge& edge : states_[i].edges)
            if (useful[edge.next]) state.edges.push_back({edge.chars, new_ids[edge.next]});
        kept.push_back(std::move(state));
    }
    states_ = std::move(kept);
}

bool CharDfa::accepts(std::string_view text) const {
    uint32_t at = 0;
    for (size_t pos = 0; pos < text.size();) {
        const Utf8Char c = decode_utf8(text, pos);
        pos += c.num_bytes;
        const auto& edges = states_[at].edges;
        const auto edge = std::lower_bound(
            edges.begin(), edges.end(), c.code_point,
            [](const Edge& one, char32_t value) { return one.chars.last < value; });
        if (!c.valid || edge == edges.end() || edge->chars.first > c.code_point) return false;
        at = edge->next;
    }
    return states_[at].accepts;
}

bool CharDfa::is_empty() const {
    return std::none_of(states_.begin(), states_.end(),
                        [](const State& state) { return state.accepts; });
}

ExprId CharDfa::to_expression(Expressions& out, const std::string& name,
                              const std::function<ExprId(const CharSet&)>& make_char) const {
    std::vector<RuleId> rules;
    for (size_t i = 0; i < states_.size(); ++i) rules.push_back(out.add_rule(name));
    for (size_t i = 0; i < states_.size(); ++i) {
        std::map<uint32_t, std::vector<CharRange>> by_next;
        for (const Edge& edge : states_[i].edges) by_next[edge.next].push_back(edge.chars);
        std::vector<ExprId> options;
        for (auto& [next, ranges] : by_next)
            options.push_back(
                out.sequence({make_char(CharSet(std::move(ranges))), out.rule(rules[next])}));
        if (states_[i].accepts) options.push_back(out.empty());
        out.set_body(rules[i], out.alternatives(options));
    }
    return out.rule(rules.front());
}

ExprId copy_with_chars(const Expressions& from, ExprId root, Expressions& to,
                       const std::function<ExprId(const CharSet&)>& make_char) {
    std::vector<ExprId> copies(root + size_t{1});
    std::vector<bool> needed(root + size_t{1}, false);
    needed[root] = true;
    for (ExprId id = root + 1; id-- > 0;) {
        if (!needed[id]) continue;
        const Expr& expr = from[id];
        if (expr.kind == ExprKind::sequence || expr.kind == ExprKind::alternatives)
            for (const ExprId child : from.children(id)) needed[child] = true;
        if (expr.kind == ExprKind::repeat) needed[expr.a] = true;
    }
    const auto children_of = [&](ExprId id) {
        std::vector<ExprId> children;
        for (const ExprId child : from.children(id)) children.push_back(copies[child]);
        return children;
    };
    for (ExprId id = 0; id <= root; ++id) {
        if (!needed[id]) continue;
        const Expr& expr = from[id];
        switch (expr.kind) {
            case ExprKind::empty:
                copies[id] = to.empty();
                break;
            case ExprKind::chars:
                copies[id] = make_char(from.char_set(id));
                break;
            case ExprKind::sequence:
                copies[id] = to.sequence(children_of(id));
                break;
            case ExprKind::alternatives:
                copies[id] = to.alternatives(children_of(id));
                break;
            case ExprKind::repeat:
                copies[id] = to.repeat(copies[expr.a], expr.b, expr.c);
                break;
            default:
                copies[id] = to.never();
        }
    }
    return copies[root];
}

}  // namespace hokku::constraint
