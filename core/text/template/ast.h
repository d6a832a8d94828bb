// SPDX-License-Identifier: Apache-2.0
// The syntax tree of a template. Chains of operators, postfixes and branches are lists, not nested
// nodes, so that depth of the tree is depth of the text's own nesting. Nodes belong to a Program.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/template/builtin.h"
#include "text/template/lexer.h"
#include "text/template/value.h"

namespace hokku::jinja {

/// Index of a variable name in Program::names.
using NameId = uint32_t;

enum class NodeType : uint8_t {
    // Expressions.
    literal,
    name,
    list,  // also tuple
    dict,
    chain,
    concat,
    compare,
    logic,
    negation,
    sign,
    conditional,
    postfix,
    // Statements.
    data,
    output,
    branch,
    loop,
    assign,
    assign_block,
    with,
    macro,
    call_block,
    filter_block,
    scope,
    evaluate,
    jump,
};

struct Node {
    Node(NodeType node_type, uint32_t at) : type(node_type), offset(at) {}
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;
    virtual ~Node() = default;
    const NodeType type;
    const uint32_t offset;  ///< Byte in the normalised source.
};

using Body = std::vector<const Node*>;

struct LiteralNode : Node {
    LiteralNode(uint32_t at, Value constant)
        : Node(NodeType::literal, at), value(std::move(constant)) {}
    const Value value;
};

struct NameNode : Node {
    NameNode(uint32_t at, NameId name) : Node(NodeType::name, at), id(name) {}
    const NameId id;
};

struct ListNode : Node {
    ListNode(uint32_t at, bool tuple) : Node(NodeType::list, at), is_tuple(tuple) {}
    const bool is_tuple;
    std::vector<const Node*> items;
};

struct DictNode : Node {
    explicit DictNode(uint32_t at) : Node(NodeType::dict, at) {}
    std::vector<std::pair<const Node*, const Node*>> items;
};

/// Left-associative operators of one precedence: a + b - c.
struct ChainNode : Node {
    struct Step {
        TokenType op;
        const Node* operand;
    };
    ChainNode(uint32_t at, const Node* left) : Node(NodeType::chain, at), first(left) {}
    const Node* first;
    std::vector<Step> steps;
};

struct ConcatNode : Node {
    explicit ConcatNode(uint32_t at) : Node(NodeType::concat, at) {}
    std::vector<const Node*> items;
};

enum class CompareOp : uint8_t {
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    in,
    not_in
};

struct CompareNode : Node {
    CompareNode(uint32_t at, const Node* left) : Node(NodeType::compare, at), first(left) {}
    const Node* first;
    std::vector<std::pair<CompareOp, const Node*>> steps;
};

/// and / or over any number of operands.
struct LogicNode : Node {
    LogicNode(uint32_t at, bool conjunction) : Node(NodeType::logic, at), is_and(conjunction) {}
    const bool is_and;
    std::vector<const Node*> items;
};

struct NegationNode : Node {
    NegationNode(uint32_t at, const Node* expression, bool odd)
        : Node(NodeType::negation, at), operand(expression), negate(odd) {}
    const Node* operand;
    const bool negate;  ///< false for an even number of "not": only converts to bool.
};

struct SignNode : Node {
    SignNode(uint32_t at, const Node* expression, std::string written)
        : Node(NodeType::sign, at), operand(expression), signs(std::move(written)) {}
    const Node* operand;
    const std::string signs;  ///< As written; the last one applies first.
};

/// a if b else c if d else e.
struct ConditionalNode : Node {
    explicit ConditionalNode(uint32_t at) : Node(NodeType::conditional, at) {}
    struct Choice {
        const Node *value, *condition;
    };
    std::vector<Choice> choices;
    const Node* otherwise = nullptr;
};

struct CallArguments {
    std::vector<const Node*> positional;
    std::vector<std::pair<std::string, const Node*>> named;
    const Node *star = nullptr, *double_star = nullptr;
};

/// .name, [item], [a:b:c], (call), |filter, is test: one step of a postfix chain.
struct Postfix {
    enum class Type : uint8_t { attribute, item, slice, call, filter, test };
    Type type = Type::attribute;
    bool is_negated = false;  ///< "is not".
    uint32_t offset = 0;
    Value name;                        ///< String: attribute, filter or test name.
    const Builtin* builtin = nullptr;  ///< Filter or test; nullptr if unknown, an error when run.
    const Node* item = nullptr;        ///< Key, or start of the slice.
    const Node *stop = nullptr, *step = nullptr;
    CallArguments arguments;
};

struct PostfixNode : Node {
    PostfixNode(uint32_t at, const Node* expression)
        : Node(NodeType::postfix, at), base(expression) {}
    const Node* base;  ///< nullptr in filter blocks: the captured text.
    std::vector<Postfix> steps;
};

/// Where a value is assigned to: a name, a namespace attribute or a tuple of targets.
struct Target {
    enum class Type : uint8_t { name, attribute, tuple };
    Type type = Type::name;
    uint32_t offset = 0;
    NameId name = 0;
    Value attribute;  ///< String.
    std::vector<Target> items;
};

struct DataNode : Node {
    DataNode(uint32_t at, std::string data) : Node(NodeType::data, at), text(std::move(data)) {}
    const std::string text;
};

struct OutputNode : Node {
    OutputNode(uint32_t at, const Node* expression)
        : Node(NodeType::output, at), value(expression) {}
    const Node* value;
};

/// {% do %}: evaluates and drops the value.
struct EvaluateNode : Node {
    EvaluateNode(uint32_t at, const Node* expression)
        : Node(NodeType::evaluate, at), value(expression) {}
    const Node* value;
};

struct BranchNode : Node {
    explicit BranchNode(uint32_t at) : Node(NodeType::branch, at) {}
    struct Arm {
        const Node* condition;
        Body body;
    };
    std::vector<Arm> arms;
    Body otherwise;
};

struct LoopNode : Node {
    explicit LoopNode(uint32_t at) : Node(NodeType::loop, at) {}
    Target target;
    const Node *sequence = nullptr, *filter = nullptr;
    bool is_recursive = false;
    Body body, otherwise;
};

struct AssignNode : Node {
    AssignNode(uint32_t at, Target to, const Node* expression)
        : Node(NodeType::assign, at), target(std::move(to)), value(expression) {}
    const Target target;
    const Node* value;
};

struct AssignBlockNode : Node {
    explicit AssignBlockNode(uint32_t at) : Node(NodeType::assign_block, at) {}
    Target target;
    const PostfixNode* filters = nullptr;
    Body body;
};

struct WithNode : Node {
    explicit WithNode(uint32_t at) : Node(NodeType::with, at) {}
    std::vector<std::pair<Target, const Node*>> values;
    Body body;
};

struct MacroNode : Node {
    explicit MacroNode(uint32_t at) : Node(NodeType::macro, at) {}
    struct Parameter {
        NameId name = 0;
        const Node* fallback = nullptr;
    };
    NameId name = 0;
    std::vector<Parameter> parameters;
    bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
    Body body;
};

/// {% call(parameters) macro(...) %}: the body is an unnamed macro, given as `caller`.
struct CallBlockNode : Node {
    explicit CallBlockNode(uint32_t at) : Node(NodeType::call_block, at) {}
    const MacroNode* caller = nullptr;
    const PostfixNode* call = nullptr;
};

struct FilterBlockNode : Node {
    explicit FilterBlockNode(uint32_t at) : Node(NodeType::filter_block, at) {}
    const PostfixNode* filters = nullptr;
    Body body;
};

/// A body with variables of its own: generation, block.
struct ScopeNode : Node {
    explicit ScopeNode(uint32_t at) : Node(NodeType::scope, at) {}
    bool is_top_level = false;  ///< Sees only the template's outermost variables.
    Body body;
};

struct JumpNode : Node {
    JumpNode(uint32_t at, bool out) : Node(NodeType::jump, at), is_break(out) {}
    const bool is_break;
};

/// A parsed template. Immutable; shared by any number of renderings at once.
struct Program {
    std::string source;      ///< As given.
    std::string normalised;  ///< What offsets refer to.
    Body body;
    std::vector<std::string> names;
    std::map<std::string, NameId> name_ids;  ///< Sorted: no names of a file can collide.
    std::vector<std::unique_ptr<Object>> literals;
    std::vector<std::unique_ptr<Node>> nodes;  ///< After the literals, which they refer to.

    NameId intern(std::string_view name);
    /// A string that lives as long as the program and is never counted.
    Value literal(std::string text);
    /// "line 3, column 7" of an offset.
    [[nodiscard]] std::string place(uint32_t offset) const;
    template <class T, class... Args>
    T* make(Args&&... args) {
        auto node = std::make_unique<T>(std::forward<Args>(args)...);
        T* const out = node.get();
        nodes.push_back(std::move(node));
        return out;
    }
};

}  // namespace hokku::jinja
