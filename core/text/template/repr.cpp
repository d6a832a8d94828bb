// SPDX-License-Identifier: Apache-2.0
#include "text/template/repr.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "text/template/builtin.h"
#include "text/template/iterator.h"
#include "text/template/macro.h"
#include "text/template/runtime.h"
#include "text/template/text_ops.h"
#include "text/template/unicode.h"

namespace hokku::jinja {

namespace {

// Writes repr() of values; knows the depth it is at.
class ReprWriter {
  public:
    ReprWriter(Runtime& runtime, Text& out) : runtime_(runtime), out_(out) {}

    void write(const Value& value, bool is_content) {
        switch (value.kind()) {
            case Kind::string:
                write_string(value.as_string().text);
                break;
            case Kind::list:
            case Kind::tuple:
                write_items(value.as_list());
                break;
            case Kind::dict:
                write_dict(value.as_dict());
                break;
            case Kind::view:
                write_view(value.as<View>());
                break;
            case Kind::undefined:
                out_.add("Undefined");
                break;
            case Kind::name_space:
                out_.add("<Namespace ");
                write_dict(*value.as<Namespace>().attributes);
                out_.add(">");
                break;
            default:
                write_scalar(value, is_content);
        }
    }

    // Apart, so that its temporaries do not take stack at every level of nesting.
    [[gnu::noinline]] void write_scalar(const Value& value, bool is_content) {
        switch (value.kind()) {
            case Kind::none:
                out_.add("None", is_content);
                break;
            case Kind::boolean:
                out_.add(value.as_boolean() ? "True" : "False", is_content);
                break;
            case Kind::integer:
                out_.add(fmt::format_int(value.as_integer()).c_str(), is_content);
                break;
            case Kind::floating:
                out_.add(float_repr(value.as_double()), is_content);
                break;
            case Kind::big_integer:
                out_.add(value.as<BigInteger>().digits, is_content);
                break;
            case Kind::range:
                write_range(value.as<Range>());
                break;
            case Kind::macro:
                out_.add(macro_name(value).empty()
                             ? "<Macro anonymous>"
                             : fmt::format("<Macro '{}'>", macro_name(value)));
                break;
            case Kind::function:
                out_.add(fmt::format("<built-in function {}>", value.as_function().name));
                break;
            case Kind::method:
                out_.add(fmt::format("<built-in method {} of {} object>",
                                     value.as<Method>().builtin->name,
                                     type_name(value.as<Method>().self)));
                break;
            default:
                out_.add(fmt::format("<{} object>", type_name(value)));
        }
    }

  private:
    bool enter() {
        if (++depth_ <= kMaxNesting && !runtime_.stack().is_exhausted()) return runtime_.spend();
        runtime_.fail_limit(fmt::format("values are nested deeper than {} levels", kMaxNesting));
        return false;
    }

    bool may_go_on() {
        if (out_.size() <= runtime_.limits().max_output_bytes) return runtime_.spend();
        runtime_.fail_limit(
            fmt::format("a text grows beyond {} bytes", runtime_.limits().max_output_bytes));
        return false;
    }

    void write_items(const List& list) {
        const bool is_tuple = list.kind == Kind::tuple;
        out_.add(is_tuple ? "(" : "[", list.is_content);
        if (enter()) {
            for (size_t i = 0; i < list.items.size() && may_go_on(); ++i) {
                if (i > 0) out_.add(", ", list.is_content);
                write(list.items[i], list.is_content);
            }
        }
        --depth_;
        if (is_tuple && list.items.size() == 1) out_.add(",", list.is_content);
        out_.add(is_tuple ? ")" : "]", list.is_content);
    }

    void write_dict(const Dict& dict) {
        out_.add("{", dict.is_content);
        if (enter()) {
            bool is_first = true;
            for (const Dict::Entry& entry : dict.entries) {
                if (!may_go_on()) break;
                if (!std::exchange(is_first, false)) out_.add(", ", dict.is_content);
                write(entry.key, dict.is_content);
                out_.add(": ", dict.is_content);
                write(entry.value, dict.is_content);
            }
        }
        --depth_;
        out_.add("}", dict.is_content);
    }

