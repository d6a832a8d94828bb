// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "text/template/filters.h"
#include "text/template/format_spec.h"
#include "text/template/operators.h"
#include "text/template/repr.h"
#include "text/template/text_ops.h"
#include "text/template/unicode.h"

namespace hokku::jinja {

namespace {

// Stripped of white space; single underscores between digits removed. Empty if it cannot be a
// number.
std::string clean_number(std::string_view text) {
    const std::string stripped = strip(Text(std::string(text)), Side::both, std::nullopt).bytes;
    std::string out;
    for (size_t i = 0; i < stripped.size(); ++i) {
        if (stripped[i] != '_') {
            out += stripped[i];
            continue;
        }
        const bool is_between = i > 0 && i + 1 < stripped.size() && stripped[i - 1] != '_' &&
                                std::isalnum(static_cast<unsigned char>(stripped[i - 1])) != 0 &&
                                std::isalnum(static_cast<unsigned char>(stripped[i + 1])) != 0;
        if (!is_between) return {};
    }
    return out;
}

std::optional<double> read_float(std::string_view text) {
    std::string digits = clean_number(text);
    if (digits.empty()) return std::nullopt;
    const bool has_sign = digits[0] == '+' || digits[0] == '-';
    const bool is_negative = digits[0] == '-';
    const std::string body = to_lower(std::string_view(digits).substr(has_sign ? 1 : 0));
    double value = 0;
    if (body == "inf" || body == "infinity") {
        value = std::numeric_limits<double>::infinity();
    } else if (body == "nan") {
        value = std::numeric_limits<double>::quiet_NaN();
    } else {
        if (body.empty() || (body[0] != '.' && !is_decimal(static_cast<unsigned char>(body[0])))) {
            return std::nullopt;
        }
        const auto result = std::from_chars(body.data(), body.data() + body.size(), value);
        if (result.ptr != body.data() + body.size()) return std::nullopt;
        if (result.ec == std::errc::result_out_of_range) {
            value = body.find("e-") != std::string::npos ? 0.0 : HUGE_VAL;
        } else if (result.ec != std::errc()) {
            return std::nullopt;
        }
    }
    return is_negative ? -value : value;
}

// int(text, base); missing if the text is not a number.
Value read_integer(Runtime& runtime, std::string_view text, int64_t base) {
    std::string digits = clean_number(text);
    const bool is_negative = !digits.empty() && digits[0] == '-';
    if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) digits.erase(0, 1);
    if (digits.size() > 2 && digits[0] == '0') {
        const char kind = static_cast<char>(digits[1] | 0x20);
        const int64_t of_prefix = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
        if (of_prefix != 0 && (base == of_prefix || base == 0)) {
            base = of_prefix;
            digits.erase(0, 2);
        }
    }
    if (base == 0) base = 10;
    if (digits.empty() || base < 2 || base > 36 || digits[0] == '-') return {};
    if (is_negative) digits.insert(0, "-");
    int64_t value = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value,
                                        static_cast<int>(base));
    if (result.ptr != digits.data() + digits.size()) return {};
    if (result.ec == std::errc()) return Value::integer(value);
    if (result.ec != std::errc::result_out_of_range) return {};
    if (base != 10) return runtime.fail("the number does not fit into 64 bits");
    const size_t first = digits.find_first_not_of("-0");
    digits = (is_negative ? "-" : "") + digits.substr(first);
    return Value(make_object<BigInteger>(runtime.heap(), digits.size(), digits));
}

// int(number); missing for infinities and NaN.
Value truncate_float(Runtime& runtime, double number) {
    if (!std::isfinite(number)) return {};
    const double whole = std::trunc(number);
    if (whole >= -9223372036854775808.0 && whole < 9223372036854775808.0) {
        return Value::integer(static_cast<int64_t>(whole));
    }
    const std::string digits = format_float(whole, 'f', 0, false);
    return Value(make_object<BigInteger>(runtime.heap(), digits.size(), digits));
}

Value absolute(Runtime& runtime, const Value& self, Arguments&) {
    if (self.is(Kind::floating)) return Value::floating(std::abs(self.as_double()));
    if (self.is_integral()) {
        return self.as_integer() < 0 ? apply_sign(runtime, '-', self)
                                     : Value::integer(self.as_integer());
    }
    if (self.is_undefined()) return runtime.fail_undefined(self);
    return runtime.fail(fmt::format("bad operand type for abs(): '{}'", type_name(self)));
}

Value default_filter(Runtime& runtime, const Value& self, Arguments& arguments) {
    const bool replaces_false = truth_argument(arguments, 1, false);
    if (!self.is_undefined() && !(replaces_false && !is_truthy(self))) return self;
    return arguments.has(0) ? arguments[0] : runtime.string("");
}

