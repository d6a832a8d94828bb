// SPDX-License-Identifier: Apache-2.0
#include "text/template/parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/template/unicode.h"

namespace hokku::jinja {

namespace {

constexpr size_t kMaxSourceBytes = 512u << 10;  // real templates have a few kilobytes
constexpr size_t kMaxParameters = 255;

}  // namespace

Parser::Parser(Program& program, size_t max_depth)
    : program_(program), lexer_(program.normalised), max_depth_(max_depth) {}

Result<std::unique_ptr<Program>> Parser::parse(std::string_view source, size_t max_depth) {
    if (source.size() > kMaxSourceBytes) {
        return Error{ErrorCode::limit_exceeded,
                     fmt::format("the template has {} bytes", source.size()), "",
                     fmt::format("at most {}", kMaxSourceBytes)};
    }
    auto program = std::make_unique<Program>();
    program->source = std::string(source);
    const size_t invalid = find_invalid_utf8(source);
    if (invalid != std::string_view::npos) {
        return Error{ErrorCode::bad_template, "the template is not UTF-8",
                     fmt::format("byte {}", invalid), ""};
    }
    program->normalised = normalise_source(source);
    Parser parser(*program, max_depth);
    parser.current_ = parser.lexer_.next();
    parser.ahead_ = parser.lexer_.next();
    if (parser.current_.is(TokenType::error)) parser.fail_here(parser.current_.value);
    program->body = parser.parse_body({});
    if (!parser.failed() && !parser.current_.is(TokenType::end)) {
        parser.fail_here(fmt::format("unexpected '{}'", describe(parser.current_)));
    }
    if (parser.error_) return std::move(*parser.error_);
    return program;
}

void Parser::fail(uint32_t offset, std::string message) {
    if (error_) return;
    error_ = Error{ErrorCode::bad_template, shorten_message(std::move(message)),
                   program_.place(offset), ""};
    current_ = Token{TokenType::end, offset, ""};  // nothing matches any more
    ahead_ = current_;
}

void Parser::advance() {
    if (failed()) return;
    current_ = std::move(ahead_);
    ahead_ = lexer_.next();
    if (current_.is(TokenType::error)) fail_here(current_.value);
}

bool Parser::skip(TokenType type) {
    if (!current_.is(type)) return false;
    advance();
    return true;
}

bool Parser::skip_name(std::string_view name) {
    if (!current_.is_name(name)) return false;
    advance();
    return true;
}

bool Parser::expect(TokenType type) {
    if (skip(type)) return true;
    fail_here(fmt::format("expected token '{}', got '{}'", describe(Token{type, 0, ""}),
                          describe(current_)));
    return false;
}

bool Parser::expect_name(std::string_view name) {
    if (skip_name(name)) return true;
    fail_here(fmt::format("expected token '{}', got '{}'", name, describe(current_)));
    return false;
}

std::optional<std::string> Parser::take_name() {
    if (!current_.is(TokenType::name)) {
        fail_here(fmt::format("expected a name, got '{}'", describe(current_)));
        return std::nullopt;
    }
    std::string name = std::move(current_.value);
    advance();
    return name;
}

bool Parser::may_nest() {
    if (failed()) return false;
    if (depth_ <= max_depth_ && !stack_.is_exhausted()) return true;
    fail_here(fmt::format("the template is nested deeper than {} levels", max_depth_));
    error_->code = ErrorCode::limit_exceeded;
    return false;
}

bool Parser::at_end_tag(std::initializer_list<std::string_view> end_tags) const {
    return std::any_of(end_tags.begin(), end_tags.end(),
                       [&](std::string_view tag) { return current_.is_name(tag); });
}

Body Parser::parse_body(std::initializer_list<std::string_view> end_tags) {
    Body body;
    while (!failed()) {
        const uint32_t at = current_.offset;
        if (current_.is(TokenType::data)) {
            body.push_back(program_.make<DataNode>(at, std::move(current_.value)));
            advance();
        } else if (skip(TokenType::variable_begin)) {
            const Node* const value = parse_tuple(true, "", false);
            expect(TokenType::variable_end);
            body.push_back(program_.make<OutputNode>(at, value));
        } else if (skip(TokenType::block_begin)) {
            if (at_end_tag(end_tags)) return body;
            const Node* const statement = parse_statement();
            expect(TokenType::block_end);
            if (statement != nullptr) body.push_back(statement);
        } else {
            break;
        }
    }
    if (!failed() && end_tags.size() > 0) {
        fail_here(fmt::format("unexpected end of template, looking for '{}'", *end_tags.begin()));
    }
    return body;
}

Body Parser::parse_block(std::initializer_list<std::string_view> end_tags) {
    const Level level(depth_);
    if (!may_nest()) return {};
    skip(TokenType::colon);
    expect(TokenType::block_end);
    return parse_body(end_tags);
}

Body Parser::parse_closed_block(std::string_view end_tag) {
    Body body = parse_block({end_tag});
    expect_name(end_tag);
    return body;
}

const Node* Parser::parse_statement() {
    const uint32_t at = current_.offset;
    const auto tag = take_name();
    if (!tag) return nullptr;
    if (*tag == "if") return parse_if(at);
    if (*tag == "for") return parse_for(at);
    if (*tag == "set") return parse_set(at);
    if (*tag == "with") return parse_with(at);
    if (*tag == "macro") return parse_macro(at);
    if (*tag == "call") return parse_call_block(at);
    if (*tag == "filter") return parse_filter_block(at);
    if (*tag == "generation" || *tag == "block") return parse_scope(*tag, at);
    if (*tag == "break" || *tag == "continue") return parse_jump(*tag, at);
    return parse_simple_statement(*tag, at);
}

const Node* Parser::parse_simple_statement(const std::string& tag, uint32_t at) {
    if (tag == "do") return program_.make<EvaluateNode>(at, parse_tuple(true, "", false));
    if (tag == "print") {
        auto* const values = program_.make<ConcatNode>(at);
        do {
            values->items.push_back(parse_expression());
        } while (skip(TokenType::comma));
        return program_.make<OutputNode>(at, values);
    }
    if (tag == "include" || tag == "import" || tag == "from" || tag == "extends") {
        fail(at,
             fmt::format("the tag '{}' is not available: chat templates see no other files", tag));
    } else {
        fail(at, fmt::format("Encountered unknown tag '{}'.", tag));
    }
    return nullptr;
}

const Node* Parser::parse_if(uint32_t at) {
    auto* const node = program_.make<BranchNode>(at);
    do {
        const Node* const condition = parse_tuple(false, "", false);
        node->arms.push_back({condition, parse_block({"elif", "else", "endif"})});
    } while (skip_name("elif"));
    if (skip_name("else")) node->otherwise = parse_block({"endif"});
    expect_name("endif");
    return node;
}

const Node* Parser::parse_for(uint32_t at) {
    auto* const node = program_.make<LoopNode>(at);
    node->target = parse_target("in", false);
    expect_name("in");
    node->sequence = parse_tuple(false, "recursive", false);
    if (skip_name("if")) node->filter = parse_expression();
    node->is_recursive = skip_name("recursive");
    ++loop_depth_;
    node->body = parse_block({"endfor", "else"});
    --loop_depth_;
    if (skip_name("else")) node->otherwise = parse_block({"endfor"});
    expect_name("endfor");
    return node;
}

const Node* Parser::parse_set(uint32_t at) {
    Target target = parse_target("", true);
    if (skip(TokenType::assign)) {
        const Node* const value = parse_tuple(true, "", false);
        return program_.make<AssignNode>(at, std::move(target), value);
    }
    auto* const node = program_.make<AssignBlockNode>(at);
    node->target = std::move(target);
    if (current_.is(TokenType::pipe)) {
        auto* const filters = program_.make<PostfixNode>(at, nullptr);
        while (skip(TokenType::pipe)) parse_filter(*filters);
        node->filters = filters;
    }
    node->body = parse_closed_block("endset");
    return node;
}

const Node* Parser::parse_with(uint32_t at) {
    auto* const node = program_.make<WithNode>(at);
    while (!failed() && !current_.is(TokenType::block_end)) {
        if (!node->values.empty()) expect(TokenType::comma);
        Target target = parse_target("", false);
        expect(TokenType::assign);
        node->values.emplace_back(std::move(target), parse_expression());
    }
    node->body = parse_closed_block("endwith");
    return node;
}

void Parser::parse_signature(MacroNode& macro) {
    expect(TokenType::left_paren);
    bool needs_fallback = false;
    while (!failed() && !current_.is(TokenType::right_paren)) {
        if (!macro.parameters.empty()) expect(TokenType::comma);
        MacroNode::Parameter parameter;
        parameter.name = name_target().name;
        if (skip(TokenType::assign)) {
            parameter.fallback = parse_expression();
            needs_fallback = true;
        } else if (needs_fallback) {
            fail_here("non-default argument follows default argument");
        }
        macro.parameters.push_back(parameter);
        if (macro.parameters.size() > kMaxParameters) fail_here("more than 255 parameters");
    }
    expect(TokenType::right_paren);
}

Body Parser::parse_macro_body(MacroNode& macro, std::string_view end_tag) {
    const int outer_loops = std::exchange(loop_depth_, 0);
    macros_.push_back(&macro);
    Body body = parse_closed_block(end_tag);
    macros_.pop_back();
    loop_depth_ = outer_loops;
    return body;
}

const Node* Parser::parse_macro(uint32_t at) {
    auto* const node = program_.make<MacroNode>(at);
    node->name = name_target().name;
    parse_signature(*node);
    node->body = parse_macro_body(*node, "endmacro");
    return node;
}

const Node* Parser::parse_call_block(uint32_t at) {
    auto* const node = program_.make<CallBlockNode>(at);
    auto* const caller = program_.make<MacroNode>(at);
    caller->name = program_.intern("caller");
    if (current_.is(TokenType::left_paren)) parse_signature(*caller);
    const Node* const call = parse_expression();
    if (failed()) return nullptr;
    const auto* const chain =
        call->type == NodeType::postfix ? static_cast<const PostfixNode*>(call) : nullptr;
    if (chain == nullptr || chain->steps.back().type != Postfix::Type::call) {
        fail(at, "expected call");
        return nullptr;
    }
    caller->body = parse_macro_body(*caller, "endcall");
    node->caller = caller;
    node->call = chain;
    return node;
}

const Node* Parser::parse_filter_block(uint32_t at) {
    auto* const node = program_.make<FilterBlockNode>(at);
    auto* const filters = program_.make<PostfixNode>(at, nullptr);
    do {
        parse_filter(*filters);
    } while (skip(TokenType::pipe));
    node->filters = filters;
    node->body = parse_closed_block("endfilter");
    return node;
}

const Node* Parser::parse_scope(const std::string& tag, uint32_t at) {
    auto* const node = program_.make<ScopeNode>(at);
    if (tag == "block") {
        const auto name = take_name();
        node->is_top_level = !skip_name("scoped");
        skip_name("required");
        node->body = parse_closed_block("endblock");
        if (name) skip_name(*name);
        return node;
    }
    const int outer_loops = std::exchange(loop_depth_, 0);
    node->body = parse_closed_block("endgeneration");
    loop_depth_ = outer_loops;
    return node;
}

const Node* Parser::parse_jump(const std::string& tag, uint32_t at) {
    if (loop_depth_ == 0) fail(at, fmt::format("'{}' outside of a loop", tag));
    return program_.make<JumpNode>(at, tag == "break");
}

Target Parser::name_target() {
    Target target;
    target.offset = current_.offset;
    const auto name = take_name();
    if (!name) return target;
    constexpr std::string_view kConstants[] = {"true", "false", "none", "True", "False", "None"};
    if (std::find(std::begin(kConstants), std::end(kConstants), *name) != std::end(kConstants)) {
        fail(target.offset, fmt::format("can't assign to '{}'", *name));
    }
    target.name = program_.intern(*name);
    return target;
}

Target Parser::parse_single_target(bool with_attributes) {
    const Level level(depth_);
    if (!may_nest()) return {};
    if (skip(TokenType::left_paren)) {
        Target target = parse_target("", false);
        expect(TokenType::right_paren);
        return target;
    }
    Target target = name_target();
    if (with_attributes && skip(TokenType::dot)) {
        target.type = Target::Type::attribute;
        if (auto attribute = take_name())
            target.attribute = program_.literal(std::move(*attribute));
    }
    return target;
}

Target Parser::parse_target(std::string_view end_name, bool with_attributes) {
    Target first = parse_single_target(with_attributes);
    if (!current_.is(TokenType::comma)) return first;
    Target tuple;
    tuple.type = Target::Type::tuple;
    tuple.offset = first.offset;
    tuple.items.push_back(std::move(first));
    while (skip(TokenType::comma)) {
        if (current_.is(TokenType::assign) || current_.is(TokenType::right_paren) ||
            current_.is(TokenType::block_end) ||
            (!end_name.empty() && current_.is_name(end_name))) {
            break;
        }
        tuple.items.push_back(parse_single_target(with_attributes));
    }
    return tuple;
}

}  // namespace hokku::jinja
