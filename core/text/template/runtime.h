// SPDX-License-Identifier: Apache-2.0
// Runtime: what every operation of one rendering needs: memory, limits, the first error, and the
// makers of values. Operations do not return errors: the first one is kept here, makes every
// later step a cheap no-op, and is what the rendering returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hokku/chat_template.h"
#include "hokku/error.h"
#include "text/template/stack_guard.h"
#include "text/template/value.h"

namespace hokku::jinja {

class Comparison;

/// Arguments of a call. After binding to a signature, `positional` has one value per parameter,
/// missing where none was given, and `named` is empty.
struct Arguments {
    std::vector<Value> positional;
    std::vector<std::pair<std::string, Value>> named;

    [[nodiscard]] const Value& operator[](size_t index) const { return positional[index]; }
    [[nodiscard]] bool has(size_t index) const {
        return index < positional.size() && !positional[index].is_missing();
    }
    [[nodiscard]] size_t size() const { return positional.size(); }
};

/// Threads: one thread at a time.
class Runtime {
  public:
    explicit Runtime(const TemplateLimits& limits, std::stop_token stop = {});
    virtual ~Runtime() = default;
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    /// Records an error at the current place unless there is one; returns an undefined value.
    Value fail(std::string what);
    Value fail_limit(std::string what);
    /// The template's own refusal: its words alone, without a place in its text.
    Value refuse(std::string what);
    [[nodiscard]] bool failed() const { return error_.has_value(); }
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

    /// Spends fuel; false when there is none left, memory is over budget, a stop was requested or
    /// an error is pending.
    bool spend(uint64_t steps = 1) {
        if (steps_at_hand_ < steps || heap_.over_limit() || failed()) return spend_slowly(steps);
        steps_at_hand_ -= steps;
        return true;
    }
    /// Fuel for copying or comparing this many bytes, and for work on each character of them.
    bool spend_bytes(size_t bytes) { return spend(bytes / 64); }
    bool spend_scan(size_t bytes) { return spend(bytes / 8); }
    /// Adds fuel, for input that justifies it.
    void grant(uint64_t steps) { more_steps_ += steps; }
    /// Fails where `bytes` more would not fit into the budget; to be asked before allocating.
    bool reserve(size_t bytes);
    /// Whether a text of `bytes` is allowed and fits; fails if not.
    bool check_text(size_t bytes);
    /// Whether a value can be a key; fails if not.
    bool check_key(const Value& key);
    [[nodiscard]] const TemplateLimits& limits() const { return limits_; }
    Heap& heap() { return heap_; }
    /// Measures the stack from where the runtime was made.
    [[nodiscard]] const StackGuard& stack() const { return stack_; }

    // Makers.
    Value string(Text text);
    Value string(std::string_view text) { return string(Text(std::string(text))); }
    Value list(std::vector<Value> items) { return sequence(Kind::list, std::move(items)); }
    Value tuple(std::vector<Value> items) { return sequence(Kind::tuple, std::move(items)); }
    Value sequence(Kind list_or_tuple, std::vector<Value> items);
    Ref<Dict> dict() { return make_object<Dict>(heap_, 0); }
    /// Sets a key; fails for values that cannot be keys.
    bool set_item(Dict& dict, Value key, Value value);
    Value undefined_name(std::string_view name);
    Value undefined_hint(std::string_view hint);
    /// obj.name or obj[name] that is not there.
    Value undefined_member(const Value& object, const Value& name);
    /// An attribute that templates must not see.
    Value undefined_unsafe(const Value& object, std::string_view name);
    /// The error of using an undefined value: "'x' is undefined".
    Value fail_undefined(const Value& undefined);

    // Comparisons that report what goes wrong.
    bool equal(const Value& a, const Value& b);
    /// a < b with `op` ("<", "<=", ">", ">=").
    bool ordered(const Value& a, const Value& b, std::string_view op);

    /// Calls a function, method, macro, loop, cycler or joiner.
    virtual Value call(const Value& callee, Arguments& arguments) = 0;
    [[nodiscard]] const std::tm& now() const { return now_; }

  protected:
    /// Byte offset in the template of what runs now.
    virtual std::string describe_place() const = 0;
    void set_now(const std::tm& now) { now_ = now; }

  private:
    bool spend_slowly(uint64_t steps);
    [[nodiscard]] uint64_t steps_left() const { return steps_at_hand_ + more_steps_; }
    void set_steps_left(uint64_t steps);
    void finish(const Comparison& comparison);
    Value record(ErrorCode code, std::string what);

    const TemplateLimits limits_;
    Heap heap_;                   // first among the members that own values
    uint64_t steps_at_hand_ = 0;  ///< Spent without a look at anything else.
    uint64_t more_steps_;
    const std::stop_token stop_;
    const StackGuard stack_;
    std::optional<Error> error_;
    std::tm now_{};
};

}  // namespace hokku::jinja
