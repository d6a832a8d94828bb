// SPDX-License-Identifier: Apache-2.0
// Loops and the values that can be called: macros, recursive loops, cyclers, joiners.
#include <fmt/format.h>

#include <algorithm>

#include "text/template/access.h"
#include "text/template/builtin.h"
#include "text/template/interpreter.h"

namespace hokku::jinja {

void Scope::set(NameId name, Value value) {
    if (slots.empty() && variables.size() >= kFew) {
        for (auto& [id, held] : variables) {
            if (id >= slots.size()) slots.resize(id + 1);
            slots[id] = std::move(held);
        }
        variables.clear();
        heap->charge(this, slots.size() * sizeof(Value));
    }
    if (!slots.empty()) {
        if (name >= slots.size()) {
            heap->charge(this, (name + 1 - slots.size()) * sizeof(Value));
            slots.resize(name + 1);
        }
        slots[name] = std::move(value);
        return;
    }
    for (auto& [id, held] : variables) {
        if (id == name) {
            held = std::move(value);
            return;
        }
    }
    variables.emplace_back(name, std::move(value));
}

std::string_view macro_name(const Value& macro) {
    return macro.as<Macro>().name;
}

namespace {

// Looks at the item after the current one without taking it; missing at the end.
const Value& peek(Interpreter& interpreter, LoopState& loop) {
    if (loop.after.is_missing()) loop.after = interpreter.fetch_item(loop);
    return loop.after;
}

int64_t loop_length(Interpreter& interpreter, LoopState& loop) {
    if (loop.length) return *loop.length;
    const auto known = loop.node->filter == nullptr ? length_of(loop.iterable) : std::nullopt;
    if (known) {
        loop.length = static_cast<int64_t>(*known);
    } else {
        std::vector<Value> rest;
        const bool has_after = !loop.after.is_missing();
        for (Value item = interpreter.fetch_item(loop); !item.is_missing();
             item = interpreter.fetch_item(loop)) {
            rest.push_back(std::move(item));
        }
        loop.length = static_cast<int64_t>(rest.size()) + loop.index0 + 1 + (has_after ? 1 : 0);
        loop.buffered = std::move(rest);
        loop.num_taken = 0;
    }
    return *loop.length;
}

}  // namespace

Value loop_attribute(Runtime& runtime, const Value& value, std::string_view name) {
    // Loops are only made by interpreters.
    auto& interpreter = static_cast<Interpreter&>(runtime);
    auto& loop = value.as<LoopState>();
    if (name == "index0") return Value::integer(loop.index0);
    if (name == "index") return Value::integer(loop.index0 + 1);
    if (name == "first") return Value::boolean(loop.index0 == 0);
    if (name == "last") return Value::boolean(peek(interpreter, loop).is_missing());
    if (name == "length") return Value::integer(loop_length(interpreter, loop));
    if (name == "revindex") {
        return Value::integer(loop_length(interpreter, loop) - loop.index0);
    }
    if (name == "revindex0") {
        return Value::integer(loop_length(interpreter, loop) - loop.index0 - 1);
    }
    if (name == "depth0") return Value::size(loop.depth0);
    if (name == "depth") return Value::size(loop.depth0 + 1);
    if (name == "previtem") {
        return loop.index0 == 0 ? runtime.undefined_hint("there is no previous item") : loop.before;
    }
    if (name == "nextitem") {
        const Value& next = peek(interpreter, loop);
        return next.is_missing() ? runtime.undefined_hint("there is no next item") : next;
    }
    return {};
}

Value Interpreter::fetch_item(LoopState& loop) {
    if (loop.num_taken < loop.buffered.size()) return loop.buffered[loop.num_taken++];
    Value item;
    while (loop.cursor.is_open() && loop.cursor.next(*this, item)) {
        if (loop.node->filter == nullptr || passes_filter(loop, item)) return item;
        if (failed()) break;
    }
    loop.cursor.close();
    return {};
}

bool Interpreter::passes_filter(LoopState& loop, const Value& item) {
    const Ref<Scope> outer = std::exchange(scope_, make_object<Scope>(heap(), 0, loop.scope));
    assign(loop.node->target, item);
    const bool passes = is_truthy(eval(*loop.node->filter));
    scope_ = outer;
    return passes && !failed();
}

bool Interpreter::advance_loop(LoopState& loop) {
    Value item = loop.after.is_missing() ? fetch_item(loop) : std::exchange(loop.after, Value());
    if (item.is_missing() || failed()) return false;
    ++loop.index0;
    loop.before = std::exchange(loop.current, std::move(item));
    return true;
}

Interpreter::Flow Interpreter::run_loop(const LoopNode& node, const Value& iterable,
                                        Ref<Scope> outer, size_t depth0) {
    const Level level(depth_);
    if (!may_nest()) return Flow::normal;
    const auto loop = make_object<LoopState>(heap(), 0, &node, outer, depth0);
    loop->iterable = iterable;
    if (!loop->cursor.open(*this, iterable)) return Flow::normal;
    const Ref<Scope> saved = scope_;
    bool is_empty = true;
    while (advance_loop(*loop)) {
        // The scope of the last round serves again unless a macro kept it.
        if (scope_->parent.get() != outer.get() || scope_.get() == saved.get() ||
            scope_->references > 1) {
            scope_ = make_object<Scope>(heap(), 0, outer);
        } else {
            scope_->reset();
        }
        if (loop_name_ < program_.names.size()) scope_->set(loop_name_, Value(loop));
        assign(node.target, loop->current);
        const Flow flow = exec(node.body);
        if (failed() || flow == Flow::break_loop) break;
        // As in Jinja, a round that was left early does not count for "else".
        if (flow == Flow::normal) is_empty = false;
    }
    scope_ = saved;
    if (!is_empty || node.otherwise.empty() || failed()) return Flow::normal;
    scope_ = make_object<Scope>(heap(), 0, outer);
    const Flow flow = exec(node.otherwise);
    scope_ = saved;
    return flow;
}

Value Interpreter::call_loop(LoopState& loop, Arguments& arguments) {
    if (!loop.node->is_recursive) {
        return fail("The loop must have the 'recursive' marker to be called recursively.");
    }
    if (arguments.size() != 1 || !arguments.named.empty()) {
        return fail("loop() takes exactly one argument");
    }
    Text out;
    Text* const outer_output = std::exchange(output_, &out);
    run_loop(*loop.node, arguments[0], loop.scope, loop.depth0 + 1);
    output_ = outer_output;
    return string(std::move(out));
}

Value Interpreter::call(const Value& callee, Arguments& arguments) {
    switch (callee.kind()) {
        case Kind::function:
            return call_builtin(*this, callee.as_function(), Value(), arguments);
        case Kind::method: {
            const Method& method = callee.as<Method>();
            return call_builtin(*this, *method.builtin, method.self, arguments);
        }
        case Kind::macro:
            return call_macro(callee.as<Macro>(), arguments);
        case Kind::loop:
            return call_loop(callee.as<LoopState>(), arguments);
        case Kind::joiner: {
            auto& joiner = callee.as<Joiner>();
            return std::exchange(joiner.is_used, true) ? joiner.separator : string("");
        }
        case Kind::undefined:
            return fail_undefined(callee);
        default:
            return fail(fmt::format("'{}' object is not callable", type_name(callee)));
    }
}

Value Interpreter::call_macro(const Macro& macro, Arguments& arguments) {
    const Level level(depth_);
    if (!may_nest()) return fail("");
    const uint32_t called_from = offset_;
    const auto scope = make_object<Scope>(heap(), 0, macro.scope);
    if (!bind_parameters(macro, arguments, *scope)) return fail("");
    std::vector<const MacroNode::Parameter*> unbound;
    for (const MacroNode::Parameter& parameter : macro.node->parameters) {
        if (scope->find_here(parameter.name) != nullptr) continue;
        scope->set(parameter.name, undefined_hint(fmt::format("parameter '{}' was not provided",
                                                              program_.names[parameter.name])));
        if (parameter.fallback != nullptr) unbound.push_back(&parameter);
    }
    // Defaults see the parameters before them, and none of the same name outside.
    const Ref<Scope> outer = std::exchange(scope_, scope);
    for (const auto* parameter : unbound) scope->set(parameter->name, eval(*parameter->fallback));
    scope_ = outer;
    Text out;
    capture(macro.node->body, scope, out);
    if (!failed()) at(called_from);
    return string(std::move(out));
}

bool Interpreter::bind_parameters(const Macro& macro, Arguments& arguments, Scope& scope) {
    const auto& parameters = macro.node->parameters;
    for (size_t i = 0; i < parameters.size(); ++i) {
        const NameId id = parameters[i].name;
        if (i < arguments.size()) {
            scope.set(id, arguments[i]);
            continue;
        }
        if (!spend(arguments.named.size() / 4)) return false;
        const auto it =
            std::find_if(arguments.named.begin(), arguments.named.end(),
                         [&](const auto& named) { return named.first == program_.names[id]; });
        if (it == arguments.named.end()) continue;
        scope.set(id, std::move(it->second));
        arguments.named.erase(it);
    }
    return bind_extras(macro, arguments, scope);
}

// caller, kwargs and varargs, which exist only in macros that use them.
bool Interpreter::bind_extras(const Macro& macro, Arguments& arguments, Scope& scope) {
    const MacroNode& node = *macro.node;
    const auto is_caller = [](const auto& named) { return named.first == "caller"; };
    const bool has_caller_parameter =
        std::any_of(node.parameters.begin(), node.parameters.end(),
                    [&](const auto& parameter) { return parameter.name == caller_name_; });
    if (node.uses_caller && !has_caller_parameter) {
        const auto it = std::find_if(arguments.named.begin(), arguments.named.end(), is_caller);
        if (it != arguments.named.end()) {
            scope.set(caller_name_, std::move(it->second));
            arguments.named.erase(it);
        } else {
            scope.set(caller_name_, undefined_hint("No caller defined"));
        }
    }
    if (node.uses_kwargs) {
        const auto rest = dict();
        for (auto& [name, value] : arguments.named) rest->set(string(name), std::move(value));
        scope.set(kwargs_name_, Value(rest));
    } else if (!arguments.named.empty()) {
        fail(fmt::format("macro '{}' takes no keyword argument '{}'", macro.name,
                         arguments.named.front().first));
        return false;
    }
    const size_t num_parameters = node.parameters.size();
    if (node.uses_varargs) {
        const size_t begin = std::min(num_parameters, arguments.size());
        scope.set(varargs_name_,
                  tuple({arguments.positional.begin() + static_cast<std::ptrdiff_t>(begin),
                         arguments.positional.end()}));
    } else if (arguments.size() > num_parameters) {
        fail(fmt::format("macro '{}' takes not more than {} argument(s)", macro.name,
                         num_parameters));
        return false;
    }
    return true;
}

}  // namespace hokku::jinja
