// SPDX-License-Identifier: Apache-2.0
#include "text/template/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/template/unicode.h"

namespace hokku::jinja {

namespace {

struct Operator {
    std::string_view text;
    TokenType type;
};
// Longer ones first.
constexpr std::array<Operator, 26> kOperators{{
    {"//", TokenType::floor_div},
    {"**", TokenType::pow},
    {"==", TokenType::equal},
    {"!=", TokenType::not_equal},
    {">=", TokenType::greater_equal},
    {"<=", TokenType::less_equal},
    {"+", TokenType::add},
    {"-", TokenType::sub},
    {"/", TokenType::div},
    {"*", TokenType::mul},
    {"%", TokenType::mod},
    {"~", TokenType::tilde},
    {"[", TokenType::left_bracket},
    {"]", TokenType::right_bracket},
    {"(", TokenType::left_paren},
    {")", TokenType::right_paren},
    {"{", TokenType::left_brace},
    {"}", TokenType::right_brace},
    {">", TokenType::greater},
    {"<", TokenType::less},
    {"=", TokenType::assign},
    {".", TokenType::dot},
    {":", TokenType::colon},
    {"|", TokenType::pipe},
    {",", TokenType::comma},
    {";", TokenType::semicolon},
}};

std::string_view strip_right(std::string_view text) {
    size_t end = text.size();
    while (end > 0) {
        size_t start = end;
        if (!is_space(previous_char(text, start))) break;
        end = start;
    }
    return text.substr(0, end);
}

bool is_blank(std::string_view text) {
    return strip_right(text).empty();
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool is_ascii_digit(char c) {
    return c >= '0' && c <= '9';
}

}  // namespace

std::string describe(const Token& token) {
    switch (token.type) {
        case TokenType::data:
            return "template data / text";
        case TokenType::variable_begin:
            return "begin of print statement";
        case TokenType::variable_end:
            return "end of print statement";
        case TokenType::block_begin:
            return "begin of statement block";
        case TokenType::block_end:
            return "end of statement block";
        case TokenType::end:
            return "end of template";
        case TokenType::string:
            return "string";
        case TokenType::error:
        case TokenType::name:
        case TokenType::integer:
        case TokenType::floating:
            return token.value;
        default:
            break;
    }
    for (const Operator& op : kOperators) {
        if (op.type == token.type) return std::string(op.text);
    }
    return "token";
}

std::string normalise_source(std::string_view source) {
    std::string out;
    out.reserve(source.size());
    for (size_t i = 0; i < source.size(); ++i) {
        if (source[i] == '\r') {
            if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
            out += '\n';
        } else {
            out += source[i];
        }
    }
    if (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
}

Token Lexer::make(TokenType type, size_t offset, std::string value) const {
    return Token{type, static_cast<uint32_t>(offset), std::move(value)};
}

Token Lexer::fail(size_t offset, std::string message) {
    failed_ = true;
    failure_ = make(TokenType::error, offset, std::move(message));
    return failure_;
}

void Lexer::advance(size_t to) {
    if (to > position_) line_starting_ = source_[to - 1] == '\n';
    position_ = to;
}

size_t Lexer::skip_spaces(size_t position) const {
    while (position < source_.size()) {
        size_t next = position;
        if (!is_space(next_char(source_, next))) break;
        position = next;
    }
    return position;
}

Token Lexer::next() {
    while (!failed_) {
        if (state_ != State::root) return lex_code();
        if (!has_pending_) {
            if (position_ >= source_.size()) return make(TokenType::end, source_.size());
            Token data = lex_root();
            if (data.is(TokenType::error) || !data.value.empty()) return data;
            continue;
        }
        has_pending_ = false;
        const Opening tag = pending_;
        advance(tag.offset + tag.length);
        if (tag.kind == '#') {
            if (!skip_comment()) return failure_;
        } else if (tag.kind == 'r') {
            Token data = lex_raw();
            if (data.is(TokenType::error) || !data.value.empty()) return data;
        } else {
            state_ = tag.kind == '%' ? State::block : State::variable;
            return make(tag.kind == '%' ? TokenType::block_begin : TokenType::variable_begin,
                        tag.offset);
        }
    }
    return failure_;
}

Lexer::Opening Lexer::find_opening(size_t from) const {
    Opening opening;
    for (size_t i = source_.find('{', from); i != std::string_view::npos;
         i = source_.find('{', i + 1)) {
        const char kind = at(i + 1);
        if (kind != '%' && kind != '{' && kind != '#') continue;
        opening.offset = i;
        opening.kind = kind;
        if (kind == '%') {
            opening.length = match_raw_begin(i, opening.sign);
            if (opening.length != 0) {
                opening.kind = 'r';
                return opening;
            }
        }
        opening.sign = at(i + 2) == '-' || at(i + 2) == '+' ? at(i + 2) : '\0';
        opening.length = opening.sign == '\0' ? 2 : 3;
        return opening;
    }
    opening.offset = source_.size();
    return opening;
}

// Length of "{% raw %}" at `at`, 0 if there is none.
size_t Lexer::match_raw_begin(size_t begin, char& sign) const {
    size_t i = begin + 2;
    sign = at(i) == '-' || at(i) == '+' ? at(i) : '\0';
    if (sign != '\0') ++i;
    i = skip_spaces(i);
    if (!starts(i, "raw")) return 0;
    i = skip_spaces(i + 3);
    if (starts(i, "-%}")) return skip_spaces(i + 3) - begin;
    return starts(i, "%}") ? i + 2 - begin : 0;
}

// Length of "{% endraw %}" at `at`, 0 if there is none.
size_t Lexer::match_raw_end(size_t begin, char& sign) const {
    size_t i = begin + 2;
    sign = at(i) == '-' || at(i) == '+' ? at(i) : '\0';
    if (sign != '\0') ++i;
    i = skip_spaces(i);
    if (!starts(i, "endraw")) return 0;
    i = skip_spaces(i + 6);
    if (starts(i, "+%}")) return i + 3 - begin;
    if (starts(i, "-%}")) return skip_spaces(i + 3) - begin;
    if (!starts(i, "%}")) return 0;
    return (at(i + 2) == '\n' ? i + 3 : i + 2) - begin;
}

std::string_view Lexer::strip_before_tag(std::string_view text, char sign, bool is_variable) const {
    if (sign == '-') return strip_right(text);
    if (sign == '+' || is_variable) return text;
    const size_t last_break = text.rfind('\n');
    const size_t line = last_break == std::string_view::npos ? 0 : last_break + 1;
    if ((line > 0 || line_starting_) && is_blank(text.substr(line))) return text.substr(0, line);
    return text;
}

// The text up to the next tag, which becomes the pending one.
Token Lexer::lex_root() {
    const size_t start = position_;
    const Opening opening = find_opening(start);
    std::string_view text = source_.substr(start, opening.offset - start);
    if (opening.kind == 0) {
        position_ = source_.size();
        return make(TokenType::data, start, std::string(text));
    }
    text = strip_before_tag(text, opening.sign, opening.kind == '{');
    pending_ = opening;
    has_pending_ = true;
    return make(TokenType::data, start, std::string(text));
}

bool Lexer::skip_comment() {
    const size_t close = source_.find("#}", position_);
    if (close == std::string_view::npos) {
        fail(pending_.offset, "Missing end of comment tag");
        return false;
    }
    size_t end = close + 2;
    const char sign = close > position_ ? source_[close - 1] : '\0';
    if (sign == '-') {
        end = skip_spaces(end);
    } else if (sign != '+' && at(end) == '\n') {
        ++end;
    }
    advance(end);
    return true;
}

Token Lexer::lex_raw() {
    const size_t start = position_;
    for (size_t i = source_.find("{%", start); i != std::string_view::npos;
         i = source_.find("{%", i + 2)) {
        char sign = '\0';
        const size_t length = match_raw_end(i, sign);
        if (length == 0) continue;
        const std::string_view text =
            strip_before_tag(source_.substr(start, i - start), sign, false);
        advance(i + length);
        return make(TokenType::data, start, std::string(text));
    }
    return fail(pending_.offset, "Missing end of raw directive");
}

bool Lexer::lex_end_of_code(Token& token) {
    if (!brackets_.empty()) return false;
    const std::string_view close = state_ == State::block ? "%}" : "}}";
    const size_t start = position_;
    size_t end = 0;
    if (starts(start, close)) {
        end = start + 2;
        if (state_ == State::block && at(end) == '\n') ++end;
    } else if (at(start) == '-' && starts(start + 1, close)) {
        end = skip_spaces(start + 3);
    } else if (state_ == State::block && at(start) == '+' && starts(start + 1, close)) {
        end = start + 3;
    } else {
        return false;
    }
    token = make(state_ == State::block ? TokenType::block_end : TokenType::variable_end, start);
    advance(end);
    state_ = State::root;
    return true;
}

Token Lexer::lex_code() {
    Token token;
    // The end tag is looked for first: "-}}" is not a minus.
    if (lex_end_of_code(token)) return token;
    position_ = skip_spaces(position_);
    if (position_ >= source_.size()) return make(TokenType::end, source_.size());
    if (lex_end_of_code(token)) return token;
    const char c = at(position_);
    if (is_ascii_digit(c)) return lex_number();
    if (c == '\'' || c == '"') return lex_string(c);
    const bool is_ascii_word = c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (is_ascii_word || static_cast<unsigned char>(c) >= 0x80) return lex_name();
    return lex_operator();
}

Token Lexer::lex_name() {
    const size_t start = position_;
    size_t end = start;
    while (end < source_.size()) {
        size_t next = end;
        const char32_t c = next_char(source_, next);
        if (!is_word(c)) break;
        end = next;
    }
    const std::string_view name = source_.substr(start, end - start);
    if (!is_identifier(name)) {
        size_t next = start;
        next_char(source_, next);
        return fail(start,
                    fmt::format("unexpected char '{}'", source_.substr(start, next - start)));
    }
    advance(end);
    return make(TokenType::name, start, std::string(name));
}

Token Lexer::lex_number() {
    const size_t start = position_;
    // Digits with single underscores between them; returns the end, or `from` if there are none.
    const auto digits_end = [&](size_t from) {
        size_t i = from;
        while (is_ascii_digit(at(i)) || (i > from && at(i) == '_' && is_ascii_digit(at(i + 1))))
            ++i;
        return i;
    };
    const auto cleaned = [&](size_t end) {
        std::string text(source_.substr(start, end - start));
        std::erase(text, '_');
        return text;
    };
    const char prefix = static_cast<char>(at(start + 1) | 0x20);
    if (at(start) == '0' && (prefix == 'x' || prefix == 'o' || prefix == 'b')) {
        const int base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : 2;
        const auto fits = [&](char c) { return hex_digit(c) >= 0 && hex_digit(c) < base; };
        size_t i = start + 2;
        while (fits(at(i)) || (at(i) == '_' && fits(at(i + 1)))) ++i;
        if (i > start + 2) {
            advance(i);
            return make(TokenType::integer, start, cleaned(i));
        }
    }
    const size_t whole = digits_end(start);
    size_t end = whole;
    const bool may_be_float = start == 0 || at(start - 1) != '.';
    if (may_be_float && at(end) == '.' && is_ascii_digit(at(end + 1))) end = digits_end(end + 1);
    if (may_be_float && (at(end) | 0x20) == 'e') {
        const size_t sign = at(end + 1) == '+' || at(end + 1) == '-' ? 1 : 0;
        if (is_ascii_digit(at(end + 1 + sign))) end = digits_end(end + 1 + sign);
    }
    advance(end);
    return make(end > whole ? TokenType::floating : TokenType::integer, start, cleaned(end));
}

Token Lexer::lex_string(char quote) {
    const size_t start = position_;
    std::string value;
    for (size_t i = start + 1; i < source_.size();) {
        const char c = source_[i];
        if (c == quote) {
            advance(i + 1);
            return make(TokenType::string, start, std::move(value));
        }
        if (c != '\\') {
            value += c;
            ++i;
            continue;
        }
        std::string problem;
        if (!decode_escape(i, source_.size(), value, problem)) return fail(i, std::move(problem));
    }
    return fail(start, fmt::format("unexpected char '{}': the string does not end", quote));
}

// Python's string escapes. `position` is at the backslash and moves past the escape.
bool Lexer::decode_escape(size_t& position, size_t end, std::string& out,
                          std::string& problem) const {
    const char c = at(position + 1);
    constexpr std::string_view kFrom = "\n\\'\"abfnrtv";
    constexpr std::string_view kTo = "\n\\'\"\a\b\f\n\r\t\v";
    const size_t simple = position + 1 < end ? kFrom.find(c) : std::string_view::npos;
    if (simple != std::string_view::npos) {
        if (c != '\n') out += kTo[simple];  // a backslash before a line break joins the lines
        position += 2;
        return true;
    }
    if (c >= '0' && c <= '7') {
        char32_t code = 0;
        size_t i = position + 1;
        for (; i < position + 4 && at(i) >= '0' && at(i) <= '7'; ++i) {
            code = code * 8 + static_cast<char32_t>(at(i) - '0');
        }
        append_char(out, code);
        position = i;
        return true;
    }
    const auto read_hex = [&](size_t from, size_t count, char32_t& code) {
        code = 0;
        for (size_t i = from; i < from + count; ++i) {
            const int digit = hex_digit(at(i));
            if (digit < 0) return false;
            code = code * 16 + static_cast<char32_t>(digit);
        }
        return true;
    };
    const size_t count = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (count == 0) {  // not an escape: the backslash stays
        out += '\\';
        ++position;
        return true;
    }
    char32_t code = 0, low = 0;
    if (!read_hex(position + 2, count, code) || code > 0x10FFFF) {
        problem = fmt::format("truncated or illegal \\{} escape", c);
        return false;
    }
    position += 2 + count;
    const bool is_high = code >= 0xD800 && code < 0xDC00;
    if (is_high && starts(position, "\\u") && read_hex(position + 2, 4, low) && low >= 0xDC00 &&
        low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        position += 6;
    }
    append_char(out, code);
    return true;
}

Token Lexer::lex_operator() {
    const size_t start = position_;
    for (const Operator& op : kOperators) {
        if (!starts(start, op.text)) continue;
        const char c = op.text[0];
        if (c == '(') brackets_ += ')';
        if (c == '[') brackets_ += ']';
        if (c == '{') brackets_ += '}';
        if (c == ')' || c == ']' || c == '}') {
            if (brackets_.empty()) return fail(start, fmt::format("unexpected '{}'", c));
            if (brackets_.back() != c) {
                return fail(start,
                            fmt::format("unexpected '{}', expected '{}'", c, brackets_.back()));
            }
            brackets_.pop_back();
        }
        advance(start + op.text.size());
        return make(op.type, start);
    }
    return fail(start, fmt::format("unexpected char '{}'", at(start)));
}

}  // namespace hokku::jinja
