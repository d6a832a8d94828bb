// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "base/try.h"
#include "base/utf8.h"
#include "constraint/grammar_constraint.h"
#include "constraint/language/gbnf_parser.h"
#include "constraint/language/json_text.h"
#include "constraint/language/regex_parser.h"
#include "constraint/required_words.h"
#include "constraint/schema/json_schema.h"
#include "hokku/constraint.h"

namespace hokku {

namespace {

using constraint::Expressions;
using constraint::ExprId;
using constraint::RuleId;

/// Some editors begin a file with it.
std::string_view without_byte_order_mark(std::string_view text) {
    constexpr std::string_view kMark = "\xEF\xBB\xBF";
    return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

Result<ExprId> parse_choice(const ConstraintSpec& spec, Expressions& out) {
    if (spec.words.empty()) return Error{ErrorCode::bad_argument, "no choices", "", "at least one"};
    for (const std::string& word : spec.words)
        if (!is_valid_utf8(word))
            return Error{ErrorCode::bad_argument, "a choice is not valid UTF-8",
                         to_printable(word, 40), "text"};
    return out.choice(spec.words);
}

/// The whole text as an expression, for what is no grammar with rules of its own.
Result<ExprId> parse_text(const ConstraintSpec& spec, Expressions& out) {
    switch (spec.kind) {
        case ConstraintKind::json:
            return constraint::JsonText(out).any_value();
        case ConstraintKind::regex:
            return constraint::parse_regex(spec.text, constraint::RegexMatch::whole, out);
        case ConstraintKind::choice:
            return parse_choice(spec, out);
        case ConstraintKind::json_schema:
            return constraint::parse_json_schema(without_byte_order_mark(spec.text), out);
        case ConstraintKind::gbnf:
        case ConstraintKind::required_words:
            break;
    }
    return Error{ErrorCode::bad_argument, "an unknown kind of constraint", "", ""};
}

Result<RuleId> parse(const ConstraintSpec& spec, const ConstraintVocabulary* vocabulary,
                     Expressions& out) {
    if (spec.kind == ConstraintKind::gbnf)
        return constraint::parse_gbnf(without_byte_order_mark(spec.text), vocabulary, out);
    const RuleId root = out.add_rule("text");
    HOKKU_TRY(const ExprId body, parse_text(spec, out));
    out.set_body(root, body);
    return root;
}

/// The parsers name what they do not follow.
Error in_words(Error error) {
    if (error.code == ErrorCode::unsupported) error.what += " is not supported";
    return error;
}

Result<std::shared_ptr<const constraint::Grammar>> make_grammar(
    const ConstraintSpec& spec, const ConstraintVocabulary* vocabulary) {
    Expressions expressions;
    const Result<RuleId> root = parse(spec, vocabulary, expressions);
    if (!root.ok()) return in_words(root.error());
    return constraint::compile_grammar(expressions, *root);
}

}  // namespace

Result<std::unique_ptr<Constraint>> make_constraint(
    const ConstraintSpec& spec, std::shared_ptr<const ConstraintVocabulary> vocabulary) {
    if (spec.kind == ConstraintKind::required_words)
        return constraint::RequiredWords::create(spec.words, spec.ignore_case,
                                                 std::move(vocabulary));
    HOKKU_TRY(auto grammar, make_grammar(spec, vocabulary.get()));
    return constraint::GrammarConstraint::create(std::move(grammar), std::move(vocabulary));
}

Result<void> check_constraint(const ConstraintSpec& spec) {
    if (spec.kind == ConstraintKind::required_words) {
        const auto words = constraint::RequiredWords::create(spec.words, spec.ignore_case, nullptr);
        return words.ok() ? Result<void>() : words.error();
    }
    const auto grammar = make_grammar(spec, nullptr);
    // All that a grammar may hold and cannot be told without a vocabulary are tokens by name.
    const bool names_token = spec.kind == ConstraintKind::gbnf && !grammar.ok() &&
                             grammar.error().code == ErrorCode::unsupported;
    return grammar.ok() || names_token ? Result<void>() : grammar.error();
}

}  // namespace hokku
