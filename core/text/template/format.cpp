// SPDX-License-Identifier: Apache-2.0
#include "text/template/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "text/template/access.h"
#include "text/template/format_spec.h"
#include "text/template/repr.h"
#include "text/template/runtime.h"
#include "text/template/unicode.h"

namespace hokku::jinja {

namespace {

// One "%..." conversion after another.
class PercentFormatter {
  public:
    PercentFormatter(Runtime& runtime, const Text& pattern, const Value& values)
        : runtime_(runtime), pattern_(pattern), values_(values) {}

    Value run() {
        const std::string_view text = pattern_.bytes;
        while (position_ < text.size() && !runtime_.failed()) {
            const size_t next = std::min(text.find('%', position_), text.size());
            out_.add(pattern_, position_, next);
            position_ = next;
            if (position_ < text.size()) convert();
        }
        const bool is_tuple = values_.is(Kind::tuple);
        const size_t num_given = is_tuple ? values_.as_list().items.size() : 1;
        const bool may_be_unused =
            values_.is(Kind::dict) || values_.is(Kind::list) || values_.is_undefined();
        if (num_used_ < num_given && !may_be_unused && !named_) {
            runtime_.fail("not all arguments converted during string formatting");
        }
        return runtime_.string(std::move(out_));
    }

  private:
    char current() const { return position_ < pattern_.size() ? pattern_.bytes[position_] : '\0'; }

    Value next_value() {
        const bool is_tuple = values_.is(Kind::tuple);
        const size_t index = num_used_++;
        if (is_tuple && index < values_.as_list().items.size())
            return values_.as_list().items[index];
        if (!is_tuple && index == 0) return values_;
        return runtime_.fail("not enough arguments for format string");
    }

    size_t take_size(bool& is_given) {
        is_given = true;
        if (current() == '*') {
            ++position_;
            const int64_t size = integer_value(next_value());
            return static_cast<size_t>(std::clamp<int64_t>(size, 0, 1 << 16));
        }
        size_t size = 0;
        is_given = false;
        for (; current() >= '0' && current() <= '9'; ++position_) {
            size = std::min(size * 10 + static_cast<size_t>(current() - '0'), size_t{1} << 16);
            is_given = true;
        }
        return size;
    }

    int64_t integer_value(const Value& value) {
        if (value.is_integral()) return value.as_integer();
        if (value.is(Kind::floating) && value.as_double() > -9e18 && value.as_double() < 9e18) {
            return static_cast<int64_t>(value.as_double());
        }
        runtime_.fail(fmt::format("a number is required, not {}", type_name(value)));
        return 0;
    }

    void convert() {
        const size_t start = position_++;
        std::optional<Value> named = take_name();
        FormatSpec spec;
        char align = '>';
        for (; current() != '\0' &&
               std::string_view("-+ #0").find(current()) != std::string_view::npos;
             ++position_) {
            if (current() == '-') align = '<';
            if (current() == '+') spec.sign = '+';
            if (current() == ' ' && spec.sign != '+') spec.sign = ' ';
            if (current() == '#') spec.alternate = true;
            if (current() == '0') spec.fill = '0';
        }
        bool is_given = false;
        spec.width = take_size(is_given);
        if (current() == '.') {
            ++position_;
            spec.precision = static_cast<int>(take_size(is_given));
        }
        const char type = current();
        if (type == '\0') {
            runtime_.fail("incomplete format");
            return;
        }
        ++position_;
        if (type == '%') {
            out_.add("%", pattern_.origin.at(start));
            return;
        }
        spec.align = align == '<' ? '<' : spec.fill == '0' ? '=' : '>';
        if (align == '<') spec.fill = ' ';
        apply(type, spec, named ? std::move(*named) : next_value());
    }

    std::optional<Value> take_name() {
        if (current() != '(') return std::nullopt;
        const size_t close = pattern_.bytes.find(')', position_);
        if (close == std::string::npos) return runtime_.fail("incomplete format key");
        const std::string_view key =
            std::string_view(pattern_.bytes).substr(position_ + 1, close - position_ - 1);
        position_ = close + 1;
        named_ = true;
        if (!values_.is(Kind::dict)) return runtime_.fail("format requires a mapping");
        const Value* const found = values_.as_dict().find(key);
        return found != nullptr ? *found : runtime_.fail(fmt::format("'{}'", key));
    }

    void apply(char type, FormatSpec& spec, const Value& value) {
        if (runtime_.failed()) return;
        switch (type) {
            case 's':
            case 'r':
            case 'a': {
                Text text;
                type == 's' ? append_str(runtime_, text, value)
                            : append_repr(runtime_, text, value);
                spec.fill = ' ';
                if (spec.align == '=') spec.align = '>';
                append_formatted(runtime_, out_, runtime_.string(std::move(text)), spec);
                break;
            }
            case 'd':
            case 'i':
            case 'u':
            case 'x':
            case 'X':
            case 'o':
                spec.type = type == 'i' || type == 'u' ? 'd' : type;
                spec.precision.reset();
                append_formatted(runtime_, out_, Value::integer(integer_value(value)), spec);
                break;
            case 'c':
                if (value.is_string()) {
                    append_padded(out_, value.as_string().text, spec.width, spec.align, ' ');
                    break;
                }
                [[fallthrough]];
            case 'e':
            case 'E':
            case 'f':
            case 'F':
            case 'g':
            case 'G':
                spec.type = type;
                if (!value.is_number()) {
                    runtime_.fail(fmt::format("must be real number, not {}", type_name(value)));
                    break;
                }
                append_formatted(runtime_, out_, value, spec);
                break;
            default:
                runtime_.fail(fmt::format("unsupported format character '{}'",
                                          char_at(pattern_.bytes, position_ - 1)));
        }
    }

