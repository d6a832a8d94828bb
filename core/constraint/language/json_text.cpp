// SPDX-License-Identifier: Apache-2.0
#include "constraint/language/json_text.h"

#include <fmt/format.h>

#include <string>

namespace hokku::constraint {

namespace {

constexpr uint32_t kMaxIndent = 40, kMaxDigits = 16, kMaxExponentDigits = 2;

/// Characters that stand for themselves inside a string.
CharSet plain_chars() {
    return CharSet({{0x20, '!'}, {'#', '['}, {']', kMaxCodePoint}});
}

/// The one spelling of a character that is not plain.
std::string escaped(char32_t c) {
    switch (c) {
        case '"':
            return "\\\"";
        case '\\':
            return "\\\\";
        case '\b':
            return "\\b";
        case '\f':
            return "\\f";
        case '\n':
            return "\\n";
        case '\r':
            return "\\r";
        case '\t':
            return "\\t";
        default:
            return fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
    }
}

}  // namespace

std::string json_quoted(std::string_view text) {
    std::string out = "\"";
    for (const char byte : text) {
        const auto c = static_cast<unsigned char>(byte);
        if (c < 0x20 || c == '"' || c == '\\') {
            out += escaped(c);
        } else {
            out += byte;
        }
    }
    return out + "\"";
}

/// A call of the rule, which is made when it is not known yet.
template <class Make>
ExprId JsonText::rule(std::optional<RuleId>& known, std::string_view name, const Make& make) {
    if (!known) {
        known = out_.add_rule(std::string(name));
        const ExprId body = make();  // May ask for this rule again.
        out_.set_body(*known, body);
    }
    return out_.rule(*known);
}

ExprId JsonText::space() {
    return rule(space_, "space", [this] {
        const ExprId blank = out_.chars(CharSet({{' ', ' '}, {'\t', '\t'}}));
        return out_.optional(out_.alternatives(
            {out_.literal(" "),
             out_.sequence({out_.literal("\n"), out_.repeat(blank, 0, kMaxIndent)})}));
    });
}

ExprId JsonText::any_value() {
    return rule(value_, "value", [this] {
        return out_.alternatives(
            {any_object(), any_array(), any_string(), any_number(), boolean(), null()});
    });
}

ExprId JsonText::enclosed(char open, ExprId content, char close) {
    return out_.sequence(
        {out_.literal({&open, 1}), space(), content, space(), out_.literal({&close, 1})});
}

ExprId JsonText::empty_pair(char open, char close) {
    return out_.sequence({out_.literal({&open, 1}), space(), out_.literal({&close, 1})});
}

ExprId JsonText::list_of(ExprId item) {
    return out_.sequence({item, out_.repeat(out_.sequence({comma(), item}), 0, kUnbounded)});
}

ExprId JsonText::any_object() {
    return rule(object_, "object", [this] {
        return out_.alternatives(
            {empty_pair('{', '}'), enclosed('{', list_of(member(any_string(), any_value())), '}')});
    });
}

ExprId JsonText::any_array() {
    return rule(array_, "array", [this] {
        return out_.alternatives({empty_pair('[', ']'), enclosed('[', list_of(any_value()), ']')});
    });
}

ExprId JsonText::any_string() {
    return rule(string_, "string", [this] {
        // The spellings stand here themselves: the rule then knows all that can follow a character.
        return quoted(out_.repeat(any_char(), 0, kUnbounded));
    });
}

ExprId JsonText::any_number() {
    return rule(number_, "number", [this] {
        const ExprId digit = out_.chars(CharSet({{'0', '9'}}));
        const ExprId exponent = out_.sequence({out_.chars(CharSet::of("eE")),
                                               out_.optional(out_.chars(CharSet::of("+-"))),
                                               out_.repeat(digit, 1, kMaxExponentDigits)});
        return out_.sequence({any_integer(), out_.optional(fraction()), out_.optional(exponent)});
    });
}

ExprId JsonText::any_integer() {
    return rule(integer_, "integer", [this] {
        const ExprId digit = out_.chars(CharSet({{'0', '9'}}));
        return out_.sequence(
            {out_.optional(out_.literal("-")),
             out_.alternatives(
                 {out_.literal("0"), out_.sequence({out_.chars(CharSet({{'1', '9'}})),
                                                    out_.repeat(digit, 0, kMaxDigits - 1)})})});
    });
}

ExprId JsonText::fraction() {
    return out_.sequence(
        {out_.literal("."), out_.repeat(out_.chars(CharSet({{'0', '9'}})), 1, kMaxDigits)});
}

ExprId JsonText::any_char() {
    const auto set = [this](std::string_view chars) { return out_.chars(CharSet::of(chars)); };
    const ExprId hex = set("0123456789abcdefABCDEF");
    const ExprId three = out_.repeat(hex, 3, 3), two = out_.repeat(hex, 2, 2);
    const ExprId d = set("dD");
    const ExprId unit = out_.alternatives(
        {out_.sequence({set("0123456789abcABCefEF"), three}),
         out_.sequence({d, set("01234567"), two}),
         out_.sequence({d, set("89abAB"), two, out_.literal("\\u"), d, set("cdefCDEF"), two})});
    return out_.alternatives(
        {out_.chars(plain_chars()),
         out_.sequence(
             {out_.literal("\\"),
              out_.alternatives({set("\"\\/bfnrt"), out_.sequence({out_.literal("u"), unit})})})});
}

ExprId JsonText::char_of(const CharSet& chars) {
    std::vector<ExprId> spellings{out_.chars(chars.intersected(plain_chars()))};
    std::vector<std::string> escapes;
    const CharSet others = chars.without(plain_chars());
    for (const CharRange& range : others.ranges())
        for (char32_t c = range.first; c <= range.last; ++c) escapes.push_back(escaped(c));
    spellings.push_back(out_.choice(std::move(escapes)));
    return out_.alternatives(spellings);
}

}  // namespace hokku::constraint
