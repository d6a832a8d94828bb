// SPDX-License-Identifier: Apache-2.0
// The values that carry code and variables: Scope, Macro and the loop variable.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "text/template/ast.h"
#include "text/template/iterator.h"
#include "text/template/value.h"

namespace hokku::jinja {

/// The variables of one block; looked up outwards. The outermost scope has a slot for every name.
struct Scope : Object {
    explicit Scope(Ref<Scope> outer) : Object(Kind::scope), parent(std::move(outer)) {}
    explicit Scope(size_t num_names) : Object(Kind::scope), slots(num_names) {}
    void clear() override {
        parent = Ref<Scope>();
        std::vector<Value>().swap(slots);
        std::vector<std::pair<NameId, Value>>().swap(variables);
    }
    void set(NameId name, Value value);
    /// The value in this scope alone; nullptr if the name is not bound here.
    [[nodiscard]] const Value* find_here(NameId name) const {
        if (!slots.empty())
            return name < slots.size() && !slots[name].is_missing() ? &slots[name] : nullptr;
        for (const auto& [id, held] : variables) {
            if (id == name) return &held;
        }
        return nullptr;
    }
    /// nullptr if the name is bound nowhere.
    [[nodiscard]] const Value* find(NameId name) const {
        for (const Scope* scope = this; scope != nullptr; scope = scope->parent.get()) {
            if (const Value* const found = scope->find_here(name)) return found;
        }
        return nullptr;
    }
    void reset() {
        slots.clear();
        variables.clear();
    }

    static constexpr size_t kFew = 32;
    Ref<Scope> parent;
    std::vector<std::pair<NameId, Value>> variables;  // while there are few
    std::vector<Value> slots;                         // by name: of many, and of the outermost
};

/// A macro with the scope it was defined in.
struct Macro : Object {
    Macro(const MacroNode* macro, std::string_view shown_name, Ref<Scope> defined_in)
        : Object(Kind::macro), node(macro), name(shown_name), scope(std::move(defined_in)) {}
    void clear() override { scope = Ref<Scope>(); }
    const MacroNode* const node;
    const std::string_view name;
    Ref<Scope> scope;
};

/// State of a running for loop; what `loop` names.
struct LoopState : Object {
    LoopState(const LoopNode* loop, Ref<Scope> outer, size_t level)
        : Object(Kind::loop), node(loop), scope(std::move(outer)), depth0(level) {}
    void clear() override {
        scope = Ref<Scope>();
        cursor.close();
        iterable = before = current = after = last_changed = Value();
        std::vector<Value>().swap(buffered);
    }

    const LoopNode* const node;
    Ref<Scope> scope;  ///< Around the loop.
    const size_t depth0;
    Value iterable;
    Cursor cursor;
    std::vector<Value> buffered;  ///< Fetched ahead by loop.length.
    size_t num_taken = 0;         ///< Of buffered.
    Value before, current, after;
    int64_t index0 = -1;
    std::optional<int64_t> length;
    Value last_changed;  ///< Tuple of the last loop.changed().
};

std::string_view macro_name(const Value& macro);

}  // namespace hokku::jinja