    void write_view(const View& view) {
        const Dict& dict = view.dict.as_dict();
        out_.add(type_name(Value(const_cast<View*>(&view))));
        out_.add("([");
        if (enter()) {
            bool is_first = true;
            for (const Dict::Entry& entry : dict.entries) {
                if (!may_go_on()) break;
                if (!std::exchange(is_first, false)) out_.add(", ");
                const bool is_pair = view.part == View::Part::items;
                if (is_pair) out_.add("(");
                if (view.part != View::Part::values) write(entry.key, dict.is_content);
                if (is_pair) out_.add(", ");
                if (view.part != View::Part::keys) write(entry.value, dict.is_content);
                if (is_pair) out_.add(")");
            }
        }
        --depth_;
        out_.add("])");
    }

    void write_range(const Range& range) {
        out_.add(range.step == 1
                     ? fmt::format("range({}, {})", range.start, range.stop)
                     : fmt::format("range({}, {}, {})", range.start, range.stop, range.step));
    }

    [[gnu::noinline]] void write_string(const Text& text) {
        const bool has_single = text.bytes.find('\'') != std::string::npos;
        const bool has_double = text.bytes.find('"') != std::string::npos;
        const char quote = has_single && !has_double ? '"' : '\'';
        const std::string_view mark(&quote, 1);
        out_.add(mark, text.origin.first());
        append_escaped(runtime_, out_, text,
                       [quote](std::string& to, std::string_view from, size_t& position) {
                           escape_char(to, from, position, quote);
                       });
        out_.add(mark, text.origin.last());
    }

    static void escape_char(std::string& out, std::string_view text, size_t& position, char quote) {
        const size_t start = position;
        const char32_t c = next_char(text, position);
        if (c == '\\' || c == static_cast<unsigned char>(quote)) {
            out += '\\';
            out += static_cast<char>(c);
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\r') {
            out += "\\r";
        } else if (c == '\t') {
            out += "\\t";
        } else if (is_printable(c)) {
            out.append(text, start, position - start);
        } else {
            const auto code = static_cast<uint32_t>(c);
            out += code < 0x100     ? fmt::format("\\x{:02x}", code)
                   : code < 0x10000 ? fmt::format("\\u{:04x}", code)
                                    : fmt::format("\\U{:08x}", code);
        }
    }

    Runtime& runtime_;
    Text& out_;
    int depth_ = 0;
};

}  // namespace

std::string float_repr(double number) {
    if (std::isnan(number)) return "nan";
    if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
    std::array<char, 40> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                   std::chars_format::scientific)
                         .ptr;
    const std::string_view text(buffer.data(), static_cast<size_t>(end - buffer.data()));
    const size_t mark = text.find('e');
    const bool is_negative = text[0] == '-';
    std::string digits;
    for (const char c : text.substr(0, mark)) {
        if (c >= '0' && c <= '9') digits += c;
    }
    int exponent = 0;
    std::string_view tail = text.substr(mark + 1);
    if (tail[0] == '+') tail.remove_prefix(1);
    std::from_chars(tail.data(), tail.data() + tail.size(), exponent);

    std::string out = is_negative ? "-" : "";
    const int num_digits = static_cast<int>(digits.size());
    if (exponent < -4 || exponent >= 16) {
        out += digits[0];
        if (num_digits > 1) out += '.' + digits.substr(1);
        return out + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
    }
    if (exponent < 0)
        return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
    if (num_digits <= exponent + 1) {
        return out + digits + std::string(static_cast<size_t>(exponent + 1 - num_digits), '0') +
               ".0";
    }
    const auto whole = static_cast<size_t>(exponent + 1);
    return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

void append_str(Runtime& runtime, Text& out, const Value& value) {
    if (value.is_string()) {
        out.add(value.as_string().text);
    } else if (!value.is_undefined() && !value.is_missing()) {
        append_repr(runtime, out, value);
    }
}

void append_repr(Runtime& runtime, Text& out, const Value& value) {
    ReprWriter(runtime, out).write(value, false);
}

std::string repr(Runtime& runtime, const Value& value) {
    Text out;
    append_repr(runtime, out, value);
    return std::move(out.bytes);
}

const Text& str(Runtime& runtime, const Value& value, Text& scratch) {
    if (value.is_string()) return value.as_string().text;
    scratch = Text();
    append_str(runtime, scratch, value);
    return scratch;
}

Value to_string(Runtime& runtime, const Value& value) {
    if (value.is_string()) return value;
    Text out;
    append_str(runtime, out, value);
    return runtime.string(std::move(out));
}

}  // namespace hokku::jinja
