// SPDX-License-Identifier: Apache-2.0
#include "text/template/operators.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "text/template/compare.h"
#include "text/template/format.h"
#include "text/template/iterator.h"
#include "text/template/repr.h"
#include "text/template/runtime.h"
#include "text/template/text_ops.h"

namespace hokku::jinja {

namespace {

const char* symbol(TokenType op) {
    switch (op) {
        case TokenType::add:
            return "+";
        case TokenType::sub:
            return "-";
        case TokenType::mul:
            return "*";
        case TokenType::div:
            return "/";
        case TokenType::floor_div:
            return "//";
        case TokenType::mod:
            return "%";
        default:
            return "** or pow()";
    }
}

bool is_repeatable(const Value& value) {
    return value.is_string() || value.is_sequence();
}

Value fail_types(Runtime& runtime, TokenType op, const Value& a, const Value& b) {
    if (a.is_undefined() || b.is_undefined()) {
        return runtime.fail_undefined(a.is_undefined() ? a : b);
    }
    if (a.is(Kind::big_integer) || b.is(Kind::big_integer)) {
        return runtime.fail("integers beyond 64 bits cannot be calculated with");
    }
    if (op == TokenType::add && a.is_string()) {
        return runtime.fail(
            fmt::format("can only concatenate str (not \"{}\") to str", type_name(b)));
    }
    if (op == TokenType::mul && (is_repeatable(a) || is_repeatable(b))) {
        return runtime.fail(fmt::format("can't multiply sequence by non-int of type '{}'",
                                        type_name(is_repeatable(a) ? b : a)));
    }
    if (op == TokenType::add && a.is_sequence()) {
        return runtime.fail(fmt::format("can only concatenate {} (not \"{}\") to {}", type_name(a),
                                        type_name(b), type_name(a)));
    }
    return runtime.fail(fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", symbol(op),
                                    type_name(a), type_name(b)));
}

Value fail_overflow(Runtime& runtime) {
    return runtime.fail("the result does not fit into a 64-bit integer");
}

int64_t floor_div(int64_t a, int64_t b) {
    const int64_t quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::optional<int64_t> power(int64_t base, int64_t exponent) {
    int64_t result = 1;
    while (exponent > 0) {
        if (exponent % 2 != 0 && __builtin_mul_overflow(result, base, &result)) return std::nullopt;
        exponent /= 2;
        if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return std::nullopt;
    }
    return result;
}

Value integer_operator(Runtime& runtime, TokenType op, int64_t a, int64_t b) {
    int64_t out = 0;
    bool overflows = false;
    switch (op) {
        case TokenType::add:
            overflows = __builtin_add_overflow(a, b, &out);
            break;
        case TokenType::sub:
            overflows = __builtin_sub_overflow(a, b, &out);
            break;
        case TokenType::mul:
            overflows = __builtin_mul_overflow(a, b, &out);
            break;
        case TokenType::div:
            if (b == 0) return runtime.fail("division by zero");
            return Value::floating(static_cast<double>(a) / static_cast<double>(b));
        case TokenType::floor_div:
        case TokenType::mod:
            if (b == 0) return runtime.fail("integer division or modulo by zero");
            if (b == -1) {  // avoids the trap of INT64_MIN / -1
                if (op == TokenType::mod) return Value::integer(0);
                overflows = __builtin_sub_overflow(int64_t{0}, a, &out);
            } else {
                out = floor_div(a, b);
                if (op == TokenType::mod) out = a - out * b;
            }
            break;
        default: {
            if (b < 0) {
                if (a == 0) return runtime.fail("0.0 cannot be raised to a negative power");
                return Value::floating(std::pow(static_cast<double>(a), static_cast<double>(b)));
            }
            const auto result = power(a, b);
            overflows = !result.has_value();
            out = result.value_or(0);
        }
    }
    return overflows ? fail_overflow(runtime) : Value::integer(out);
}

Value float_operator(Runtime& runtime, TokenType op, double a, double b) {
    switch (op) {
        case TokenType::add:
            return Value::floating(a + b);
        case TokenType::sub:
            return Value::floating(a - b);
        case TokenType::mul:
            return Value::floating(a * b);
        case TokenType::div:
            if (b == 0) return runtime.fail("float division by zero");
            return Value::floating(a / b);
        case TokenType::floor_div:
        case TokenType::mod: {
            if (b == 0) return runtime.fail("float floor division by zero");
            double rest = std::fmod(a, b);
            if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
            if (op == TokenType::mod)
                return Value::floating(rest == 0 ? std::copysign(0.0, b) : rest);
            const double quotient = (a - rest) / b;
            return Value::floating(quotient == 0 ? std::copysign(0.0, a / b)
                                                 : std::round(quotient));
        }
        default:
            if (a == 0 && b < 0) return runtime.fail("0.0 cannot be raised to a negative power");
            if (a < 0 && b != std::floor(b))
                return runtime.fail("complex numbers do not exist here");
            return Value::floating(std::pow(a, b));
    }
}

Value repeat_text(Runtime& runtime, const Text& text, int64_t count) {
    if (count <= 0 || text.size() == 0) return runtime.string("");
    const auto times = static_cast<size_t>(count);
    if (times > runtime.limits().max_output_bytes / text.size()) {
        return runtime.fail_limit(
            fmt::format("a text grows beyond {} bytes", runtime.limits().max_output_bytes));
    }
    const size_t bytes = times * text.size();
    if (!runtime.check_text(bytes) || !runtime.spend(times / 4)) return runtime.fail("");
    if (text.origin.is_uniform()) {
        std::string repeated;
        repeated.reserve(bytes);
        for (size_t i = 0; i < times; ++i) repeated += text.bytes;
        return runtime.string(Text(std::move(repeated), text.origin.first()));
    }
    Text out;
    for (size_t i = 0; i < times; ++i) out.add(text);
    return runtime.string(std::move(out));
}

Value repeat_items(Runtime& runtime, const List& list, int64_t count) {
    std::vector<Value> items;
    if (count > 0 && !list.items.empty()) {
        const auto times = static_cast<size_t>(count);
        const size_t size = list.items.size();
        if (times > runtime.limits().max_memory_bytes / (size * sizeof(Value)) ||
            !runtime.reserve(times * size * sizeof(Value)) || !runtime.spend(times * size)) {
            return runtime.fail_limit("a list grows beyond the memory of the template");
        }
        items.reserve(times * size);
        for (size_t i = 0; i < times; ++i) {
            items.insert(items.end(), list.items.begin(), list.items.end());
        }
    }
    return runtime.sequence(list.kind, std::move(items));
}

Value repeat(Runtime& runtime, const Value& value, int64_t count) {
    return value.is_string() ? repeat_text(runtime, value.as_string().text, count)
                             : repeat_items(runtime, value.as_list(), count);
}

Value add_lists(Runtime& runtime, const List& a, const List& b) {
    const size_t size = a.items.size() + b.items.size();
    if (!runtime.reserve(size * sizeof(Value)) || !runtime.spend(size)) return runtime.fail("");
    std::vector<Value> items;
    items.reserve(size);
    items.insert(items.end(), a.items.begin(), a.items.end());
    items.insert(items.end(), b.items.begin(), b.items.end());
    return runtime.sequence(a.kind, std::move(items));
}

}  // namespace

Value apply_operator(Runtime& runtime, TokenType op, const Value& a, const Value& b) {
    if (a.is_string() && b.is_string() && op == TokenType::add) {
        const Value both[] = {a, b};
        return concatenate(runtime, both);
    }
    if (a.is_integral() && b.is_integral()) {
        return integer_operator(runtime, op, a.as_integer(), b.as_integer());
    }
    if (a.is_number() && b.is_number()) {
        return float_operator(runtime, op, a.as_double(), b.as_double());
    }
    if (op == TokenType::add && a.is_sequence() && a.kind() == b.kind()) {
        return add_lists(runtime, a.as_list(), b.as_list());
    }
    if (op == TokenType::mul && is_repeatable(a) && b.is_integral()) {
        return repeat(runtime, a, b.as_integer());
    }
    if (op == TokenType::mul && is_repeatable(b) && a.is_integral()) {
        return repeat(runtime, b, a.as_integer());
    }
    if (op == TokenType::mod && a.is_string()) {
        return format_percent(runtime, a.as_string().text, b);
    }
    return fail_types(runtime, op, a, b);
}

Value apply_sign(Runtime& runtime, char sign, const Value& a) {
    if (a.is(Kind::floating)) return sign == '-' ? Value::floating(-a.as_double()) : a;
    if (a.is_integral()) {
        const int64_t value = a.as_integer();
        if (sign == '+') return Value::integer(value);
        if (value == INT64_MIN) return fail_overflow(runtime);
        return Value::integer(-value);
    }
    if (a.is_undefined()) return runtime.fail_undefined(a);
    if (a.is(Kind::big_integer)) {
        return runtime.fail("integers beyond 64 bits cannot be calculated with");
    }
    return runtime.fail(fmt::format("bad operand type for unary {}: '{}'", sign, type_name(a)));
}

Value concatenate(Runtime& runtime, std::span<const Value> values) {
    Text out;
    size_t bytes = 0;
    for (const Value& value : values) {
        if (value.is_string()) bytes += value.as_string().text.size();
    }
    if (!runtime.check_text(bytes)) return runtime.fail("");
    out.bytes.reserve(bytes);
    for (const Value& value : values) append_str(runtime, out, value);
    if (!runtime.check_text(out.size())) return runtime.fail("");
    return runtime.string(std::move(out));
}

bool contains(Runtime& runtime, const Value& container, const Value& item) {
    switch (container.kind()) {
        case Kind::string: {
            if (!item.is_string()) {
                runtime.fail(fmt::format("'in <string>' requires string as left operand, not {}",
                                         type_name(item)));
                return false;
            }
            const std::string_view text = container.as_string().view();
            runtime.spend_bytes(text.size());
            return find_text(text, item.as_string().view(), 0) != std::string_view::npos;
        }
        case Kind::dict:
            if (!runtime.check_key(item)) return false;
            return container.as_dict().find(item) != nullptr;
        case Kind::range: {
            const Range& range = container.as<Range>();
            if (!item.is_integral() || range.count == 0) return false;
            const int64_t last = range.at(range.count - 1), value = item.as_integer();
            if (value < std::min(range.start, last) || value > std::max(range.start, last))
                return false;
            return (value - range.start) % range.step == 0;
        }
        default:
            break;
    }
    if (!is_iterable(container)) {
        runtime.fail(fmt::format("argument of type '{}' is not iterable", type_name(container)));
        return false;
    }
    Cursor cursor;
    Value candidate;
    if (!cursor.open(runtime, container)) return false;
    while (cursor.next(runtime, candidate)) {
        if (runtime.equal(candidate, item)) return true;
    }
    return false;
}

}  // namespace hokku::jinja
