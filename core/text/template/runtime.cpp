// SPDX-License-Identifier: Apache-2.0
#include "text/template/runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text/template/compare.h"
#include "text/template/repr.h"
#include "text/template/unicode.h"

namespace hokku::jinja {

namespace {

/// Between two looks at the stop token: some 10 ms.
constexpr uint64_t kStepsAtHand = 250'000;

}  // namespace

Runtime::Runtime(const TemplateLimits& limits, std::stop_token stop)
    : limits_(limits),
      heap_(limits.max_memory_bytes),
      more_steps_(limits.max_steps),
      stop_(std::move(stop)) {}

void Runtime::set_steps_left(uint64_t steps) {
    steps_at_hand_ = std::min(steps, kStepsAtHand);
    more_steps_ = steps - steps_at_hand_;
}

Value Runtime::record(ErrorCode code, std::string what) {
    if (!error_) error_ = Error{code, shorten_message(std::move(what)), describe_place(), ""};
    return Value(make_object<Undefined>(heap_, 0, Undefined::Cause::hint, Value(), ""));
}

Value Runtime::fail(std::string what) {
    return record(ErrorCode::bad_template, std::move(what));
}

Value Runtime::fail_limit(std::string what) {
    return record(ErrorCode::limit_exceeded, std::move(what));
}

Value Runtime::refuse(std::string what) {
    const bool is_first = !error_;
    Value undefined = fail(std::move(what));
    if (is_first) error_->where.clear();
    return undefined;
}

bool Runtime::spend_slowly(uint64_t steps) {
    if (failed()) return false;
    if (heap_.over_limit()) {
        fail_limit(fmt::format("the template needs more than {} bytes of memory",
                               limits_.max_memory_bytes));
        return false;
    }
    if (stop_.stop_requested()) {
        record(ErrorCode::cancelled, "cancelled");
        return false;
    }
    if (steps_left() < steps) {
        fail_limit(
            fmt::format("the template runs for more than the {} steps allowed", limits_.max_steps));
        return false;
    }
    set_steps_left(steps_left() - steps);
    return true;
}

bool Runtime::reserve(size_t bytes) {
    if (failed()) return false;
    if (heap_.fits(bytes)) return spend_bytes(bytes);
    fail_limit(
        fmt::format("the template needs more than {} bytes of memory", limits_.max_memory_bytes));
    return false;
}

bool Runtime::check_text(size_t bytes) {
    if (failed()) return false;
    if (bytes > limits_.max_output_bytes) {
        fail_limit(fmt::format("a text grows beyond {} bytes", limits_.max_output_bytes));
    } else if (!heap_.fits(bytes)) {
        fail_limit(fmt::format("the template needs more than {} bytes of memory",
                               limits_.max_memory_bytes));
    }
    return !failed();
}

bool Runtime::check_key(const Value& key) {
    if (key.is_string()) return spend_bytes(key.as_string().text.size());
    if (!is_hashable(key)) fail(fmt::format("unhashable type: '{}'", type_name(key)));
    return !failed();
}

Value Runtime::string(Text text) {
    if (text.size() > 64 && !check_text(text.size())) text = Text();
    const size_t bytes = text.bytes.capacity() + text.origin.extra_bytes();
    spend_bytes(bytes);
    return Value(make_object<String>(heap_, bytes, std::move(text)));
}

Value Runtime::sequence(Kind list_or_tuple, std::vector<Value> items) {
    const size_t bytes = items.capacity() * sizeof(Value);
    return Value(make_object<List>(heap_, bytes, list_or_tuple, std::move(items)));
}

bool Runtime::set_item(Dict& dict, Value key, Value value) {
    if (!check_key(key)) return false;
    dict.set(std::move(key), std::move(value));
    return !failed();
}

Value Runtime::undefined_name(std::string_view name) {
    return Value(make_object<Undefined>(heap_, 0, Undefined::Cause::name, string(name), nullptr));
}

Value Runtime::undefined_hint(std::string_view hint) {
    return Value(make_object<Undefined>(heap_, 0, Undefined::Cause::hint, string(hint), nullptr));
}

Value Runtime::undefined_member(const Value& object, const Value& name) {
    const auto cause = name.is_string() ? Undefined::Cause::attribute : Undefined::Cause::element;
    return Value(make_object<Undefined>(heap_, 0, cause, name, type_name(object)));
}

Value Runtime::undefined_unsafe(const Value& object, std::string_view name) {
    return Value(make_object<Undefined>(heap_, 0, Undefined::Cause::unsafe, string(name),
                                        type_name(object)));
}

Value Runtime::fail_undefined(const Value& undefined) {
    const Undefined& info = undefined.as<Undefined>();
    const auto quoted = [&] { return repr(*this, info.subject); };
    // None is shown as itself, other objects by their type.
    std::string object = info.type_name == nullptr ? "" : info.type_name;
    object = object == "NoneType" ? "None" : object + " object";
    switch (info.cause) {
        case Undefined::Cause::name:
            return fail(quoted() + " is undefined");
        case Undefined::Cause::hint:
            return fail(info.subject.is_string() ? std::string(info.subject.as_string().view())
                                                 : "undefined value used");
        case Undefined::Cause::element:
            return fail(object + " has no element " + quoted());
        case Undefined::Cause::attribute:
            return fail(fmt::format("'{}' has no attribute {}", object, quoted()));
        case Undefined::Cause::unsafe:
            return fail(fmt::format("access to attribute {} of '{}' object is unsafe.", quoted(),
                                    info.type_name));
    }
    return fail("undefined value used");
}

void Runtime::finish(const Comparison& comparison) {
    set_steps_left(comparison.steps_left());
    if (comparison.is_too_deep()) {
        fail_limit(fmt::format("values are nested deeper than {} levels", kMaxNesting));
    } else if (comparison.exhausted()) {
        set_steps_left(0);
        spend();
    }
}

bool Runtime::equal(const Value& a, const Value& b) {
    Comparison comparison(steps_left(), stop_);
    const bool same = comparison.equal(a, b);
    finish(comparison);
    return same;
}

bool Runtime::ordered(const Value& a, const Value& b, std::string_view op) {
    if (a.is_undefined() || b.is_undefined()) {
        fail_undefined(a.is_undefined() ? a : b);
        return false;
    }
    Comparison comparison(steps_left(), stop_);
    const auto order = comparison.order(a, b);
    finish(comparison);
    if (failed()) return false;
    using Order = Comparison::Order;
    if (order == Order::none && !comparison.left().is_missing()) {
        for (const Value* value : {&comparison.left(), &comparison.right()}) {
            if (!value->is_undefined()) continue;
            fail_undefined(*value);
            return false;
        }
        fail(fmt::format("'{}' not supported between instances of '{}' and '{}'", op,
                         type_name(comparison.left()), type_name(comparison.right())));
        return false;
    }
    if (op == "<") return order == Order::less;
    if (op == "<=") return order == Order::less || order == Order::equal;
    if (op == ">") return order == Order::greater;
    return order == Order::greater || order == Order::equal;
}

}  // namespace hokku::jinja
