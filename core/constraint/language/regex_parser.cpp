// SPDX-License-Identifier: Apache-2.0
#include "constraint/language/regex_parser.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/try.h"
#include "base/utf8.h"
#include "constraint/language/source_text.h"

namespace hokku::constraint {

namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

CharSet line_ends() {
    return CharSet({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}});
}

/// The set of \d, \w or \s.
CharSet named_set(char name) {
    if (name == 'd') return CharSet({{'0', '9'}});
    if (name == 'w') return CharSet({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});
    return CharSet({{'\t', '\r'},
                    {' ', ' '},
                    {0xA0, 0xA0},
                    {0x1680, 0x1680},
                    {0x2000, 0x200A},
                    {0x2028, 0x2029},
                    {0x202F, 0x202F},
                    {0x205F, 0x205F},
                    {0x3000, 0x3000},
                    {0xFEFF, 0xFEFF}});
}

class RegexParser {
  public:
    RegexParser(std::string_view pattern, RegexMatch match, Expressions& out)
        : source_(pattern, "pattern"), match_(match), out_(out) {}

    Result<ExprId> run() {
        std::vector<Group> groups(1);
        while (!source_.at_end()) {
            if (out_.size() > kMaxExpressions)
                return source_.error(source_.pos(), "the pattern is too large", "a smaller one",
                                     ErrorCode::limit_exceeded);
            HOKKU_CHECK(parse_item(groups));
        }
        if (groups.size() > 1)
            return source_.error(groups.back().pos, "a \"(\" is not closed", "\")\"");
        std::vector<ExprId> options;
        Group& whole = groups.back();
        whole.options.push_back(std::move(whole.current));
        for (const Option& option : whole.options) options.push_back(with_surroundings(option));
        return out_.alternatives(options);
    }

  private:
    /// One alternative of a group as far as it is read.
    struct Option {
        std::vector<ExprId> parts;
        bool at_start = false, at_end = false;  ///< Has ^ at its beginning, $ at its end.
        /// The last part may not be repeated: it holds an anchor, or is a repetition already.
        bool is_last_fixed = true;
    };
    struct Group {
        size_t pos = 0;
        std::vector<Option> options;
        Option current;
    };

    ExprId with_surroundings(const Option& option) {
        std::vector<ExprId> parts;
        const bool is_search = match_ == RegexMatch::search;
        const auto anything = [this] {
            return out_.repeat(out_.chars(CharSet::all()), 0, kUnbounded);
        };
        if (is_search && !option.at_start) parts.push_back(anything());
        parts.insert(parts.end(), option.parts.begin(), option.parts.end());
        if (is_search && !option.at_end) parts.push_back(anything());
        return out_.sequence(parts);
    }

    Error unsupported(size_t pos, std::string what,
                      std::string expected = "a pattern without it") const {
        return source_.error(pos, std::move(what), std::move(expected), ErrorCode::unsupported);
    }

    Result<void> parse_item(std::vector<Group>& groups) {
        const size_t pos = source_.pos();
        Option& option = groups.back().current;
        switch (source_.peek()) {
            case '(':
                return open(groups);
            case ')':
                return close(groups);
            case '|':
                source_.skip(1);
                groups.back().options.push_back(std::move(option));
                groups.back().current = {};
                return {};
            case '^':
                if (!option.parts.empty() || option.at_end)
                    return unsupported(pos, "\"^\" inside a pattern");
                option.at_start = true;
                source_.skip(1);
                return {};
            case '$':
                option.at_end = option.is_last_fixed = true;
                source_.skip(1);
                return {};
            case '*':
            case '+':
            case '?':
                return parse_repeat(option);
            case '{':
                if (is_digit(source_.peek(1))) return parse_repeat(option);
                if (source_.peek(1) == ',' && is_digit(source_.peek(2)))
                    return unsupported(pos, "a repetition without a minimum",
                                       "\"{0,\", or \"\\{\" for the brace itself");
                break;
            default:
                break;
        }
        if (option.at_end) return unsupported(pos, "\"$\" inside a pattern");
        HOKKU_TRY(const CharSet set, parse_atom());
        if (set.empty())
            out_.explain_never("a character class without a character, " + source_.place(pos));
        option.parts.push_back(out_.chars(set));
        option.is_last_fixed = false;
        return {};
    }

