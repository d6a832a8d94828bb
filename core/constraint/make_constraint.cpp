// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/try.h"
#include "constraint/grammar_constraint.h"
#include "constraint/language/gbnf_parser.h"
#include "hokku/constraint.h"

namespace hokku {

namespace {

using constraint::Expressions;
using constraint::RuleId;

Result<RuleId> parse(const ConstraintSpec& spec, const ConstraintVocabulary& vocabulary,
                     Expressions& out) {
    switch (spec.kind) {
        case ConstraintKind::gbnf:
            return constraint::parse_gbnf(spec.text, &vocabulary, out);
        default:
            return Error{ErrorCode::unsupported, "this kind of constraint is not built yet", "", "a grammar"};
    }
}

}  // namespace

Result<std::unique_ptr<Constraint>> make_constraint(
    const ConstraintSpec& spec, std::shared_ptr<const ConstraintVocabulary> vocabulary) {
    Expressions expressions;
    HOKKU_TRY(const RuleId root, parse(spec, *vocabulary, expressions));
    HOKKU_TRY(auto grammar, constraint::compile_grammar(expressions, root));
    return constraint::GrammarConstraint::create(std::move(grammar), std::move(vocabulary));
}

}  // namespace hokku
