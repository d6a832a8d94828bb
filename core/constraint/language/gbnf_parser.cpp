// SPDX-License-Identifier: Apache-2.0
#include "constraint/language/gbnf_parser.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "base/try.h"
#include "base/utf8.h"
#include "constraint/language/source_text.h"

namespace hokku::constraint {

namespace {

bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

class GbnfParser {
  public:
    GbnfParser(std::string_view text, const ConstraintVocabulary* vocabulary, Expressions& out)
        : source_(text, "grammar"), vocabulary_(vocabulary), out_(out) {}

    Result<RuleId> run() {
        skip_space(true);
        while (!source_.at_end()) {
            HOKKU_CHECK(parse_rule());
            skip_space(true);
        }
        for (const auto& [name, rule] : rules_)
            if (!rule.is_defined)
                return source_.error(rule.first_pos,
                                     "rule \"" + to_printable(name) + "\" is not defined",
                                     to_printable(name) + " ::= ...");
        const auto root = rules_.find("root");
        if (root == rules_.end())
            return Error{ErrorCode::bad_format, "the grammar has no rule \"root\"", "grammar",
                         "root ::= ..."};
        return root->second.id;
    }

  private:
    struct NamedRule {
        RuleId id = 0;
        size_t first_pos = 0;
        bool is_defined = false;
    };
    /// What has been read between a "(", or the beginning of a rule, and here.
    struct Group {
        size_t pos = 0;
        std::vector<ExprId> options, sequence;
    };

    void skip_space(bool with_newlines) {
        for (;;) {
            const char c = source_.peek();
            if (c == '#') {
                while (!source_.at_end() && source_.peek() != '\n') source_.skip(1);
            } else if (c == ' ' || c == '\t' || (with_newlines && (c == '\n' || c == '\r'))) {
                source_.skip(1);
            } else {
                return;
            }
        }
    }

    std::string_view take_name() {
        const size_t begin = source_.pos();
        while (is_name_char(source_.peek())) source_.skip(1);
        return source_.from(begin);
    }

    NamedRule& find_rule(std::string_view name, size_t pos) {
        const auto [at, is_new] = rules_.try_emplace(std::string(name));
        if (is_new) at->second = {out_.add_rule(std::string(name)), pos, false};
        return at->second;
    }

    Result<void> parse_rule() {
        const size_t pos = source_.pos();
        const std::string_view name = take_name();
        if (name.empty())
            return source_.error_here("unexpected " + source_.shown(), "a rule: name ::= ...");
        NamedRule& rule = find_rule(name, pos);
        if (rule.is_defined)
            return source_.error(pos,
                                 fmt::format("rule \"{}\" is defined twice", to_printable(name)),
                                 "one definition of each rule");
        rule.is_defined = true;
        const RuleId id = rule.id;
        skip_space(false);
        if (!source_.take("::="))
            return source_.error_here(fmt::format("unexpected {} after the name \"{}\"",
                                                  source_.shown(), to_printable(name)),
                                      "\"::=\"");
        skip_space(true);
        HOKKU_TRY(const ExprId body, parse_body());
        out_.set_body(id, body);
        return {};
    }

    /// The alternatives of a rule, up to the end of its last line.
    Result<ExprId> parse_body() {
        std::vector<Group> groups(1);
        groups.back().pos = source_.pos();
        for (;;) {
            if (is_rule_end(groups.size() > 1)) {
                if (groups.size() > 1)
                    return source_.error(groups.back().pos, "a \"(\" is not closed", "\")\"");
                return close(groups.back());
            }
            HOKKU_CHECK(parse_item(groups));
            skip_space(groups.size() > 1);
        }
    }

    bool is_rule_end(bool is_nested) {
        skip_space(is_nested);
        if (source_.at_end()) return true;
        const char c = source_.peek();
        if (is_nested || (c != '\n' && c != '\r')) return false;
        skip_space(true);
        return source_.peek() != '|';
    }

    ExprId close(Group& group) {
        group.options.push_back(out_.sequence(group.sequence));
        return out_.alternatives(group.options);
    }