    Result<void> open(std::vector<Group>& groups) {
        const size_t pos = source_.pos();
        if (groups.back().current.at_end) return unsupported(pos, "\"$\" inside a pattern");
        if (groups.size() > kMaxRegexNesting)
            return source_.error(pos, "groups are nested too deeply",
                                 fmt::format("at most {} levels", kMaxRegexNesting),
                                 ErrorCode::limit_exceeded);
        source_.skip(1);
        if (source_.take("?")) {
            const bool is_named =
                source_.take("P<") || (source_.peek() == '<' && source_.peek(1) != '=' &&
                                       source_.peek(1) != '!' && source_.take("<"));
            if (is_named) {
                while (is_letter(source_.peek()) || is_digit(source_.peek()) ||
                       source_.peek() == '_')
                    source_.skip(1);
                if (!source_.take(">"))
                    return source_.error_here(
                        "unexpected " + source_.shown() + " in a group's name", "\">\"");
            } else if (!source_.take(":")) {
                return unsupported(pos, "a group \"(?" + source_.shown_char() + "\"");
            }
        }
        groups.emplace_back().pos = pos;
        return {};
    }

    Result<void> close(std::vector<Group>& groups) {
        const size_t pos = source_.pos();
        if (groups.size() == 1) return source_.error_here("unexpected \")\"", "a \"(\" before it");
        Group group = std::move(groups.back());
        groups.pop_back();
        group.options.push_back(std::move(group.current));
        source_.skip(1);
        std::vector<ExprId> options;
        const bool at_start = group.options.front().at_start;
        const bool at_end = group.options.front().at_end;
        for (const Option& option : group.options) {
            if (option.at_start != at_start || option.at_end != at_end)
                return unsupported(group.pos, "a group with \"^\" or \"$\" in some alternatives");
            options.push_back(out_.sequence(option.parts));
        }
        Option& outer = groups.back().current;
        if (at_start && !outer.parts.empty()) return unsupported(pos, "\"^\" inside a pattern");
        outer.at_start |= at_start;
        outer.at_end |= at_end;
        outer.parts.push_back(out_.alternatives(options));
        outer.is_last_fixed = at_start || at_end;
        return {};
    }

    uint64_t take_number() {
        uint64_t value = 0;
        while (is_digit(source_.peek())) {
            value = std::min<uint64_t>(value * 10 + static_cast<uint64_t>(source_.peek() - '0'),
                                       uint64_t{1} << 40);
            source_.skip(1);
        }
        return value;
    }

    Result<void> parse_repeat(Option& option) {
        const size_t pos = source_.pos();
        if (option.is_last_fixed)
            return source_.error_here("unexpected " + source_.shown(),
                                      "something to repeat before it");
        uint64_t min = 0, max = kUnbounded;
        if (source_.take("+")) {
            min = 1;
        } else if (source_.take("?")) {
            max = 1;
        } else if (source_.take("{")) {
            max = min = take_number();
            if (source_.take(",")) max = is_digit(source_.peek()) ? take_number() : kUnbounded;
            if (!source_.take("}"))
                return source_.error_here("unexpected " + source_.shown() + " in a repetition",
                                          "\"}\"");
        } else {
            source_.skip(1);
        }
        if (min > kMaxRepeat || (max > kMaxRepeat && max != kUnbounded))
            return source_.error(pos,
                                 fmt::format("a repetition {}", to_printable(source_.from(pos))),
                                 fmt::format("at most {}", kMaxRepeat), ErrorCode::limit_exceeded);
        if (max < min)
            return source_.error(pos,
                                 fmt::format("a repetition {}", to_printable(source_.from(pos))),
                                 "a minimum that is not above the maximum");
        if (source_.peek() == '+') return unsupported(source_.pos(), "a possessive repetition");
        if (source_.peek() == '?') source_.skip(1);
        option.parts.back() = out_.repeat(option.parts.back(), static_cast<uint32_t>(min),
                                          static_cast<uint32_t>(max));
        option.is_last_fixed = true;
        return {};
    }

    /// What one character outside of a class stands for.
    Result<CharSet> parse_atom() {
        if (source_.peek() == '[') return parse_class();
        if (source_.take(".")) return line_ends().complement();
        if (source_.peek() == '\\') return parse_escape(false);
        return CharSet::one(source_.take_char());
    }

    Result<CharSet> parse_class() {
        const size_t pos = source_.pos();
        source_.skip(1);
        const bool is_negated = source_.take("^");
        if (source_.peek() == ']')
            return source_.error(pos, "an empty character class", "\"\\]\" for the bracket itself");
        CharSet set;
        while (!source_.take("]")) {
            if (source_.at_end())
                return source_.error(pos, "a character class is not closed", "\"]\"");
            const size_t item_pos = source_.pos();
            if (names_posix_class())
                return unsupported(item_pos, "a class \"[:\" within a class",
                                   "\\d \\w \\s, or its characters spelt out");
            HOKKU_TRY(CharSet first, parse_class_item());
            if (source_.peek() == '-' && source_.peek(1) != ']' && source_.peek(1) != '\0') {
                source_.skip(1);
                HOKKU_TRY(const CharSet last, parse_class_item());
                const auto& from = first.ranges();
                const auto& to = last.ranges();
                const bool is_range = from.size() == 1 && from[0].first == from[0].last &&
                                      to.size() == 1 && to[0].first == to[0].last &&
                                      from[0].first <= to[0].first;
                if (!is_range)
                    return source_.error(item_pos, "a bad range of characters",
                                         "two characters, the lower one first");
                first = CharSet({{from[0].first, to[0].first}});
            }
            set = set.united(first);
        }
        return is_negated ? set.complement() : set;
    }

