// SPDX-License-Identifier: Apache-2.0
// Grammar: the compiled form that texts are matched against. Each rule is a small automaton over
// bytes whose positions may call other rules; a repetition with bounds is a rule of its own with a
// counter.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "constraint/grammar/expressions.h"
#include "hokku/result.h"

namespace hokku::constraint {

using PositionId = uint32_t;

inline constexpr size_t kMaxPositions = 2'000'000;

enum class PositionKind : uint8_t {
    dead,      ///< Nothing matches from here.
    split,     ///< Goes on at each of targets[first, first + num).
    bytes,     ///< Consumes one byte by edges[first, first + num), ascending and disjoint.
    token,     ///< Consumes the whole token `first`; with num = 1 any text token but that.
    call,      ///< Matches rule `first`, then goes on at `next`.
    count,     ///< Adds one to the rule's counter, unless it is at the maximum.
    at_least,  ///< Passes when the rule's counter has reached the minimum.
    end,       ///< The rule is matched.
};

struct Position {
    PositionKind kind = PositionKind::dead;
    uint32_t first = 0, num = 0;
    PositionId next = 0;
    RuleId rule = 0;  ///< The rule whose automaton this belongs to.
};

struct ByteEdge {
    uint8_t first = 0, last = 0;
    PositionId next = 0;
};

struct Rule {
    std::string name;
    PositionId start = 0;
    bool is_nullable = false;  ///< Matches the empty text.
    /// A rule comes before the rules that it can call before it has consumed anything.
    uint32_t rank = 0;
    /// Bounds of the counter; of use only in the rules of bounded repetitions.
    uint32_t min_count = 0, max_count = kUnbounded;
    bool is_counted = false;
};

/// Invariants: every position that can be reached leads to the end of its rule; no rule calls
/// itself before it has consumed something.
///
/// Threads: immutable; safe from any thread.
struct Grammar {
    std::vector<Rule> rules;
    std::vector<Position> positions;
    std::vector<PositionId> targets;
    std::vector<ByteEdge> edges;
    RuleId root = 0;
    /// Bytes that no position tells apart share a class.
    std::array<uint8_t, 256> byte_class{};
    std::vector<uint8_t> class_byte;  ///< One byte of each class.
};

/// Compiles the trees below `root`.
///
/// Errors : bad_format naming the rule for left recursion and for a root that no text can match;
///          limit_exceeded for too large a grammar.
/// Cost   : linear in the trees.
Result<std::shared_ptr<const Grammar>> compile_grammar(const Expressions& expressions, RuleId root);

}  // namespace hokku::constraint
