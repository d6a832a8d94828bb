// SPDX-License-Identifier: Apache-2.0
#include "text/template/format_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "text/template/repr.h"
#include "text/template/runtime.h"
#include "text/template/unicode.h"

namespace hokku::jinja {

namespace {

constexpr size_t kMaxWidth = 1u << 16;
constexpr int kMaxPrecision = 400;

bool is_align(char32_t c) {
    return c == '<' || c == '>' || c == '^' || c == '=';
}

bool take_number(std::string_view& text, size_t& number) {
    size_t length = 0;
    number = 0;
    while (length < text.size() && text[length] >= '0' && text[length] <= '9' && length < 9) {
        number = number * 10 + static_cast<size_t>(text[length] - '0');
        ++length;
    }
    text.remove_prefix(length);
    return length > 0;
}

// Inserts a separator between groups of digits before the point.
std::string group(const std::string& digits, char separator, size_t size) {
    size_t whole = 0;
    const std::string_view any_of = size == 4 ? "0123456789abcdefABCDEF" : "0123456789";
    while (whole < digits.size() && any_of.find(digits[whole]) != std::string_view::npos) ++whole;
    std::string out;
    for (size_t i = 0; i < whole; ++i) {
        if (i > 0 && (whole - i) % size == 0) out += separator;
        out += digits[i];
    }
    return out + digits.substr(whole);
}

void append_number(Text& out, bool is_negative, const std::string& prefix, std::string digits,
                   const FormatSpec& spec) {
    std::string sign = is_negative ? "-" : spec.sign == '+' ? "+" : spec.sign == ' ' ? " " : "";
    sign += prefix;
    const size_t group_size = !prefix.empty() || spec.type == 'x' || spec.type == 'b' ||
                                      spec.type == 'o' || spec.type == 'X'
                                  ? 4
                                  : 3;
    if (spec.grouping != 0) digits = group(digits, spec.grouping, group_size);
    if (spec.align == '=' && sign.size() + digits.size() < spec.width) {
        std::string padding;
        for (size_t i = sign.size() + digits.size(); i < spec.width; ++i) {
            append_char(padding, spec.fill);
        }
        out.add(sign + padding + digits);
        return;
    }
    append_padded(out, Text(sign + digits), spec.width, spec.align == 0 ? '>' : spec.align,
                  spec.fill);
}

void append_integer(Text& out, int64_t value, const FormatSpec& spec) {
    const bool is_negative = value < 0;
    const uint64_t size =
        is_negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    std::string digits, prefix;
    switch (spec.type) {
        case 'x':
            digits = fmt::format("{:x}", size);
            break;
        case 'X':
            digits = fmt::format("{:X}", size);
            break;
        case 'o':
            digits = fmt::format("{:o}", size);
            break;
        case 'b':
            digits = fmt::format("{:b}", size);
            break;
        default:
            digits = std::to_string(size);
            break;
    }
    if (spec.alternate && spec.type != 0 && spec.type != 'd') prefix = {'0', spec.type};
    append_number(out, is_negative, prefix, std::move(digits), spec);
}

void append_float(Text& out, double value, const FormatSpec& spec) {
    const bool is_negative = std::signbit(value) && !std::isnan(value);
    const double size = std::abs(value);
    std::string digits;
    if (!std::isfinite(value)) {
        digits = std::isnan(value) ? "nan" : "inf";
        if (spec.type == 'F' || spec.type == 'E' || spec.type == 'G') {
            std::transform(digits.begin(), digits.end(), digits.begin(),
                           [](char c) { return static_cast<char>(c - 'a' + 'A'); });
        }
    } else if (spec.type == '%') {
        digits = format_float(size * 100, 'f', spec.precision.value_or(6), spec.alternate) + "%";
    } else if (spec.type != 0) {
        const char type = spec.type == 'n' ? 'g' : spec.type;
        digits = format_float(size, type, spec.precision.value_or(6), spec.alternate);
    } else if (!spec.precision) {
        digits = float_repr(size);
    } else {
        // Like g, but with at least one digit after the point.
        digits = format_float(size, 'g', *spec.precision, spec.alternate);
        if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
    }
    append_number(out, is_negative, "", std::move(digits), spec);
}

}  // namespace

std::optional<FormatSpec> FormatSpec::parse(std::string_view text) {
    FormatSpec spec;
    if (!text.empty()) {
        size_t after_fill = 0;
        const char32_t first = next_char(text, after_fill);
        if (after_fill < text.size() && is_align(static_cast<unsigned char>(text[after_fill]))) {
            spec.fill = first;
            spec.align = text[after_fill];
            text.remove_prefix(after_fill + 1);
        } else if (is_align(first)) {
            spec.align = text[0];
            text.remove_prefix(1);
        }
    }
    const auto take = [&](std::string_view any_of) -> char {
        if (text.empty() || any_of.find(text[0]) == std::string_view::npos) return 0;
        const char c = text[0];
        text.remove_prefix(1);
        return c;
    };
    if (const char sign = take("+- ")) spec.sign = sign;
    spec.alternate = take("#") != 0;
    if (!text.empty() && text[0] == '0') {
        text.remove_prefix(1);
        if (spec.align == 0) {
            spec.align = '=';
            spec.fill = '0';
        }
    }
    take_number(text, spec.width);
    spec.grouping = take(",_");
    if (take(".") != 0) {
        size_t precision = 0;
        if (!take_number(text, precision)) return std::nullopt;
        spec.precision = static_cast<int>(std::min(precision, size_t{1} << 20));
    }
    spec.type = take("bcdeEfFgGnosxX%");
    if (!text.empty() || spec.width > kMaxWidth) return std::nullopt;
    return spec;
}

std::string format_float(double value, char type, int precision, bool alternate) {
    precision = std::clamp(precision, 0, kMaxPrecision);
    const char lower = static_cast<char>(type | 0x20);
    const auto style = lower == 'f'   ? std::chars_format::fixed
                       : lower == 'e' ? std::chars_format::scientific
                                      : std::chars_format::general;
    if (lower == 'g' && precision == 0) precision = 1;
    std::array<char, 800> buffer{};
    const auto result =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, style, precision);
    std::string out(buffer.data(), result.ptr);
    if (alternate && out.find('.') == std::string::npos) {
        out.insert(std::min(out.find('e'), out.size()), ".");
    }
    if (type != lower) {
        for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    return out;
}

void append_padded(Text& out, const Text& text, size_t width, char align, char32_t fill) {
    const size_t length = count_chars(text.bytes);
    const size_t missing = width > length ? width - length : 0;
    const size_t before = align == '>' ? missing : align == '^' ? missing / 2 : 0;
    const auto padding = [fill](size_t count) {
        if (fill < 0x80) return std::string(count, static_cast<char>(fill));
        std::string chars;
        for (size_t i = 0; i < count; ++i) append_char(chars, fill);
        return chars;
    };
    out.add(padding(before));
    out.add(text);
    out.add(padding(missing - before));
}

void append_formatted(Runtime& runtime, Text& out, const Value& value, const FormatSpec& spec) {
    const bool wants_float =
        spec.type != 0 && std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos;
    const auto reject = [&] {
        runtime.fail(fmt::format("Unknown format code '{}' for object of type '{}'", spec.type,
                                 type_name(value)));
    };
    if (value.is(Kind::floating) || (value.is_integral() && wants_float)) {
        if (!wants_float && spec.type != 0 && spec.type != 'n') return reject();
        return append_float(out, value.as_double(), spec);
    }
    if (value.is(Kind::integer) || (value.is(Kind::boolean) && spec.type != 0)) {
        if (spec.type == 's') return reject();
        if (spec.precision) {
            runtime.fail("Precision not allowed in integer format specifier");
            return;
        }
        if (spec.type != 'c') return append_integer(out, value.as_integer(), spec);
        std::string one;
        append_char(one, static_cast<char32_t>(static_cast<uint64_t>(value.as_integer())));
        return append_padded(out, Text(one), spec.width, spec.align == 0 ? '<' : spec.align,
                             spec.fill);
    }
    if (spec.type != 0 && spec.type != 's') return reject();
    Text scratch;
    const Text& text = str(runtime, value, scratch);
    const size_t end = spec.precision
                           ? byte_position(text.bytes, static_cast<size_t>(*spec.precision))
                           : text.size();
    append_padded(out, text.slice(0, end), spec.width,
                  spec.align == 0 || spec.align == '=' ? '<' : spec.align, spec.fill);
}

}  // namespace hokku::jinja