    /// "[:alpha:]", which other notations have. Here its characters would be taken as they are.
    bool names_posix_class() const {
        if (source_.peek() != '[' || source_.peek(1) != ':') return false;
        size_t end = 2;
        while (is_letter(source_.peek(end)) || source_.peek(end) == '^') ++end;
        return end > 2 && source_.peek(end) == ':' && source_.peek(end + 1) == ']';
    }

    Result<CharSet> parse_class_item() {
        if (source_.peek() == '\\') return parse_escape(true);
        if (source_.at_end()) return source_.error_here("unexpected the end", "a character");
        return CharSet::one(source_.take_char());
    }

    Result<CharSet> parse_escape(bool in_class) {
        const size_t pos = source_.pos();
        source_.skip(1);
        if (source_.at_end()) return source_.error(pos, "a \"\\\" at the end", "a character");
        const char c = source_.peek();
        const char32_t character = source_.take_char();
        switch (c) {
            case 'd':
            case 'w':
            case 's':
                return named_set(c);
            case 'D':
            case 'W':
            case 'S':
                return named_set(static_cast<char>(c - 'A' + 'a')).complement();
            case 't':
                return CharSet::one('\t');
            case 'n':
                return CharSet::one('\n');
            case 'r':
                return CharSet::one('\r');
            case 'f':
                return CharSet::one('\f');
            case 'v':
                return CharSet::one('\v');
            case '0':
                if (!is_digit(source_.peek())) return CharSet::one(0);
                break;
            case 'x':
                return parse_hex(pos, 2, 2);
            case 'u':
                if (!source_.take("{")) return parse_hex(pos, 4, 4);
                return parse_braced_hex(pos);
            default:
                if (c == 'b' && in_class) return CharSet::one('\b');
                if (!is_letter(c) && !is_digit(c)) return CharSet::one(character);
        }
        const std::string_view escape = source_.from(pos);
        std::string expected =
            "\\d \\w \\s \\D \\W \\S \\t \\n \\r \\f \\v \\xHH \\uHHHH, or a pattern without it";
        if (escape == "\\b" || escape == "\\B")
            expected =
                "what stands beside a word spelt out, as in \"(.* )?cat( .*)?\"; or, for "
                "words in a text without other form, required words";
        return unsupported(pos, "\"" + to_printable(escape) + "\"", std::move(expected));
    }

    Result<CharSet> parse_braced_hex(size_t pos) {
        HOKKU_TRY(CharSet set, parse_hex(pos, 1, 6));
        if (!source_.take("}")) return source_.error(pos, "a bad escape", "\"}\"");
        return set;
    }

    Result<CharSet> parse_hex(size_t pos, size_t min_digits, size_t max_digits) {
        char32_t value = 0;
        size_t num_digits = 0;
        for (; num_digits < max_digits; ++num_digits) {
            const char c = source_.peek();
            const char lower = static_cast<char>(c | 0x20);
            if (is_digit(c)) {
                value = value * 16 + static_cast<char32_t>(c - '0');
            } else if (lower >= 'a' && lower <= 'f') {
                value = value * 16 + static_cast<char32_t>(lower - 'a' + 10);
            } else {
                break;
            }
            source_.skip(1);
        }
        const CharSet set = CharSet::one(value);
        if (num_digits < min_digits || set.empty())
            return source_.error(pos, "a bad escape \"" + to_printable(source_.from(pos)) + "\"",
                                 "the hexadecimal digits of a character");
        return set;
    }

    SourceText source_;
    RegexMatch match_;
    Expressions& out_;
};

}  // namespace

Result<ExprId> parse_regex(std::string_view pattern, RegexMatch match, Expressions& out) {
    if (pattern.size() > kMaxRegexBytes)
        return Error{ErrorCode::limit_exceeded, "the pattern is too long",
                     fmt::format("{} bytes", pattern.size()),
                     fmt::format("at most {}", kMaxRegexBytes)};
    if (!is_valid_utf8(pattern))
        return Error{ErrorCode::bad_format, "the pattern is not valid UTF-8", "pattern", "UTF-8"};
    return RegexParser(pattern, match, out).run();
}

}  // namespace hokku::constraint
