// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/try.h"
#include "base/utf8.h"
#include "constraint/grammar/grammar.h"
#include "constraint/grammar/left_calls.h"
#include "constraint/grammar/lower.h"
#include "constraint/grammar/productive.h"

namespace hokku::constraint {

namespace {

void set_byte_classes(Grammar& grammar) {
    std::array<bool, 257> begins{};
    begins[0] = true;
    for (const Position& position : grammar.positions) {
        if (position.kind != PositionKind::bytes) continue;
        for (uint32_t i = 0; i < position.num; ++i) {
            const ByteEdge& edge = grammar.edges[position.first + i];
            begins[edge.first] = begins[edge.last + size_t{1}] = true;
        }
    }
    grammar.class_byte.clear();
    for (size_t byte = 0; byte < 256; ++byte) {
        if (begins[byte]) grammar.class_byte.push_back(static_cast<uint8_t>(byte));
        grammar.byte_class[byte] = static_cast<uint8_t>(grammar.class_byte.size() - 1);
    }
}

}  // namespace

Result<std::shared_ptr<const Grammar>> compile_grammar(const Expressions& expressions,
                                                       RuleId root) {
    if (expressions.size() > kMaxExpressions)
        return Error{ErrorCode::limit_exceeded, "the grammar is too large",
                     fmt::format("{} expressions", expressions.size()),
                     fmt::format("at most {}", kMaxExpressions)};
    HOKKU_TRY(Grammar grammar, lower(expressions, root));
    HOKKU_CHECK(rank_rules(grammar));
    remove_unproductive(grammar);
    const Rule& rule = grammar.rules[grammar.root];
    if (grammar.positions[rule.start].kind == PositionKind::dead) {
        std::string why;
        for (const std::string& reason : expressions.reasons())
            why += (why.empty() ? "" : "; ") + reason;
        if (!why.empty())
            return Error{ErrorCode::bad_format, "no text can match this", why,
                         "a form that some text has"};
        return Error{ErrorCode::bad_format,
                     "no text can match rule \"" + to_printable(rule.name) + "\"", "",
                     "a way to end its recursion"};
    }
    set_byte_classes(grammar);
    return std::shared_ptr<const Grammar>(std::make_shared<Grammar>(std::move(grammar)));
}

}  // namespace hokku::constraint