    Result<void> parse_item(std::vector<Group>& groups) {
        const char c = source_.peek();
        Group& group = groups.back();
        if (out_.size() > kMaxExpressions)
            return source_.error(source_.pos(), "the grammar is too large", "a smaller one",
                                 ErrorCode::limit_exceeded);
        if (c == '(') {
            if (groups.size() > kMaxGbnfNesting)
                return source_.error(source_.pos(), "parentheses are nested too deeply",
                                     fmt::format("at most {} levels", kMaxGbnfNesting),
                                     ErrorCode::limit_exceeded);
            groups.emplace_back().pos = source_.pos();
            source_.skip(1);
        } else if (c == ')') {
            if (groups.size() == 1)
                return source_.error_here("unexpected \")\"", "a \"(\" before it");
            const ExprId inner = close(group);
            groups.pop_back();
            groups.back().sequence.push_back(inner);
            source_.skip(1);
        } else if (c == '|') {
            group.options.push_back(out_.sequence(group.sequence));
            group.sequence.clear();
            source_.skip(1);
            skip_space(true);
        } else if (c == '*' || c == '+' || c == '?' || c == '{') {
            if (group.sequence.empty())
                return source_.error_here("unexpected " + source_.shown(),
                                          "something to repeat before it");
            HOKKU_TRY(group.sequence.back(), parse_repeat(group.sequence.back()));
        } else {
            HOKKU_TRY(const ExprId item, parse_symbol());
            groups.back().sequence.push_back(item);
        }
        return {};
    }

    Result<ExprId> parse_symbol() {
        const char c = source_.peek();
        if (c == '"') return parse_literal();
        if (c == '[') return parse_class();
        if (c == '<' || c == '!') return parse_token();
        if (c == '.') {
            source_.skip(1);
            return out_.chars(CharSet::all());
        }
        if (is_name_char(c)) {
            const size_t pos = source_.pos();
            const std::string_view name = take_name();
            return out_.rule(find_rule(name, pos).id);
        }
        return source_.error_here("unexpected " + source_.shown(),
                                  "a literal, a character class, a rule name or a group");
    }

    Result<uint32_t> parse_count() {
        const size_t pos = source_.pos();
        uint64_t value = 0;
        while (is_digit(source_.peek())) {
            value = std::min<uint64_t>(value * 10 + static_cast<uint64_t>(source_.peek() - '0'),
                                       uint64_t{1} << 40);
            source_.skip(1);
        }
        if (source_.pos() == pos)
            return source_.error_here("unexpected " + source_.shown() + " in a repetition",
                                      "a number");
        if (value > kMaxRepeat)
            return source_.error(pos,
                                 fmt::format("a repetition of {}", to_printable(source_.from(pos))),
                                 fmt::format("at most {}", kMaxRepeat), ErrorCode::limit_exceeded);
        return static_cast<uint32_t>(value);
    }

    Result<ExprId> parse_repeat(ExprId item) {
        const size_t pos = source_.pos();
        if (source_.take("*")) return out_.repeat(item, 0, kUnbounded);
        if (source_.take("+")) return out_.repeat(item, 1, kUnbounded);
        if (source_.take("?")) return out_.optional(item);
        source_.skip(1);
        skip_space(false);
        HOKKU_TRY(const uint32_t min, parse_count());
        uint32_t max = min;
        skip_space(false);
        if (source_.take(",")) {
            max = kUnbounded;
            skip_space(false);
            if (is_digit(source_.peek())) {
                HOKKU_TRY(max, parse_count());
                skip_space(false);
            }
        }
        if (!source_.take("}"))
            return source_.error_here("unexpected " + source_.shown() + " in a repetition",
                                      "\"}\"");
        if (max < min)
            return source_.error(pos, fmt::format("a repetition {{{},{}}}", min, max),
                                 "a minimum that is not above the maximum");
        return out_.repeat(item, min, max);
    }

    /// A character of a literal or a class, after its backslash if it has one.
    Result<char32_t> parse_char() {
        const size_t pos = source_.pos();
        const char32_t c = source_.take_char();
        if (c != U'\\') return c;
        const char escaped = source_.peek();
        if (escaped != '\0') source_.skip(1);
        switch (escaped) {
            case 'n':
                return U'\n';
            case 'r':
                return U'\r';
            case 't':
                return U'\t';
            case '\\':
            case '"':
            case '[':
            case ']':
            case '-':
            case '^':
                return static_cast<char32_t>(escaped);
            case 'x':
                return parse_hex(pos, 2);
            case 'u':
                return parse_hex(pos, 4);
            case 'U':
                return parse_hex(pos, 8);
            default:
                return source_.error(
                    pos, "unknown escape",
                    "one of \\n \\r \\t \\\\ \\\" \\[ \\] \\xXX \\uXXXX \\UXXXXXXXX");
        }
    }

    Result<char32_t> parse_hex(size_t pos, size_t num_digits) {
        const size_t begin = source_.pos();
        for (size_t i = 0; i < num_digits && source_.peek() != '\0'; ++i) source_.skip(1);
        const std::string_view digits = source_.from(begin);
        uint32_t value = 0;
        const auto parsed =
            std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
        const bool is_read = digits.size() == num_digits && parsed.ec == std::errc{} &&
                             parsed.ptr == digits.data() + digits.size();
        if (!is_read || value > kMaxCodePoint || (value >= 0xD800 && value <= 0xDFFF))
            return source_.error(pos, "a bad escape \"" + to_printable(source_.from(pos)) + "\"",
                                 fmt::format("{} hexadecimal digits of a character", num_digits));
        return static_cast<char32_t>(value);
    }

