// SPDX-License-Identifier: Apache-2.0
// Interpreter: runs a program once, over data, into a text.
#pragma once

#include <string>
#include <string_view>

#include "text/template/ast.h"
#include "text/template/macro.h"
#include "text/template/runtime.h"
#include "text/template/stack_guard.h"

namespace hokku::jinja {

/// Threads: one thread at a time; any number of interpreters may share a program.
class Interpreter : public Runtime {
  public:
    Interpreter(const Program& program, const TemplateLimits& limits, const std::tm& now,
                std::stop_token stop = {});

    /// Sets a variable of the outermost scope. Names that the program does not use are dropped.
    void define(std::string_view name, Value value);
    /// The whole output; to be asked for failed() afterwards.
    Text run();

    Value call(const Value& callee, Arguments& arguments) override;
    /// The next item of a loop that passes its filter; missing at the end.
    Value fetch_item(LoopState& loop);

  protected:
    std::string describe_place() const override;

  private:
    enum class Flow { normal, break_loop, next_round };

    // Statements (interpreter.cpp).
    Flow exec(const Body& body);
    Flow exec(const Node& node);
    Flow exec_branch(const BranchNode& node);
    Flow exec_loop(const LoopNode& node);
    Flow exec_assign_block(const AssignBlockNode& node);
    Flow exec_with(const WithNode& node);
    void exec_call_block(const CallBlockNode& node);
    Flow exec_filter_block(const FilterBlockNode& node);
    Flow exec_scope(const ScopeNode& node);
    void define_macro(const MacroNode& node);
    void emit(std::string_view text);
    void emit(const Value& value);
    bool check_output(size_t more_bytes);
    void assign(const Target& target, Value value);
    void assign_tuple(const Target& target, const Value& value);

    // Loops and macros (calls.cpp).
    Flow run_loop(const LoopNode& node, const Value& iterable, Ref<Scope> outer, size_t depth0);
    /// Moves a loop on by one item; false at its end.
    bool advance_loop(LoopState& loop);
    bool passes_filter(LoopState& loop, const Value& item);
    Value call_macro(const Macro& macro, Arguments& arguments);
    bool bind_parameters(const Macro& macro, Arguments& arguments, Scope& scope);
    bool bind_extras(const Macro& macro, Arguments& arguments, Scope& scope);
    Value call_loop(LoopState& loop, Arguments& arguments);

    // Expressions (evaluate.cpp).
    Value eval(const Node& node);
    Value eval_nested(const Node& node);
    Value eval_name(const NameNode& node);
    Value eval_list(const ListNode& node);
    Value eval_dict(const DictNode& node);
    Value eval_chain(const ChainNode& node);
    Value eval_concat(const ConcatNode& node);
    Value eval_compare(const CompareNode& node);
    bool compare(CompareOp op, const Value& a, const Value& b);
    Value eval_logic(const LogicNode& node);
    Value eval_sign(const SignNode& node);
    Value eval_conditional(const ConditionalNode& node);
    Value eval_postfix(const PostfixNode& node);
    /// The steps of a chain applied to a value; `caller` is passed to the last call if present.
    Value apply_steps(const PostfixNode& node, Value value, const Value& caller);
    Value apply_step(const Postfix& step, const Value& value);
    Value apply_call(const Postfix& step, const Value& callee, const Value& caller);
    Value apply_method(const Postfix& step, const Builtin& method, const Value& self);
    Value eval_slice(const Postfix& step, const Value& object);
    bool eval_arguments(const CallArguments& given, Arguments& arguments);

    /// Whether one more level of recursion is allowed; fails if not.
    bool may_nest();
    void at(uint32_t offset) { offset_ = offset; }

    /// Runs `body` with its own variables, its output going to `out`.
    Flow capture(const Body& body, const Ref<Scope>& scope, Text& out);

    const Program& program_;
    Ref<Scope> scope_;
    Ref<Scope> top_;
    Text* output_ = nullptr;
    size_t depth_ = 0;
    uint32_t offset_ = 0;
    NameId loop_name_, caller_name_, varargs_name_, kwargs_name_;
};

}  // namespace hokku::jinja
