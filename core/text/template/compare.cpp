// SPDX-License-Identifier: Apache-2.0
#include "text/template/compare.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace hokku::jinja {

namespace {

constexpr int kMaxKeyValues = 1000;
constexpr uint64_t kKeySteps = 4 * kMaxKeyValues;
constexpr double kTwoTo63 = 9223372036854775808.0;

using Order = Comparison::Order;

template <class T>
Order order_of(const T& a, const T& b) {
    return a < b ? Order::less : b < a ? Order::greater : Order::equal;
}

// Exact order of an int and a float.
Order order_mixed(int64_t a, double b) {
    if (std::isnan(b)) return Order::none;
    if (b >= kTwoTo63) return Order::less;
    if (b < -kTwoTo63) return Order::greater;
    const double whole = std::floor(b);
    const auto truncated = static_cast<int64_t>(whole);
    if (a != truncated) return a < truncated ? Order::less : Order::greater;
    return whole < b ? Order::less : Order::equal;
}

Order flip(Order order) {
    if (order == Order::less) return Order::greater;
    if (order == Order::greater) return Order::less;
    return order;
}

Order order_numbers(const Value& a, const Value& b) {
    if (a.is_integral() && b.is_integral()) return order_of(a.as_integer(), b.as_integer());
    if (a.is_integral()) return order_mixed(a.as_integer(), b.as_double());
    if (b.is_integral()) return flip(order_mixed(b.as_integer(), a.as_double()));
    const double x = a.as_double(), y = b.as_double();
    return std::isnan(x) || std::isnan(y) ? Order::none : order_of(x, y);
}

bool equal_ranges(const Range& a, const Range& b) {
    if (a.count != b.count) return false;
    if (a.count == 0) return true;
    return a.start == b.start && (a.count == 1 || a.step == b.step);
}

bool count_key_values(const Value& value, int depth, int& left) {
    if (--left < 0 || depth > kMaxNesting) return false;
    switch (value.kind()) {
        case Kind::list:
        case Kind::dict:
        case Kind::view:
            return false;
        case Kind::tuple:
            for (const Value& item : value.as_list().items) {
                if (!count_key_values(item, depth + 1, left)) return false;
            }
            return true;
        default:
            return true;
    }
}

}  // namespace

bool Comparison::step(size_t bytes) {
    const uint64_t cost = 1 + bytes / 64;
    too_deep_ = too_deep_ || depth_ > kMaxNesting;
    if (steps_left_ < cost || too_deep_) exhausted_ = true;
    constexpr uint32_t kCallsPerStopCheck = 1u << 18;
    if (++num_calls_ % kCallsPerStopCheck == 0 && stop_.stop_requested()) exhausted_ = true;
    if (exhausted_) return false;
    steps_left_ -= cost;
    return true;
}

bool Comparison::equal(const Value& a, const Value& b) {
    if (!step()) return false;
    if (a.is_number() && b.is_number()) return order_numbers(a, b) == Order::equal;
    if (a.kind() != b.kind()) return false;
    switch (a.kind()) {
        case Kind::none:
        case Kind::missing:
        case Kind::undefined:
            return true;
        case Kind::string: {
            const std::string_view x = a.as_string().view(), y = b.as_string().view();
            return x.size() == y.size() && step(x.size()) && x == y;
        }
        case Kind::big_integer:
            return a.as<BigInteger>().digits == b.as<BigInteger>().digits;
        case Kind::list:
        case Kind::tuple:
            return equal_items(a.as_list(), b.as_list());
        case Kind::dict:
            return equal_dicts(a.as_dict(), b.as_dict());
        case Kind::range:
            return equal_ranges(a.as<Range>(), b.as<Range>());
        case Kind::function:
            return &a.as_function() == &b.as_function();
        case Kind::method:
            return a.as<Method>().builtin == b.as<Method>().builtin &&
                   equal(a.as<Method>().self, b.as<Method>().self);
        default:
            return a.object() == b.object();
    }
}

bool Comparison::equal_items(const List& a, const List& b) {
    if (&a == &b) return true;
    if (a.items.size() != b.items.size()) return false;
    ++depth_;
    bool same = true;
    for (size_t i = 0; same && i < a.items.size(); ++i) same = equal(a.items[i], b.items[i]);
    --depth_;
    return same;
}

bool Comparison::equal_dicts(const Dict& a, const Dict& b) {
    if (&a == &b) return true;
    if (a.entries.size() != b.entries.size()) return false;
    ++depth_;
    bool same = true;
    for (const Dict::Entry& entry : a.entries) {
        const Value* const other = b.find(entry.key);
        same = other != nullptr && equal(entry.value, *other);
        if (!same) break;
    }
    --depth_;
    return same;
}

Order Comparison::order(const Value& a, const Value& b) {
    if (!step()) return Order::none;
    if (a.is_number() && b.is_number()) return order_numbers(a, b);
    if (a.is_string() && b.is_string()) {
        // UTF-8 bytes sort as code points do.
        const std::string_view x = a.as_string().view(), y = b.as_string().view();
        return step(std::min(x.size(), y.size())) ? order_of(x, y) : Order::none;
    }
    if (a.is_sequence() && a.kind() == b.kind()) return order_items(a.as_list(), b.as_list());
    left_ = a;
    right_ = b;
    return Order::none;
}

Order Comparison::order_items(const List& a, const List& b) {
    ++depth_;
    Order result = order_of(a.items.size(), b.items.size());
    const size_t common = std::min(a.items.size(), b.items.size());
    for (size_t i = 0; i < common; ++i) {
        if (equal(a.items[i], b.items[i])) continue;
        result = exhausted_ ? Order::none : order(a.items[i], b.items[i]);
        break;
    }
    --depth_;
    return result;
}

bool equals(const Value& a, const Value& b) {
    return Comparison(kKeySteps).equal(a, b);
}

bool is_hashable(const Value& value) {
    int left = kMaxKeyValues;
    return count_key_values(value, 0, left);
}

size_t hash_text(std::string_view text) {
    return std::hash<std::string_view>()(text);
}

size_t hash_value(const Value& value) {
    switch (value.kind()) {
        case Kind::string:
            return hash_text(value.as_string().view());
        case Kind::boolean:
        case Kind::integer:
            return std::hash<int64_t>()(value.as_integer());
        case Kind::floating: {
            const double number = value.as_double();
            if (number == std::floor(number) && std::abs(number) < kTwoTo63) {
                return std::hash<int64_t>()(static_cast<int64_t>(number));
            }
            return std::hash<double>()(number);
        }
        case Kind::tuple: {
            size_t hash = 0x345678;
            for (const Value& item : value.as_list().items) {
                hash = hash * 1000003 ^ hash_value(item);
            }
            return hash;
        }
        case Kind::big_integer:
            return hash_text(value.as<BigInteger>().digits);
        case Kind::none:
        case Kind::missing:
        case Kind::undefined:
            return 7;
        case Kind::function:
            return std::hash<const void*>()(&value.as_function());
        default:
            return std::hash<const void*>()(value.object());
    }
}

}  // namespace hokku::jinja
