// SPDX-License-Identifier: Apache-2.0
// JsonText: the expressions of JSON: values, strings, numbers, white space.
#pragma once

#include <optional>
#include <string_view>

#include "constraint/grammar/expressions.h"

namespace hokku::constraint {

/// The expressions and rules are added to `out` when they are first asked for.
/// Source : RFC 8259. Narrower where a model could go on for ever: at most 40 blanks in a row, 16
///          digits before and after the point, two digits of exponent; no half of a surrogate pair.
class JsonText {
  public:
    explicit JsonText(Expressions& out) : out_(out) {}

    /// Between tokens: nothing, a space, or a line break with indentation.
    ExprId space();
    ExprId any_value();
    ExprId any_object();
    ExprId any_array();
    ExprId any_string();
    ExprId any_number();
    ExprId any_integer();
    ExprId boolean() { return out_.choice({"false", "true"}); }
    ExprId null() { return out_.literal("null"); }

    /// "{" content "}" or "[" content "]", the content not empty.
    ExprId enclosed(char open, ExprId content, char close);
    /// Empty object or array.
    ExprId empty_pair(char open, char close);
    ExprId comma() { return out_.sequence({out_.literal(","), space()}); }
    ExprId member(ExprId key, ExprId value) {
        return out_.sequence({key, out_.literal(":"), space(), value});
    }
    ExprId quoted(ExprId content) {
        return out_.sequence({out_.literal("\""), content, out_.literal("\"")});
    }

    /// One character inside a string in any spelling.
    ExprId any_char();
    /// One character of the set inside a string, in one spelling.
    ExprId char_of(const CharSet& set);
    /// Digits of a fraction with its point.
    ExprId fraction();

  private:
    template <class Make>
    ExprId rule(std::optional<RuleId>& known, std::string_view name, const Make& make);
    ExprId list_of(ExprId item);

    Expressions& out_;
    std::optional<RuleId> space_, value_, object_, array_, string_, number_, integer_;
};

/// A string as JSON spells it, with quotes. Needs valid UTF-8.
std::string json_quoted(std::string_view text);

}  // namespace hokku::constraint
