// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "text/template/parser.h"

namespace hokku::jinja {

namespace {

// Jinja's precedences, low to high. Note that "~" binds tighter than "+".
enum Precedence : int { kNone, kOr, kAnd, kNot, kCompare, kSum, kConcat, kProduct, kPower };

int precedence_of(TokenType type) {
    switch (type) {
        case TokenType::equal:
        case TokenType::not_equal:
        case TokenType::less:
        case TokenType::less_equal:
        case TokenType::greater:
        case TokenType::greater_equal:
            return kCompare;
        case TokenType::add:
        case TokenType::sub:
            return kSum;
        case TokenType::tilde:
            return kConcat;
        case TokenType::mul:
        case TokenType::div:
        case TokenType::floor_div:
        case TokenType::mod:
            return kProduct;
        case TokenType::pow:
            return kPower;
        default:
            return kNone;
    }
}

CompareOp compare_op(TokenType type) {
    switch (type) {
        case TokenType::not_equal:
            return CompareOp::not_equal;
        case TokenType::less:
            return CompareOp::less;
        case TokenType::less_equal:
            return CompareOp::less_equal;
        case TokenType::greater:
            return CompareOp::greater;
        case TokenType::greater_equal:
            return CompareOp::greater_equal;
        default:
            return CompareOp::equal;
    }
}

}  // namespace

int Parser::current_precedence() const {
    if (!current_.is(TokenType::name)) return precedence_of(current_.type);
    if (current_.value == "or") return kOr;
    if (current_.value == "and") return kAnd;
    if (current_.value == "in") return kCompare;
    if (current_.value == "not" && ahead_.is_name("in")) return kCompare;
    return kNone;
}

const Node* Parser::parse_expression(bool with_conditional) {
    const Level level(depth_);
    if (!may_nest()) return nullptr;
    const uint32_t at = current_.offset;
    const Node* value = parse_binary(kOr);
    if (!with_conditional || !current_.is_name("if")) return value;
    auto* node = program_.make<ConditionalNode>(at);
    while (skip_name("if")) {
        const Node* const condition = parse_binary(kOr);
        node->choices.push_back({value, condition});
        if (skip_name("else")) {
            value = parse_binary(kOr);
            node->otherwise = value;
            if (current_.is_name("if")) node->otherwise = nullptr;  // it is a condition's value
        } else if (current_.is_name("if")) {
            // "a if b if c": the whole so far is the value of the next condition.
            value = node;
            node = program_.make<ConditionalNode>(at);
            if (!may_nest()) return nullptr;
        }
    }
    return node;
}

const Node* Parser::parse_binary(int min_precedence) {
    const Node* left =
        current_.is_name("not") && min_precedence <= kNot ? parse_negation() : parse_unary();
    while (!failed()) {
        const int precedence = current_precedence();
        if (precedence == kNone || precedence < min_precedence) break;
        switch (precedence) {
            case kOr:
            case kAnd:
                left = parse_logic(left, precedence);
                break;
            case kCompare:
                left = parse_compare(left);
                break;
            case kConcat:
                left = parse_concat(left);
                break;
            default:
                left = parse_chain(left, precedence);
                break;
        }
    }
    return failed() ? nullptr : left;
}

const Node* Parser::parse_negation() {
    const uint32_t at = current_.offset;
    bool negate = false;
    while (skip_name("not")) negate = !negate;
    return program_.make<NegationNode>(at, parse_binary(kCompare), negate);
}

const Node* Parser::parse_logic(const Node* left, int precedence) {
    const char* const word = precedence == kAnd ? "and" : "or";
    auto* const node = program_.make<LogicNode>(current_.offset, precedence == kAnd);
    node->items.push_back(left);
    while (skip_name(word)) node->items.push_back(parse_binary(precedence + 1));
    return node;
}

const Node* Parser::parse_compare(const Node* left) {
    auto* const node = program_.make<CompareNode>(current_.offset, left);
    while (!failed() && current_precedence() == kCompare) {
        CompareOp op = compare_op(current_.type);
        if (skip_name("not")) {
            op = CompareOp::not_in;
        } else if (current_.is_name("in")) {
            op = CompareOp::in;
        }
        advance();
        node->steps.emplace_back(op, parse_binary(kCompare + 1));
    }
    return node;
}

const Node* Parser::parse_concat(const Node* left) {
    auto* const node = program_.make<ConcatNode>(current_.offset);
    node->items.push_back(left);
    while (skip(TokenType::tilde)) node->items.push_back(parse_binary(kConcat + 1));
    return node;
}

const Node* Parser::parse_chain(const Node* left, int precedence) {
    auto* const node = program_.make<ChainNode>(current_.offset, left);
    while (!failed() && current_precedence() == precedence) {
        const TokenType op = current_.type;
        advance();
        node->steps.push_back({op, parse_binary(precedence + 1)});
    }
    return node;
}

// Signs bind looser than postfixes and tighter than filters: -x.y|abs is (-(x.y))|abs.
const Node* Parser::parse_unary() {
    const uint32_t at = current_.offset;
    std::string signs;
    while (current_.is(TokenType::sub) || current_.is(TokenType::add)) {
        signs += current_.is(TokenType::sub) ? '-' : '+';
        advance();
    }
    const Node* node = parse_primary();
    if (failed()) return nullptr;
    auto* chain = program_.make<PostfixNode>(at, node);
    parse_postfixes(*chain);
    if (!signs.empty()) {
        node = program_.make<SignNode>(at, chain->steps.empty() ? node : chain, std::move(signs));
        chain = program_.make<PostfixNode>(at, node);
    }
    parse_filters_and_tests(*chain);
    return chain->steps.empty() ? node : chain;
}

const Node* Parser::parse_primary() {
    const uint32_t at = current_.offset;
    switch (current_.type) {
        case TokenType::name:
            return parse_name_or_constant();
        case TokenType::string: {
            std::string text;
            while (current_.is(TokenType::string)) {  // neighbours join
                text += current_.value;
                advance();
            }
            return program_.make<LiteralNode>(at, program_.literal(std::move(text)));
        }
        case TokenType::integer:
        case TokenType::floating:
            return parse_number();
        case TokenType::left_paren: {
            advance();
            const Node* const inner = parse_tuple(true, "", true);
            expect(TokenType::right_paren);
            return inner;
        }
        case TokenType::left_bracket:
            return parse_list();
        case TokenType::left_brace:
            return parse_dict();
        default:
            fail_here(fmt::format("unexpected '{}'", describe(current_)));
            return nullptr;
    }
}

const Node* Parser::parse_name_or_constant() {
    const uint32_t at = current_.offset;
    const std::string name = std::move(current_.value);
    advance();
    if (name == "true" || name == "True") {
        return program_.make<LiteralNode>(at, Value::boolean(true));
    }
    if (name == "false" || name == "False") {
        return program_.make<LiteralNode>(at, Value::boolean(false));
    }
    if (name == "none" || name == "None") return program_.make<LiteralNode>(at, Value::none());
    for (MacroNode* const macro : macros_) {
        macro->uses_caller |= name == "caller";
        macro->uses_varargs |= name == "varargs";
        macro->uses_kwargs |= name == "kwargs";
    }
    return program_.make<NameNode>(at, program_.intern(name));
}

const Node* Parser::parse_number() {
    const uint32_t at = current_.offset;
    const std::string digits = std::move(current_.value);
    const bool is_floating = current_.is(TokenType::floating);
    advance();
    const char* const begin = digits.data();
    const char* const end = begin + digits.size();
    if (is_floating) {
        double value = 0;
        if (std::from_chars(begin, end, value).ec == std::errc::result_out_of_range) {
            value = digits.find("e-") == std::string::npos ? HUGE_VAL : 0.0;
        }
        return program_.make<LiteralNode>(at, Value::floating(value));
    }
    const char kind = digits.size() > 1 ? digits[1] : '0';
    const int base = kind == 'x' || kind == 'X'   ? 16
                     : kind == 'o' || kind == 'O' ? 8
                     : kind == 'b' || kind == 'B' ? 2
                                                  : 10;
    int64_t value = 0;
    const auto result = std::from_chars(base == 10 ? begin : begin + 2, end, value, base);
    if (result.ec == std::errc()) return program_.make<LiteralNode>(at, Value::integer(value));
    if (base != 10) {
        fail(at, "the number does not fit into 64 bits");
        return nullptr;
    }
    auto big = std::make_unique<BigInteger>(digits);
    Value literal(big.get());
    program_.literals.push_back(std::move(big));
    return program_.make<LiteralNode>(at, std::move(literal));
}

const Node* Parser::parse_tuple(bool with_conditional, std::string_view end_name,
                                bool is_parenthesised) {
    const uint32_t at = current_.offset;
    const auto at_end = [&] {
        return current_.is(TokenType::variable_end) || current_.is(TokenType::block_end) ||
               current_.is(TokenType::right_paren) ||
               (!end_name.empty() && current_.is_name(end_name));
    };
    const Node* first = nullptr;
    ListNode* tuple = nullptr;
    while (!failed() && !at_end()) {
        const Node* const item = parse_expression(with_conditional);
        if (tuple != nullptr) tuple->items.push_back(item);
        if (first == nullptr) first = item;
        if (!current_.is(TokenType::comma)) break;
        if (tuple == nullptr) {
            tuple = program_.make<ListNode>(at, true);
            tuple->items.push_back(first);
        }
        advance();
    }
    if (tuple != nullptr) return tuple;
    if (first == nullptr && !failed()) {
        if (is_parenthesised) return program_.make<ListNode>(at, true);
        fail_here(fmt::format("Expected an expression, got '{}'", describe(current_)));
    }
    return first;
}

const Node* Parser::parse_list() {
    auto* const node = program_.make<ListNode>(current_.offset, false);
    advance();
    while (!failed() && !current_.is(TokenType::right_bracket)) {
        if (!node->items.empty()) {
            expect(TokenType::comma);
            if (current_.is(TokenType::right_bracket)) break;
        }
        node->items.push_back(parse_expression());
    }
    expect(TokenType::right_bracket);
    return node;
}

const Node* Parser::parse_dict() {
    auto* const node = program_.make<DictNode>(current_.offset);
    advance();
    while (!failed() && !current_.is(TokenType::right_brace)) {
        if (!node->items.empty()) {
            expect(TokenType::comma);
            if (current_.is(TokenType::right_brace)) break;
        }
        const Node* const key = parse_expression();
        expect(TokenType::colon);
        node->items.emplace_back(key, parse_expression());
    }
    expect(TokenType::right_brace);
    return node;
}

void Parser::parse_postfixes(PostfixNode& chain) {
    while (!failed()) {
        if (current_.is(TokenType::dot)) {
            parse_attribute(chain);
        } else if (current_.is(TokenType::left_bracket)) {
            parse_subscript(chain);
        } else if (current_.is(TokenType::left_paren)) {
            parse_call(chain);
        } else {
            break;
        }
    }
}

void Parser::parse_filters_and_tests(PostfixNode& chain) {
    while (!failed()) {
        if (skip(TokenType::pipe)) {
            parse_filter(chain);
        } else if (current_.is_name("is")) {
            parse_test(chain);
        } else if (current_.is(TokenType::left_paren)) {
            parse_call(chain);
        } else {
            break;
        }
    }
}

void Parser::parse_attribute(PostfixNode& chain) {
    Postfix step;
    step.offset = current_.offset;
    advance();
    if (current_.is(TokenType::integer)) {
        step.type = Postfix::Type::item;
        step.item = parse_number();
    } else if (auto name = take_name()) {
        step.type = Postfix::Type::attribute;
        step.name = program_.literal(std::move(*name));
    }
    chain.steps.push_back(std::move(step));
}

void Parser::parse_subscript(PostfixNode& chain) {
    Postfix step;
    step.type = Postfix::Type::item;
    step.offset = current_.offset;
    advance();
    if (current_.is(TokenType::right_bracket)) fail_here("expected an index, got ']'");
    parse_slice_part(step);
    if (current_.is(TokenType::comma)) {  // a[1, 2] has a tuple as index
        auto* const tuple = program_.make<ListNode>(step.offset, true);
        tuple->items.push_back(step.item);
        while (skip(TokenType::comma) && !current_.is(TokenType::right_bracket)) {
            tuple->items.push_back(parse_expression());
        }
        if (step.type == Postfix::Type::slice) fail_here("a tuple of slices is not an index");
        step.item = tuple;
    }
    expect(TokenType::right_bracket);
    chain.steps.push_back(std::move(step));
}

void Parser::parse_slice_part(Postfix& step) {
    const auto at_end = [&] {
        return current_.is(TokenType::right_bracket) || current_.is(TokenType::comma) ||
               current_.is(TokenType::colon);
    };
    if (!current_.is(TokenType::colon)) step.item = parse_expression();
    if (!skip(TokenType::colon)) return;
    step.type = Postfix::Type::slice;
    if (!at_end()) step.stop = parse_expression();
    if (skip(TokenType::colon) && !at_end()) step.step = parse_expression();
}

std::string Parser::parse_dotted_name() {
    std::string name = take_name().value_or("");
    while (skip(TokenType::dot)) name += "." + take_name().value_or("");
    return name;
}

void Parser::parse_filter(PostfixNode& chain) {
    Postfix step;
    step.type = Postfix::Type::filter;
    step.offset = current_.offset;
    std::string name = parse_dotted_name();
    step.builtin = find_filter(name);
    step.name = program_.literal(std::move(name));
    if (current_.is(TokenType::left_paren)) step.arguments = parse_arguments();
    chain.steps.push_back(std::move(step));
}

void Parser::parse_test(PostfixNode& chain) {
    Postfix step;
    step.type = Postfix::Type::test;
    step.offset = current_.offset;
    advance();
    step.is_negated = skip_name("not");
    std::string name = parse_dotted_name();
    step.builtin = find_test(name);
    step.name = program_.literal(std::move(name));
    switch (current_.type) {
        case TokenType::left_paren:
            step.arguments = parse_arguments();
            break;
        case TokenType::name:
            if (current_.value == "is") fail_here("You cannot chain multiple tests with is");
            if (current_.value == "else" || current_.value == "or" || current_.value == "and")
                break;
            [[fallthrough]];
        case TokenType::string:
        case TokenType::integer:
        case TokenType::floating:
        case TokenType::left_bracket:
        case TokenType::left_brace: {
            const Level level(depth_);
            if (!may_nest()) return;
            const Node* argument = parse_primary();
            auto* const postfix = program_.make<PostfixNode>(step.offset, argument);
            parse_postfixes(*postfix);
            if (!postfix->steps.empty()) argument = postfix;
            step.arguments.positional.push_back(argument);
            break;
        }
        default:
            break;
    }
    chain.steps.push_back(std::move(step));
}

void Parser::parse_call(PostfixNode& chain) {
    Postfix step;
    step.type = Postfix::Type::call;
    step.offset = current_.offset;
    step.arguments = parse_arguments();
    chain.steps.push_back(std::move(step));
}

CallArguments Parser::parse_arguments() {
    CallArguments out;
    const uint32_t at = current_.offset;
    const auto ensure = [&](bool is_allowed) {
        if (!is_allowed) fail(at, "invalid syntax for function call expression");
    };
    expect(TokenType::left_paren);
    bool is_first = true;
    while (!failed() && !current_.is(TokenType::right_paren)) {
        if (!std::exchange(is_first, false)) {
            expect(TokenType::comma);
            if (current_.is(TokenType::right_paren)) break;
        }
        if (skip(TokenType::mul)) {
            ensure(out.star == nullptr && out.double_star == nullptr);
            out.star = parse_expression();
        } else if (skip(TokenType::pow)) {
            ensure(out.double_star == nullptr);
            out.double_star = parse_expression();
        } else if (current_.is(TokenType::name) && ahead_.is(TokenType::assign)) {
            ensure(out.double_star == nullptr);
            std::string name = std::move(current_.value);
            advance();
            advance();
            out.named.emplace_back(std::move(name), parse_expression());
        } else {
            ensure(out.star == nullptr && out.double_star == nullptr && out.named.empty());
            out.positional.push_back(parse_expression());
        }
    }
    expect(TokenType::right_paren);
    return out;
}

}  // namespace hokku::jinja