    Result<ExprId> parse_literal() {
        const size_t pos = source_.pos();
        source_.skip(1);
        std::string text;
        while (!source_.take("\"")) {
            if (source_.at_end() || source_.peek() == '\n')
                return source_.error(pos, "a literal is not closed", "\"\\\"\"");
            HOKKU_TRY(const char32_t c, parse_char());
            append_utf8(text, c);
        }
        return out_.literal(text);
    }

    Result<ExprId> parse_class() {
        const size_t pos = source_.pos();
        source_.skip(1);
        const bool is_negated = source_.take("^");
        std::vector<CharRange> ranges;
        while (!source_.take("]")) {
            if (source_.at_end())
                return source_.error(pos, "a character class is not closed", "\"]\"");
            const size_t range_pos = source_.pos();
            HOKKU_TRY(const char32_t first, parse_char());
            char32_t last = first;
            if (source_.peek() == '-' && source_.peek(1) != ']' && source_.peek(1) != '\0') {
                source_.skip(1);
                HOKKU_TRY(last, parse_char());
            }
            if (last < first)
                return source_.error(range_pos, "a range of characters runs backwards",
                                     "the lower character first");
            ranges.push_back({first, last});
        }
        if (ranges.empty() && !is_negated)
            return source_.error(pos, "an empty character class", "a character in it");
        const CharSet set(std::move(ranges));
        const CharSet chosen = is_negated ? set.complement() : set;
        if (chosen.empty())
            out_.explain_never("a character class without a character, " + source_.place(pos));
        return out_.chars(chosen);
    }

    Result<ExprId> parse_token() {
        const size_t pos = source_.pos();
        const bool is_negated = source_.take("!");
        const size_t begin = source_.pos();
        if (!source_.take("<"))
            return source_.error_here("unexpected " + source_.shown() + " after \"!\"",
                                      "a token: <text> or <[id]>");
        while (source_.peek() != '>' && source_.peek() != '\n' && !source_.at_end())
            source_.skip(1);
        if (!source_.take(">")) return source_.error(pos, "a token is not closed", "\">\"");
        const std::string_view text = source_.from(begin);
        if (vocabulary_ == nullptr)
            return source_.error(pos,
                                 fmt::format("token {} without a vocabulary", to_printable(text)),
                                 "a grammar of characters", ErrorCode::unsupported);
        const auto id = find_token(text);
        if (!id)
            return source_.error(pos, fmt::format("no token {}", to_printable(text)),
                                 fmt::format("the text of one token, or <[id]> with an id below {}",
                                             vocabulary_->num_tokens()));
        if (!is_negated && vocabulary_->ends_generation(*id))
            return source_.error(pos,
                                 fmt::format("token {} ends the generation", to_printable(text)),
                                 "the end of rule \"root\" instead");
        return out_.token(static_cast<uint32_t>(*id), is_negated);
    }

    /// The token of <text> or <[id]>.
    std::optional<TokenId> find_token(std::string_view text) const {
        if (text.size() < 4 || text[1] != '[' || text[text.size() - 2] != ']')
            return vocabulary_->tokenizer().find_token(text);
        TokenId id = -1;
        const char* end = text.data() + text.size() - 2;
        const auto parsed = std::from_chars(text.data() + 2, end, id);
        const bool is_id = parsed.ec == std::errc{} && parsed.ptr == end && id >= 0 &&
                           static_cast<size_t>(id) < vocabulary_->num_tokens();
        return is_id ? std::optional(id) : std::nullopt;
    }

    SourceText source_;
    const ConstraintVocabulary* vocabulary_;
    Expressions& out_;
    std::map<std::string, NamedRule, std::less<>> rules_;
};

}  // namespace

Result<RuleId> parse_gbnf(std::string_view text, const ConstraintVocabulary* vocabulary,
                          Expressions& out) {
    if (text.size() > kMaxGbnfBytes)
        return Error{ErrorCode::limit_exceeded, "the grammar is too long",
                     fmt::format("{} bytes", text.size()),
                     fmt::format("at most {}", kMaxGbnfBytes)};
    if (!is_valid_utf8(text))
        return Error{ErrorCode::bad_format, "the grammar is not valid UTF-8", "grammar", "UTF-8"};
    return GbnfParser(text, vocabulary, out).run();
}

}  // namespace hokku::constraint
