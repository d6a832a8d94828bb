// SPDX-License-Identifier: Apache-2.0
#include "constraint/grammar/expressions.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace hokku::constraint {

namespace {

uint32_t index_of(size_t size) {
    return static_cast<uint32_t>(size);
}

struct Bounds {
    uint32_t min, max;
};

std::optional<uint32_t> multiply(uint32_t a, uint32_t b) {
    if (a == 0 || b == 0) return 0;
    if (a == kUnbounded || b == kUnbounded) return kUnbounded;
    const uint64_t product = uint64_t{a} * b;
    if (product > kMaxRepeat) return std::nullopt;
    return static_cast<uint32_t>(product);
}

/// The bounds of (X{inner}){outer} as one repetition of X, where the counts have no gaps: k rounds
/// give k*inner.min .. k*inner.max, and the next round must begin at most one above.
std::optional<Bounds> fold(Bounds inner, Bounds outer) {
    bool has_gap = false;
    if (outer.min != outer.max) {
        const uint64_t rounds = std::max(outer.min, 1u);
        if (inner.max != kUnbounded)
            has_gap = rounds * (uint64_t{inner.max} - inner.min) + 1 < inner.min;
        if (outer.min == 0 && inner.min > 1) has_gap = true;
    }
    const auto min = multiply(inner.min, outer.min);
    const auto max = multiply(inner.max, outer.max);
    if (has_gap || !min || !max) return std::nullopt;
    return Bounds{*min, *max};
}

}  // namespace

ExprId Expressions::add(Expr expr) {
    nodes_.push_back(expr);
    return index_of(nodes_.size() - 1);
}

ExprId Expressions::add_parent(ExprKind kind, const std::vector<ExprId>& children) {
    const uint32_t first = index_of(children_.size());
    children_.insert(children_.end(), children.begin(), children.end());
    return add({kind, first, index_of(children.size()), 0});
}

std::span<const ExprId> Expressions::children(ExprId id) const {
    return std::span(children_).subspan(nodes_[id].a, nodes_[id].b);
}

ExprId Expressions::literal(std::string_view bytes) {
    if (bytes.empty()) return empty();
    texts_.emplace_back(bytes);
    return add({ExprKind::literal, index_of(texts_.size() - 1), 0, 0});
}

ExprId Expressions::chars(CharSet set) {
    if (set.empty()) return never();
    sets_.push_back(std::move(set));
    return add({ExprKind::chars, index_of(sets_.size() - 1), 0, 0});
}

ExprId Expressions::choice(std::vector<std::string> literals) {
    if (literals.empty()) return never();
    std::sort(literals.begin(), literals.end());
    literals.erase(std::unique(literals.begin(), literals.end()), literals.end());
    if (literals.size() == 1) return literal(literals.front());
    choices_.push_back(std::move(literals));
    return add({ExprKind::choice, index_of(choices_.size() - 1), 0, 0});
}

ExprId Expressions::sequence(std::span<const ExprId> parts) {
    std::vector<ExprId> kept;
    for (const ExprId part : parts) {
        if (nodes_[part].kind == ExprKind::never) return part;
        if (nodes_[part].kind != ExprKind::empty) kept.push_back(part);
    }
    if (kept.empty()) return empty();
    return kept.size() == 1 ? kept.front() : add_parent(ExprKind::sequence, kept);
}

ExprId Expressions::alternatives(std::span<const ExprId> options) {
    std::vector<ExprId> kept;
    std::vector<CharRange> ranges;
    std::vector<std::string> literals;
    const auto take = [&](ExprId id) {
        switch (nodes_[id].kind) {
            case ExprKind::never:
                break;
            case ExprKind::empty:
                literals.emplace_back();
                break;
            case ExprKind::literal:
                literals.push_back(text(id));
                break;
            case ExprKind::choice:
                literals.insert(literals.end(), choices(id).begin(), choices(id).end());
                break;
            case ExprKind::chars:
                ranges.insert(ranges.end(), char_set(id).ranges().begin(),
                              char_set(id).ranges().end());
                break;
            default:
                kept.push_back(id);
        }
    };
    for (const ExprId option : options) {
        if (nodes_[option].kind == ExprKind::alternatives) {
            for (const ExprId child : children(option)) take(child);
        } else {
            take(option);
        }
    }
    if (!ranges.empty()) kept.push_back(chars(CharSet(std::move(ranges))));
    if (!literals.empty()) kept.push_back(choice(std::move(literals)));
    if (kept.empty()) return never();
    return kept.size() == 1 ? kept.front() : add_parent(ExprKind::alternatives, kept);
}

ExprId Expressions::repeat(ExprId child, uint32_t min, uint32_t max) {
    for (;;) {
        const Expr inner = nodes_[child];
        if (max == 0 || inner.kind == ExprKind::empty) return empty();
        if (inner.kind == ExprKind::never) return min == 0 ? empty() : child;
        if (min == 1 && max == 1) return child;
        if (inner.kind != ExprKind::repeat) break;
        const auto bounds = fold({inner.b, inner.c}, {min, max});
        if (!bounds) break;
        child = inner.a;
        min = bounds->min;
        max = bounds->max;
    }
    return add({ExprKind::repeat, child, min, max});
}

void Expressions::explain_never(std::string why) {
    constexpr size_t kMostReasons = 3;
    if (reasons_.size() == kMostReasons ||
        std::find(reasons_.begin(), reasons_.end(), why) != reasons_.end())
        return;
    reasons_.push_back(std::move(why));
}

RuleId Expressions::add_rule(std::string name) {
    rules_.push_back({std::move(name), 0});
    return index_of(rules_.size() - 1);
}

}  // namespace hokku::constraint