Value filesizeformat(Runtime& runtime, const Value& self, Arguments& arguments) {
    std::optional<double> bytes;
    if (self.is_number()) bytes = self.as_double();
    if (self.is_string()) bytes = read_float(self.as_string().view());
    if (!bytes) return runtime.fail("could not convert the value to a number of bytes");
    const bool is_binary = truth_argument(arguments, 0, false);
    const double base = is_binary ? 1024 : 1000;
    if (*bytes == 1) return runtime.string("1 Byte");
    if (*bytes < base) {
        return runtime.string(
            fmt::format("{} Bytes", static_cast<int64_t>(std::max(*bytes, -9e18))));
    }
    constexpr std::string_view kUnits = "kMGTPEZY";
    double unit = base;
    size_t index = 0;
    while (index + 1 < kUnits.size() && *bytes >= unit * base) {
        unit *= base;
        ++index;
    }
    std::string prefix(1, kUnits[index]);
    if (is_binary) prefix = (index == 0 ? std::string("K") : prefix) + "i";
    return runtime.string(format_float(*bytes / unit, 'f', 1, false) + " " + prefix + "B");
}

Value float_filter(Runtime& runtime, const Value& self, Arguments& arguments) {
    if (self.is_undefined()) return runtime.fail_undefined(self);
    std::optional<double> number;
    if (self.is_number()) number = self.as_double();
    if (self.is_string()) number = read_float(self.as_string().view());
    if (self.is(Kind::big_integer)) number = read_float(self.as<BigInteger>().digits);
    if (number) return Value::floating(*number);
    return arguments.has(0) ? arguments[0] : Value::floating(0.0);
}

Value int_filter(Runtime& runtime, const Value& self, Arguments& arguments) {
    if (self.is_undefined()) return runtime.fail_undefined(self);
    Value number;
    if (self.is_integral()) number = Value::integer(self.as_integer());
    if (self.is(Kind::big_integer)) number = self;
    if (self.is(Kind::floating)) number = truncate_float(runtime, self.as_double());
    if (self.is_string()) {
        const std::string_view text = self.as_string().view();
        number = read_integer(runtime, text, integer_argument(runtime, arguments, 1, 10));
        if (number.is_missing()) {
            if (const auto floating = read_float(text)) number = truncate_float(runtime, *floating);
        }
    }
    if (!number.is_missing()) return number;
    return arguments.has(0) ? arguments[0] : Value::integer(0);
}

// Python's round(number, digits): halves go to the even neighbour of the exact decimal value.
double round_common(double number, int64_t digits) {
    if (!std::isfinite(number) || digits > 300) return number;
    if (digits >= 0) {
        std::array<char, 700> buffer{};
        const auto printed = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                           std::chars_format::fixed, static_cast<int>(digits));
        double rounded = 0;
        std::from_chars(buffer.data(), printed.ptr, rounded);
        return rounded;
    }
    if (digits < -308) return std::copysign(0.0, number);
    const double scale = std::pow(10.0, static_cast<double>(-digits));
    return std::nearbyint(number / scale) * scale;
}

Value round_integer(Runtime& runtime, int64_t number, int64_t digits) {
    if (digits >= 0) return Value::integer(number);
    if (digits < -18) return Value::integer(0);
    int64_t scale = 1;
    for (int64_t i = 0; i < -digits; ++i) scale *= 10;
    int64_t down = number / scale * scale;
    if (down > number && __builtin_sub_overflow(down, scale, &down)) return Value::integer(number);
    const int64_t rest = number - down;
    const bool is_odd = (down / scale) % 2 != 0;
    int64_t out = down;
    if ((rest > scale - rest || (rest == scale - rest && is_odd)) &&
        __builtin_add_overflow(down, scale, &out)) {
        return runtime.fail("the result does not fit into a 64-bit integer");
    }
    return Value::integer(out);
}

Value round_filter(Runtime& runtime, const Value& self, Arguments& arguments) {
    const int64_t digits = integer_argument(runtime, arguments, 0, 0);
    const std::string_view method =
        arguments.has(1) ? text_argument(runtime, arguments[1]).view() : std::string_view("common");
    if (runtime.failed()) return runtime.fail("");
    if (self.is_undefined()) return runtime.fail_undefined(self);
    if (method != "common" && method != "ceil" && method != "floor") {
        return runtime.fail("method must be common, ceil or floor");
    }
    if (!self.is_number()) {
        return runtime.fail(
            fmt::format("type {} doesn't define __round__ method", type_name(self)));
    }
    if (method == "common") {
        if (self.is_integral()) return round_integer(runtime, self.as_integer(), digits);
        return Value::floating(round_common(self.as_double(), digits));
    }
    const double scale = std::pow(10.0, static_cast<double>(digits));
    const double scaled = self.as_double() * scale;
    return Value::floating((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

}  // namespace

std::span<const Builtin> number_filters() {
    static constexpr Builtin kTable[] = {
        {"abs", "", absolute},
        {"d", "default_value? boolean?", default_filter},
        {"default", "default_value? boolean?", default_filter},
        {"filesizeformat", "binary?", filesizeformat},
        {"float", "default?", float_filter},
        {"int", "default? base?", int_filter},
        {"round", "precision? method?", round_filter},
    };
    return kTable;
}

}  // namespace hokku::jinja
