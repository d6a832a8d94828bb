// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "text/template/filters.h"
#include "text/template/format.h"
#include "text/template/iterator.h"
#include "text/template/json.h"
#include "text/template/repr.h"
#include "text/template/text_ops.h"
#include "text/template/unicode.h"

namespace hokku::jinja {

namespace {

template <Case to>
Value change_case_filter(Runtime& runtime, const Value& self, Arguments&) {
    Text scratch;
    const Text& text = str(runtime, self, scratch);
    runtime.spend_scan(text.size());
    return runtime.string(change_case(text, to));
}

Value center(Runtime& runtime, const Value& self, Arguments& arguments) {
    const int64_t width = integer_argument(runtime, arguments, 0, 80);
    Text scratch;
    const Text& text = str(runtime, self, scratch);
    if (runtime.failed() || (width > 0 && !runtime.check_text(static_cast<size_t>(width)))) {
        return runtime.fail("");
    }
    return runtime.string(center_text(text, width, " "));
}

Value escape(Runtime& runtime, const Value& self, Arguments&) {
    Text scratch, out;
    append_escaped(runtime, out, str(runtime, self, scratch),
                   [](std::string& to, std::string_view text, size_t& position) {
                       const char c = text[position++];
                       switch (c) {
                           case '&':
                               to += "&amp;";
                               break;
                           case '<':
                               to += "&lt;";
                               break;
                           case '>':
                               to += "&gt;";
                               break;
                           case '\'':
                               to += "&#39;";
                               break;
                           case '"':
                               to += "&#34;";
                               break;
                           default:
                               to += c;
                       }
                   });
    return runtime.string(std::move(out));
}

// Like "safe" in Jinja, without its side effect: what is added to safe text is not escaped.
Value safe(Runtime& runtime, const Value& self, Arguments&) {
    return to_string(runtime, self);
}

Value format(Runtime& runtime, const Value& self, Arguments& arguments) {
    if (!arguments.positional.empty() && !arguments.named.empty()) {
        return runtime.fail("can't handle positional and keyword arguments at the same time");
    }
    Text scratch;
    const Text& text = str(runtime, self, scratch);
    if (arguments.named.empty()) {
        return format_percent(runtime, text, runtime.tuple(std::move(arguments.positional)));
    }
    const auto named = runtime.dict();
    for (auto& [name, value] : arguments.named) named->set(runtime.string(name), std::move(value));
    return format_percent(runtime, text, Value(named));
}

Value indent(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Text& text = text_argument(runtime, self);
    Text unit;
    if (arguments.has(0) && arguments[0].is_string()) {
        unit = arguments[0].as_string().text;
    } else {
        const int64_t width = integer_argument(runtime, arguments, 0, 4);
        if (width > 0 && !runtime.check_text(static_cast<size_t>(width))) return runtime.fail("");
        if (width > 0) unit.add(std::string(static_cast<size_t>(width), ' '));
    }
    if (runtime.failed()) return runtime.fail("");
    const bool first = truth_argument(arguments, 1, false);
    const bool blank = truth_argument(arguments, 2, false);
    runtime.spend_scan(text.size());
    Text out;
    size_t position = 0;
    // A break at the very end starts one more, empty line; so does an empty text.
    bool has_line = true;
    for (bool is_first = true; has_line && runtime.check_text(out.size()); is_first = false) {
        const Line line = next_line(text.bytes, position);
        if (!is_first) out.add("\n");
        if (is_first ? first : blank || line.begin < line.end) out.add(unit);
        out.add(text, line.begin, line.end);
        has_line = position > line.end;
    }
    return runtime.string(std::move(out));
}

Value replace(Runtime& runtime, const Value& self, Arguments& arguments) {
    Text text, from, to;
    const int64_t count = integer_argument(runtime, arguments, 2, -1);
    if (runtime.failed()) return runtime.fail("");
    return replace_text(runtime, str(runtime, self, text), str(runtime, arguments[0], from),
                        str(runtime, arguments[1], to), count);
}

Value string_filter(Runtime& runtime, const Value& self, Arguments&) {
    return to_string(runtime, self);
}

Value title(Runtime& runtime, const Value& self, Arguments&) {
    Text scratch, out;
    const Text& text = str(runtime, self, scratch);
    const std::string_view view = text.bytes;
    runtime.spend_scan(text.size());
    const auto begins_word = [](char32_t c) {
        return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || is_space(c);
    };
    for (size_t i = 0; i < view.size();) {
        const size_t start = i;
        const bool is_gap = begins_word(next_char(view, i));
        const size_t after_first = i;
        while (i < view.size()) {
            size_t next = i;
            if (begins_word(next_char(view, next)) != is_gap) break;
            i = next;
        }
        out.add(change_case(text.slice(start, after_first), Case::upper));
        out.add(change_case(text.slice(after_first, i), Case::lower));
    }
    return runtime.string(std::move(out));
}

Value tojson(Runtime& runtime, const Value& self, Arguments& arguments) {
    JsonStyle style;
    style.ensure_ascii = truth_argument(arguments, 0, false);
    if (arguments.has(1) && !arguments[1].is_none()) {
        if (arguments[1].is_string()) {
            style.indent = arguments[1].as_string().text.bytes;
        } else {
            const int64_t width = integer_argument(runtime, arguments[1]);
            if (width > 1000) return runtime.fail("an indent of more than 1000 spaces");
            style.indent = std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
        }
        style.item_separator = Text(",");
    }
    if (arguments.has(2) && !arguments[2].is_none()) {
        const Value& separators = arguments[2];
        if (!separators.is_sequence() || separators.as_list().items.size() != 2) {
            return runtime.fail("separators must be a pair of strings");
        }
        style.item_separator = text_argument(runtime, separators.as_list().items[0]);
        style.key_separator = text_argument(runtime, separators.as_list().items[1]);
    }
    style.sort_keys = truth_argument(arguments, 3, false);
    Text out;
    if (!runtime.failed()) append_json(runtime, out, self, style);
    return runtime.check_text(out.size()) ? runtime.string(std::move(out)) : runtime.fail("");
}

Value trim(Runtime& runtime, const Value& self, Arguments& arguments) {
    Text scratch;
    const Text& text = str(runtime, self, scratch);
    std::optional<std::string_view> chars;
    if (arguments.has(0) && !arguments[0].is_none()) {
        chars = text_argument(runtime, arguments[0]).bytes;
    }
    Text stripped = strip(text, Side::both, chars);
    runtime.spend_scan(text.size() - stripped.size());
    return runtime.string(std::move(stripped));
}

Value truncate(Runtime& runtime, const Value& self, Arguments& arguments) {
    const int64_t length = integer_argument(runtime, arguments, 0, 255);
    const bool kill_words = truth_argument(arguments, 1, false);
    const Text dots("...");
    const Text& end = arguments.has(2) ? text_argument(runtime, arguments[2]) : dots;
    const int64_t leeway = integer_argument(runtime, arguments, 3, 5);
    const auto end_chars = static_cast<int64_t>(count_chars(end.bytes));
    if (runtime.failed()) return runtime.fail("");
    if (length < end_chars) {
        return runtime.fail(fmt::format("expected length >= {}, got {}", end_chars, length));
    }
    if (leeway < 0) return runtime.fail(fmt::format("expected leeway >= 0, got {}", leeway));
    const auto size = length_of(self);
    if (!size) {
        return runtime.fail(fmt::format("object of type '{}' has no len()", type_name(self)));
    }
    const auto num_chars = static_cast<int64_t>(*size);
    if (num_chars <= length || num_chars - length <= leeway) return self;
    const Text& text = text_argument(runtime, self);
    size_t cut = byte_position(text.bytes, static_cast<size_t>(length - end_chars));
    if (!kill_words) {
        const size_t space = std::string_view(text.bytes).substr(0, cut).rfind(' ');
        if (space != std::string_view::npos) cut = space;
    }
    Text out = text.slice(0, cut);
    out.add(end);
    return runtime.string(std::move(out));
}

void append_quoted_url(Runtime& runtime, Text& out, const Text& text, bool in_query) {
    const auto escape_byte = [in_query](std::string& to, std::string_view from, size_t& position) {
        const char c = from[position++];
        const bool is_kept =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            std::string_view("_.-~").find(c) != std::string_view::npos || (c == '/' && !in_query);
        if (is_kept) {
            to += c;
        } else if (c == ' ' && in_query) {
            to += '+';
        } else {
            to += fmt::format("%{:02X}", static_cast<unsigned char>(c));
        }
    };
    append_escaped(runtime, out, text, escape_byte);
}

Value urlencode(Runtime& runtime, const Value& self, Arguments&) {
    Text out, scratch;
    if (self.is_string() || (!self.is_sequence() && !self.is(Kind::dict))) {
        append_quoted_url(runtime, out, str(runtime, self, scratch), false);
        return runtime.check_text(out.size()) ? runtime.string(std::move(out)) : runtime.fail("");
    }
    const auto add_pair = [&](const Value& key, const Value& value) {
        if (out.size() > 0) out.add("&");
        append_quoted_url(runtime, out, str(runtime, key, scratch), true);
        out.add("=");
        append_quoted_url(runtime, out, str(runtime, value, scratch), true);
        return runtime.check_text(out.size());
    };
    if (self.is(Kind::dict)) {
        for (const Dict::Entry& entry : self.as_dict().entries) {
            if (!add_pair(entry.key, entry.value)) break;
        }
    } else {
        for (const Value& item : self.as_list().items) {
            if (!item.is_sequence() || item.as_list().items.size() != 2) {
                return runtime.fail("urlencode needs pairs of a key and a value");
            }
            if (!add_pair(item.as_list().items[0], item.as_list().items[1])) break;
        }
    }
    return runtime.string(std::move(out));
}

Value wordcount(Runtime& runtime, const Value& self, Arguments&) {
    Text scratch;
    const std::string_view text = str(runtime, self, scratch).bytes;
    runtime.spend_scan(text.size());
    int64_t count = 0;
    bool in_word = false;
    for (size_t i = 0; i < text.size();) {
        const bool is_part = is_word(next_char(text, i));
        if (is_part && !in_word) ++count;
        in_word = is_part;
    }
    return Value::integer(count);
}

}  // namespace

std::span<const Builtin> text_filters() {
    static constexpr Builtin kTable[] = {
        {"capitalize", "", change_case_filter<Case::capitalize>},
        {"center", "width?", center},
        {"e", "", escape},
        {"escape", "", escape},
        {"forceescape", "", escape},
        {"format", "*", format},
        {"indent", "width? first? blank?", indent},
        {"lower", "", change_case_filter<Case::lower>},
        {"replace", "old new count?", replace},
        {"safe", "", safe},
        {"string", "", string_filter},
        {"title", "", title},
        {"tojson", "ensure_ascii? indent? separators? sort_keys?", tojson},
        {"trim", "chars?", trim},
        {"truncate", "length? killwords? end? leeway?", truncate},
        {"upper", "", change_case_filter<Case::upper>},
        {"urlencode", "", urlencode},
        {"wordcount", "", wordcount},
    };
    return kTable;
}

}  // namespace hokku::jinja