    Runtime& runtime_;
    const Text& pattern_;
    const Value& values_;
    Text out_;
    size_t position_ = 0, num_used_ = 0;
    bool named_ = false;
};

// Replaces "{field!conversion:spec}".
class BraceFormatter {
  public:
    BraceFormatter(Runtime& runtime, const Arguments& arguments)
        : runtime_(runtime), arguments_(arguments) {}

    Text run(const Text& pattern, int depth) {
        Text out;
        const std::string_view text = pattern.bytes;
        for (size_t i = 0; i < text.size() && !runtime_.failed();) {
            const size_t next = std::min(text.find_first_of("{}", i), text.size());
            out.add(pattern, i, next);
            if (next == text.size()) break;
            if (next + 1 < text.size() && text[next + 1] == text[next]) {
                out.add(pattern, next, next + 1);
                i = next + 2;
                continue;
            }
            const size_t end = text[next] == '{' ? field_end(text, next) : std::string_view::npos;
            if (end == std::string_view::npos || depth > 1) {
                runtime_.fail(depth > 1 ? "Max string recursion exceeded"
                                        : fmt::format("Single '{}' encountered in format string",
                                                      text[next]));
                break;
            }
            replace(out, pattern.slice(next + 1, end), depth);
            i = end + 1;
        }
        return out;
    }

  private:
    static size_t field_end(std::string_view text, size_t open) {
        int nesting = 0;
        for (size_t i = open; i < text.size(); ++i) {
            if (text[i] == '{') ++nesting;
            if (text[i] == '}' && --nesting == 0) return i;
        }
        return std::string_view::npos;
    }

    void replace(Text& out, const Text& field, int depth) {
        const std::string_view text = field.bytes;
        size_t name_end = 0;
        for (bool in_index = false; name_end < text.size(); ++name_end) {
            if (text[name_end] == '[') in_index = true;
            if (text[name_end] == ']') in_index = false;
            if (!in_index && (text[name_end] == '!' || text[name_end] == ':')) break;
        }
        std::string_view conversion;
        size_t rest = name_end;
        if (rest + 1 < text.size() && text[rest] == '!') {
            conversion = char_at(text, rest + 1);
            rest += 1 + conversion.size();
        }
        if (rest < text.size() && text[rest] != ':') {
            runtime_.fail(text[rest] == '!' && conversion.empty()
                              ? "unmatched '{' in format spec"
                              : "expected ':' after conversion specifier");
            return;
        }
        Text spec_text;
        if (rest < text.size()) {
            spec_text = run(field.slice(rest + 1, text.size()), depth + 1);
        }
        Value value = find(text.substr(0, name_end));
        if (runtime_.failed()) return;
        if (!conversion.empty()) value = convert(value, conversion);
        if (runtime_.failed()) return;
        const auto spec = FormatSpec::parse(spec_text.bytes);
        if (!spec) {
            runtime_.fail(fmt::format("Invalid format specifier '{}'", spec_text.bytes));
            return;
        }
        append_formatted(runtime_, out, value, *spec);
        if (out.size() > runtime_.limits().max_output_bytes) {
            runtime_.fail_limit("a formatted text grows too long");
        }
    }

    Value convert(const Value& value, std::string_view conversion) {
        Text converted;
        if (conversion == "s") {
            append_str(runtime_, converted, value);
        } else if (conversion == "r" || conversion == "a") {
            append_repr(runtime_, converted, value);
        } else {
            return runtime_.fail(fmt::format("Unknown conversion specifier {}", conversion));
        }
        return runtime_.string(std::move(converted));
    }

    Value first_value(std::string_view name) {
        size_t index = 0;
        const auto parsed = std::from_chars(name.data(), name.data() + name.size(), index);
        const bool is_number = parsed.ec == std::errc() && parsed.ptr == name.data() + name.size();
        if (name.empty()) index = next_index_++;
        if (name.empty() || is_number) {
            if (index < arguments_.size()) return arguments_[index];
            return runtime_.fail(
                fmt::format("Replacement index {} out of range for positional args tuple", index));
        }
        for (const auto& [key, value] : arguments_.named) {
            if (key == name) return value;
        }
        return runtime_.fail(fmt::format("'{}'", name));
    }

    Value find(std::string_view path) {
        const size_t first_end = std::min(path.find_first_of(".["), path.size());
        Value value = first_value(path.substr(0, first_end));
        path.remove_prefix(first_end);
        while (!path.empty() && !runtime_.failed()) {
            const bool is_index = path[0] == '[';
            const size_t end =
                std::min(is_index ? path.find(']') : path.find_first_of(".[", 1), path.size());
            const std::string_view name = path.substr(1, end - 1);
            int64_t index = 0;
            const auto parsed = std::from_chars(name.data(), name.data() + name.size(), index);
            const bool is_number =
                is_index && parsed.ec == std::errc() && parsed.ptr == name.data() + name.size();
            const Value key = is_number ? Value::integer(index) : runtime_.string(name);
            value = is_index ? get_item(runtime_, value, key) : get_attribute(runtime_, value, key);
            path.remove_prefix(std::min(is_index ? end + 1 : end, path.size()));
        }
        return value;
    }

    Runtime& runtime_;
    const Arguments& arguments_;
    size_t next_index_ = 0;
};

}  // namespace

Value format_percent(Runtime& runtime, const Text& pattern, const Value& values) {
    return PercentFormatter(runtime, pattern, values).run();
}

Value format_braces(Runtime& runtime, const Text& pattern, const Arguments& arguments) {
    return runtime.string(BraceFormatter(runtime, arguments).run(pattern, 0));
}

}  // namespace hokku::jinja
