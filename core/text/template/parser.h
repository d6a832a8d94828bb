// SPDX-License-Identifier: Apache-2.0
// Parser: tokens to the syntax tree, by Jinja's grammar. The first error stops it; functions
// return nullptr from then on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hokku/result.h"
#include "text/template/ast.h"
#include "text/template/lexer.h"
#include "text/template/stack_guard.h"

namespace hokku::jinja {

class Parser {
  public:
    /// Errors : bad_template with line and column; limit_exceeded for nesting beyond max_depth.
    static Result<std::unique_ptr<Program>> parse(std::string_view source, size_t max_depth);

  private:
    Parser(Program& program, size_t max_depth);

    // Tokens.
    void advance();
    bool skip(TokenType type);
    bool skip_name(std::string_view name);
    bool expect(TokenType type);
    bool expect_name(std::string_view name);
    /// Takes a name token of any text.
    std::optional<std::string> take_name();
    void fail(uint32_t offset, std::string message);
    void fail_here(std::string message) { fail(current_.offset, std::move(message)); }
    [[nodiscard]] bool failed() const { return error_.has_value(); }
    /// Whether one more level of nesting is allowed; fails if not.
    bool may_nest();

    // Statements (parser.cpp).
    /// Statements up to one of the end tags, which becomes the current token.
    Body parse_body(std::initializer_list<std::string_view> end_tags);
    /// The body after an opening tag, including its "%}"; leaves the end tag's name current.
    Body parse_block(std::initializer_list<std::string_view> end_tags);
    /// The same, and takes the only end tag.
    Body parse_closed_block(std::string_view end_tag);
    bool at_end_tag(std::initializer_list<std::string_view> end_tags) const;
    const Node* parse_statement();
    const Node* parse_simple_statement(const std::string& tag, uint32_t at);
    const Node* parse_if(uint32_t at);
    const Node* parse_for(uint32_t at);
    const Node* parse_set(uint32_t at);
    const Node* parse_with(uint32_t at);
    const Node* parse_macro(uint32_t at);
    const Node* parse_call_block(uint32_t at);
    const Node* parse_filter_block(uint32_t at);
    const Node* parse_scope(const std::string& tag, uint32_t at);
    const Node* parse_jump(const std::string& tag, uint32_t at);
    void parse_signature(MacroNode& macro);
    Body parse_macro_body(MacroNode& macro, std::string_view end_tag);
    Target parse_target(std::string_view end_name, bool with_attributes);
    Target parse_single_target(bool with_attributes);
    Target name_target();

    // Expressions (parser_expression.cpp).
    const Node* parse_expression(bool with_conditional = true);
    const Node* parse_binary(int min_precedence);
    const Node* parse_negation();
    const Node* parse_logic(const Node* left, int precedence);
    const Node* parse_compare(const Node* left);
    const Node* parse_concat(const Node* left);
    const Node* parse_chain(const Node* left, int precedence);
    const Node* parse_unary();
    const Node* parse_primary();
    const Node* parse_name_or_constant();
    const Node* parse_number();
    const Node* parse_list();
    const Node* parse_dict();
    const Node* parse_tuple(bool with_conditional, std::string_view end_name,
                            bool is_parenthesised);
    void parse_postfixes(PostfixNode& chain);
    void parse_filters_and_tests(PostfixNode& chain);
    void parse_attribute(PostfixNode& chain);
    void parse_subscript(PostfixNode& chain);
    void parse_slice_part(Postfix& step);
    void parse_filter(PostfixNode& chain);
    void parse_test(PostfixNode& chain);
    void parse_call(PostfixNode& chain);
    CallArguments parse_arguments();
    [[nodiscard]] int current_precedence() const;
    std::string parse_dotted_name();

    Program& program_;
    Lexer lexer_;
    Token current_, ahead_;
    std::optional<Error> error_;
    const size_t max_depth_;
    size_t depth_ = 0;
    StackGuard stack_;
    int loop_depth_ = 0;
    std::vector<MacroNode*> macros_;  // being parsed, outermost first
};

}  // namespace hokku::jinja
