// SPDX-License-Identifier: Apache-2.0
// Lexer: template text to tokens, one at a time, with Jinja's whitespace rules (trim_blocks and
// lstrip_blocks on, one trailing newline dropped) already applied to the data tokens.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hokku::jinja {

enum class TokenType : uint8_t {
    data,
    variable_begin,
    variable_end,
    block_begin,
    block_end,
    name,
    string,
    integer,
    floating,
    add,
    sub,
    mul,
    div,
    floor_div,
    mod,
    pow,
    tilde,
    left_bracket,
    right_bracket,
    left_paren,
    right_paren,
    left_brace,
    right_brace,
    equal,
    not_equal,
    greater,
    greater_equal,
    less,
    less_equal,
    assign,
    dot,
    colon,
    pipe,
    comma,
    semicolon,
    end,
    error,  ///< `value` is the message.
};

struct Token {
    TokenType type = TokenType::end;
    uint32_t offset = 0;  ///< In the normalised source.
    std::string value;    ///< Data, name, decoded string, digits.

    [[nodiscard]] bool is(TokenType wanted) const { return type == wanted; }
    [[nodiscard]] bool is_name(std::string_view name) const {
        return type == TokenType::name && value == name;
    }
};

/// "end of statement block", "'+'": a token for error messages.
std::string describe(const Token& token);

/// Line breaks as "\n" and one of them at the end dropped, as Jinja does first of all.
std::string normalise_source(std::string_view source);

class Lexer {
  public:
    /// `source` must be normalised, well-formed UTF-8 and outlive the lexer.
    explicit Lexer(std::string_view source) : source_(source) {}

    /// The next token; `end` and `error` repeat for ever.
    Token next();

  private:
    enum class State : uint8_t { root, block, variable };
    struct Opening {
        size_t offset = 0, length = 0;  // of the tag including its sign
        char kind = 0;                  // '%', '{', '#' or 'r' (raw)
        char sign = 0;
    };

    Token lex_root();
    Token lex_code();
    Token lex_raw();
    bool skip_comment();
    [[nodiscard]] Opening find_opening(size_t from) const;
    [[nodiscard]] size_t match_raw_begin(size_t at, char& sign) const;
    [[nodiscard]] size_t match_raw_end(size_t at, char& sign) const;
    [[nodiscard]] std::string_view strip_before_tag(std::string_view text, char sign,
                                                    bool is_variable) const;
    bool lex_end_of_code(Token& token);
    Token lex_name();
    Token lex_number();
    Token lex_string(char quote);
    Token lex_operator();
    bool decode_escape(size_t& position, size_t end, std::string& out, std::string& problem) const;
    [[nodiscard]] char at(size_t position) const {
        return position < source_.size() ? source_[position] : '\0';
    }
    [[nodiscard]] bool starts(size_t position, std::string_view text) const {
        return source_.substr(std::min(position, source_.size())).starts_with(text);
    }
    [[nodiscard]] size_t skip_spaces(size_t position) const;
    void advance(size_t to);
    Token make(TokenType type, size_t offset, std::string value = {}) const;
    Token fail(size_t offset, std::string message);

    std::string_view source_;
    size_t position_ = 0;
    State state_ = State::root;
    std::string brackets_;       // closing brackets that are still due
    bool line_starting_ = true;  // the last match ended with a line break
    Opening pending_;            // tag to enter once its data has been given out
    bool has_pending_ = false;
    bool failed_ = false;
    Token failure_;
};

}  // namespace hokku::jinja
