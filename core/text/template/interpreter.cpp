// SPDX-License-Identifier: Apache-2.0
#include "text/template/interpreter.h"

#include <fmt/format.h>

#include <utility>

#include "text/template/repr.h"

namespace hokku::jinja {

namespace {

constexpr NameId kUnused = ~NameId{0};

NameId find_name(const Program& program, const char* name) {
    const auto it = program.name_ids.find(name);
    return it == program.name_ids.end() ? kUnused : it->second;
}

}  // namespace

Interpreter::Interpreter(const Program& program, const TemplateLimits& limits, const std::tm& now,
                         std::stop_token stop)
    : Runtime(limits, std::move(stop)),
      program_(program),
      top_(make_object<Scope>(heap(), program.names.size() * sizeof(Value), program.names.size())),
      loop_name_(find_name(program, "loop")),
      caller_name_(find_name(program, "caller")),
      varargs_name_(find_name(program, "varargs")),
      kwargs_name_(find_name(program, "kwargs")) {
    set_now(now);
    scope_ = top_;
}

void Interpreter::define(std::string_view name, Value value) {
    const auto it = program_.name_ids.find(std::string(name));
    if (it != program_.name_ids.end()) top_->slots[it->second] = std::move(value);
}

Text Interpreter::run() {
    Text out;
    output_ = &out;
    exec(program_.body);
    output_ = nullptr;
    return out;
}

std::string Interpreter::describe_place() const {
    return program_.place(offset_);
}

bool Interpreter::may_nest() {
    if (failed()) return false;
    if (depth_ <= limits().max_depth && !stack().is_exhausted()) return true;
    fail_limit(fmt::format("the template recurses deeper than {} levels", limits().max_depth));
    return false;
}

bool Interpreter::check_output(size_t more_bytes) {
    if (output_->size() + more_bytes <= limits().max_output_bytes) return true;
    fail_limit(fmt::format("the output grows beyond {} bytes", limits().max_output_bytes));
    return false;
}

void Interpreter::emit(std::string_view text) {
    if (check_output(text.size()) && spend_bytes(text.size())) output_->add(text);
}

void Interpreter::emit(const Value& value) {
    if (value.is_string()) {
        const Text& text = value.as_string().text;
        if (check_output(text.size()) && spend_bytes(text.size())) output_->add(text);
        return;
    }
    append_str(*this, *output_, value);
    check_output(0);
}

Interpreter::Flow Interpreter::exec(const Body& body) {
    const Level level(depth_);
    if (!may_nest()) return Flow::normal;
    for (const Node* const node : body) {
        if (!spend()) return Flow::normal;
        const Flow flow = exec(*node);
        if (flow != Flow::normal) return flow;
    }
    return Flow::normal;
}

Interpreter::Flow Interpreter::exec(const Node& node) {
    at(node.offset);
    switch (node.type) {
        case NodeType::data:
            emit(static_cast<const DataNode&>(node).text);
            break;
        case NodeType::output:
            emit(eval(*static_cast<const OutputNode&>(node).value));
            break;
        case NodeType::evaluate:
            eval(*static_cast<const EvaluateNode&>(node).value);
            break;
        case NodeType::branch:
            return exec_branch(static_cast<const BranchNode&>(node));
        case NodeType::loop:
            return exec_loop(static_cast<const LoopNode&>(node));
        case NodeType::assign: {
            const auto& assignment = static_cast<const AssignNode&>(node);
            Value value = eval(*assignment.value);
            at(node.offset);
            assign(assignment.target, std::move(value));
            break;
        }
        case NodeType::assign_block:
            return exec_assign_block(static_cast<const AssignBlockNode&>(node));
        case NodeType::with:
            return exec_with(static_cast<const WithNode&>(node));
        case NodeType::macro:
            define_macro(static_cast<const MacroNode&>(node));
            break;
        case NodeType::call_block:
            exec_call_block(static_cast<const CallBlockNode&>(node));
            break;
        case NodeType::filter_block:
            return exec_filter_block(static_cast<const FilterBlockNode&>(node));
        case NodeType::scope:
            return exec_scope(static_cast<const ScopeNode&>(node));
        case NodeType::jump:
            return static_cast<const JumpNode&>(node).is_break ? Flow::break_loop
                                                               : Flow::next_round;
        default:
            fail("an expression stands where a statement must be");
            break;
    }
    return Flow::normal;
}

Interpreter::Flow Interpreter::exec_branch(const BranchNode& node) {
    for (const BranchNode::Arm& arm : node.arms) {
        const bool is_taken = is_truthy(eval(*arm.condition));
        if (failed()) return Flow::normal;
        if (is_taken) return exec(arm.body);
    }
    return exec(node.otherwise);
}

Interpreter::Flow Interpreter::exec_loop(const LoopNode& node) {
    const Value iterable = eval(*node.sequence);
    if (failed()) return Flow::normal;
    at(node.offset);
    return run_loop(node, iterable, scope_, 0);
}

Interpreter::Flow Interpreter::capture(const Body& body, const Ref<Scope>& scope, Text& out) {
    Text* const outer_output = std::exchange(output_, &out);
    const Ref<Scope> outer_scope = std::exchange(scope_, scope);
    const Flow flow = exec(body);
    scope_ = outer_scope;
    output_ = outer_output;
    return flow;
}

// A block that a loop is left from assigns and prints nothing.
Interpreter::Flow Interpreter::exec_assign_block(const AssignBlockNode& node) {
    Text text;
    const Flow flow = capture(node.body, make_object<Scope>(heap(), 0, scope_), text);
    if (flow != Flow::normal) return flow;
    Value value = string(std::move(text));
    if (node.filters != nullptr) value = apply_steps(*node.filters, std::move(value), Value());
    at(node.offset);
    assign(node.target, std::move(value));
    return Flow::normal;
}

Interpreter::Flow Interpreter::exec_with(const WithNode& node) {
    const auto inner = make_object<Scope>(heap(), 0, scope_);
    const Ref<Scope> outer = scope_;
    for (const auto& [target, expression] : node.values) {
        Value value = eval(*expression);  // sees the outer variables only
        scope_ = inner;
        assign(target, std::move(value));
        scope_ = outer;
    }
    scope_ = inner;
    const Flow flow = exec(node.body);
    scope_ = outer;
    return flow;
}

void Interpreter::define_macro(const MacroNode& node) {
    scope_->set(node.name,
                Value(make_object<Macro>(heap(), 0, &node, program_.names[node.name], scope_)));
}

void Interpreter::exec_call_block(const CallBlockNode& node) {
    const Value caller(make_object<Macro>(heap(), 0, node.caller, "", scope_));
    const Value base = eval(*node.call->base);
    emit(apply_steps(*node.call, base, caller));
}

Interpreter::Flow Interpreter::exec_filter_block(const FilterBlockNode& node) {
    Text text;
    const Flow flow = capture(node.body, make_object<Scope>(heap(), 0, scope_), text);
    if (flow == Flow::normal) emit(apply_steps(*node.filters, string(std::move(text)), Value()));
    return flow;
}

Interpreter::Flow Interpreter::exec_scope(const ScopeNode& node) {
    const Ref<Scope> outer = scope_;
    scope_ = make_object<Scope>(heap(), 0, node.is_top_level ? top_ : scope_);
    const Flow flow = exec(node.body);
    scope_ = outer;
    return flow;
}

void Interpreter::assign(const Target& target, Value value) {
    if (failed()) return;
    switch (target.type) {
        case Target::Type::name:
            scope_->set(target.name, std::move(value));
            break;
        case Target::Type::attribute: {
            const Value* const found = scope_->find(target.name);
            if (found == nullptr || !found->is(Kind::name_space)) {
                fail("cannot assign attribute on non-namespace object");
                return;
            }
            found->as<Namespace>().attributes->set(target.attribute, std::move(value));
            break;
        }
        case Target::Type::tuple:
            assign_tuple(target, value);
            break;
    }
}

void Interpreter::assign_tuple(const Target& target, const Value& value) {
    Cursor cursor;
    if (!is_iterable(value)) {
        fail(fmt::format("cannot unpack non-iterable {} object", type_name(value)));
        return;
    }
    if (!cursor.open(*this, value)) return;
    std::vector<Value> items;
    Value item;
    const size_t wanted = target.items.size();
    while (items.size() <= wanted && cursor.next(*this, item)) items.push_back(std::move(item));
    if (failed()) return;
    if (items.size() > wanted) {
        fail(fmt::format("too many values to unpack (expected {})", wanted));
    } else if (items.size() < wanted) {
        fail(
            fmt::format("not enough values to unpack (expected {}, got {})", wanted, items.size()));
    }
    for (size_t i = 0; i < wanted && !failed(); ++i) assign(target.items[i], std::move(items[i]));
}

}  // namespace hokku::jinja
