// SPDX-License-Identifier: Apache-2.0
// Expressions.
#include <fmt/format.h>

#include "text/template/access.h"
#include "text/template/compare.h"
#include "text/template/interpreter.h"
#include "text/template/operators.h"

namespace hokku::jinja {

Value Interpreter::eval(const Node& node) {
    if (node.type == NodeType::literal) return static_cast<const LiteralNode&>(node).value;
    if (!spend()) return fail("");
    if (node.type == NodeType::name) return eval_name(static_cast<const NameNode&>(node));
    const Level level(depth_);
    return may_nest() ? eval_nested(node) : fail("");
}

Value Interpreter::eval_nested(const Node& node) {
    switch (node.type) {
        case NodeType::list:
            return eval_list(static_cast<const ListNode&>(node));
        case NodeType::dict:
            return eval_dict(static_cast<const DictNode&>(node));
        case NodeType::chain:
            return eval_chain(static_cast<const ChainNode&>(node));
        case NodeType::concat:
            return eval_concat(static_cast<const ConcatNode&>(node));
        case NodeType::compare:
            return eval_compare(static_cast<const CompareNode&>(node));
        case NodeType::logic:
            return eval_logic(static_cast<const LogicNode&>(node));
        case NodeType::negation: {
            const auto& negation = static_cast<const NegationNode&>(node);
            return Value::boolean(is_truthy(eval(*negation.operand)) != negation.negate);
        }
        case NodeType::sign:
            return eval_sign(static_cast<const SignNode&>(node));
        case NodeType::conditional:
            return eval_conditional(static_cast<const ConditionalNode&>(node));
        case NodeType::postfix:
            return eval_postfix(static_cast<const PostfixNode&>(node));
        default:
            return fail("a statement stands where an expression must be");
    }
}

Value Interpreter::eval_name(const NameNode& node) {
    if (const Value* const found = scope_->find(node.id)) return *found;
    const std::string& name = program_.names[node.id];
    if (const Builtin* const global = find_global(name)) return Value::function(global);
    return undefined_name(name);
}

Value Interpreter::eval_list(const ListNode& node) {
    std::vector<Value> items;
    items.reserve(node.items.size());
    for (const Node* const item : node.items) items.push_back(eval(*item));
    return sequence(node.is_tuple ? Kind::tuple : Kind::list, std::move(items));
}

Value Interpreter::eval_dict(const DictNode& node) {
    const auto out = dict();
    for (const auto& [key_node, value_node] : node.items) {
        Value key = eval(*key_node);
        Value value = eval(*value_node);
        at(node.offset);
        if (failed() || !set_item(*out, std::move(key), std::move(value))) break;
    }
    return Value(out);
}

Value Interpreter::eval_chain(const ChainNode& node) {
    Value left = eval(*node.first);
    for (const ChainNode::Step& step : node.steps) {
        const Value right = eval(*step.operand);
        if (failed()) break;
        at(step.operand->offset);
        left = apply_operator(*this, step.op, left, right);
    }
    return left;
}

Value Interpreter::eval_concat(const ConcatNode& node) {
    std::vector<Value> items;
    items.reserve(node.items.size());
    for (const Node* const item : node.items) items.push_back(eval(*item));
    return failed() ? fail("") : concatenate(*this, items);
}

bool Interpreter::compare(CompareOp op, const Value& a, const Value& b) {
    switch (op) {
        case CompareOp::equal:
            return equal(a, b);
        case CompareOp::not_equal:
            return !equal(a, b);
        case CompareOp::less:
            return ordered(a, b, "<");
        case CompareOp::less_equal:
            return ordered(a, b, "<=");
        case CompareOp::greater:
            return ordered(a, b, ">");
        case CompareOp::greater_equal:
            return ordered(a, b, ">=");
        case CompareOp::in:
            return contains(*this, b, a);
        case CompareOp::not_in:
            return !contains(*this, b, a);
    }
    return false;
}

Value Interpreter::eval_compare(const CompareNode& node) {
    Value left = eval(*node.first);
    for (const auto& [op, operand] : node.steps) {
        Value right = eval(*operand);
        if (failed()) break;
        at(operand->offset);
        if (!compare(op, left, right)) return Value::boolean(false);
        left = std::move(right);
    }
    return Value::boolean(true);
}

Value Interpreter::eval_logic(const LogicNode& node) {
    Value value;
    for (const Node* const item : node.items) {
        value = eval(*item);
        if (failed() || is_truthy(value) != node.is_and) break;
    }
    return value;
}

Value Interpreter::eval_sign(const SignNode& node) {
    Value value = eval(*node.operand);
    at(node.offset);
    for (auto sign = node.signs.rbegin(); sign != node.signs.rend() && !failed(); ++sign) {
        value = apply_sign(*this, *sign, value);
    }
    return value;
}

Value Interpreter::eval_conditional(const ConditionalNode& node) {
    for (const auto& [value, condition] : node.choices) {
        const bool is_taken = is_truthy(eval(*condition));
        if (failed()) return fail("");
        if (is_taken) return eval(*value);
    }
    if (node.otherwise != nullptr) return eval(*node.otherwise);
    return undefined_hint(
        "the inline if-expression evaluated to false and no else section was defined.");
}

Value Interpreter::eval_postfix(const PostfixNode& node) {
    return apply_steps(node, eval(*node.base), Value());
}

Value Interpreter::apply_steps(const PostfixNode& node, Value value, const Value& caller) {
    for (size_t i = 0; i < node.steps.size(); ++i) {
        if (!spend()) return fail("");
        const Postfix& step = node.steps[i];
        at(step.offset);
        const bool is_last = i + 1 == node.steps.size();
        if (step.type == Postfix::Type::call) {
            value = apply_call(step, value, is_last ? caller : Value());
            continue;
        }
        if (step.type == Postfix::Type::attribute && !is_last &&
            node.steps[i + 1].type == Postfix::Type::call) {
            // A method that is called at once needs no object of its own.
            if (const Builtin* const method = find_method(value, step.name.as_string().view())) {
                value = apply_method(node.steps[++i], *method, value);
                continue;
            }
        }
        value = apply_step(step, value);
    }
    return value;
}

Value Interpreter::apply_step(const Postfix& step, const Value& value) {
    switch (step.type) {
        case Postfix::Type::attribute:
            return get_attribute(*this, value, step.name);
        case Postfix::Type::item: {
            const Value key = eval(*step.item);
            if (failed()) return fail("");
            at(step.offset);
            return get_item(*this, value, key);
        }
        case Postfix::Type::slice:
            return eval_slice(step, value);
        case Postfix::Type::filter:
        case Postfix::Type::test: {
            Arguments arguments;
            if (!eval_arguments(step.arguments, arguments)) return fail("");
            at(step.offset);
            const bool is_test = step.type == Postfix::Type::test;
            if (step.builtin == nullptr) {
                return fail(fmt::format("No {} named '{}' found.", is_test ? "test" : "filter",
                                        step.name.as_string().view()));
            }
            Value result = call_builtin(*this, *step.builtin, value, arguments);
            if (!is_test || failed()) return result;
            return step.is_negated ? Value::boolean(!is_truthy(result)) : result;
        }
        case Postfix::Type::call:
            break;
    }
    return fail("a call is not a plain step");
}

Value Interpreter::eval_slice(const Postfix& step, const Value& object) {
    const auto part = [&](const Node* node) { return node == nullptr ? Value() : eval(*node); };
    const Value start = part(step.item), stop = part(step.stop), by = part(step.step);
    if (failed()) return fail("");
    at(step.offset);
    return get_slice(*this, object, start, stop, by);
}

bool Interpreter::eval_arguments(const CallArguments& given, Arguments& arguments) {
    arguments.positional.reserve(given.positional.size());
    for (const Node* const node : given.positional) arguments.positional.push_back(eval(*node));
    for (const auto& [name, node] : given.named) arguments.named.emplace_back(name, eval(*node));
    if (given.star != nullptr && !collect(*this, eval(*given.star), arguments.positional)) {
        return false;
    }
    if (given.double_star != nullptr) {
        const Value more = eval(*given.double_star);
        if (failed()) return false;
        if (!more.is(Kind::dict)) {
            fail(fmt::format("argument after ** must be a mapping, not {}", type_name(more)));
            return false;
        }
        for (const Dict::Entry& entry : more.as_dict().entries) {
            if (!entry.key.is_string()) {
                fail("keywords must be strings");
                return false;
            }
            arguments.named.emplace_back(entry.key.as_string().view(), entry.value);
        }
    }
    return !failed();
}

Value Interpreter::apply_call(const Postfix& step, const Value& callee, const Value& caller) {
    Arguments arguments;
    if (!eval_arguments(step.arguments, arguments)) return fail("");
    if (!caller.is_missing()) arguments.named.emplace_back("caller", caller);
    at(step.offset);
    return call(callee, arguments);
}

Value Interpreter::apply_method(const Postfix& step, const Builtin& method, const Value& self) {
    Arguments arguments;
    if (!eval_arguments(step.arguments, arguments)) return fail("");
    at(step.offset);
    return call_builtin(*this, method, self, arguments);
}

}  // namespace hokku::jinja
