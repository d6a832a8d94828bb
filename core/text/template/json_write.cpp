// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "text/template/json.h"
#include "text/template/repr.h"
#include "text/template/runtime.h"
#include "text/template/text_ops.h"
#include "text/template/unicode.h"

namespace hokku::jinja {

namespace {

class JsonWriter {
  public:
    JsonWriter(Runtime& runtime, Text& out, const JsonStyle& style)
        : runtime_(runtime), out_(out), style_(style) {}

    void write(const Value& value, bool is_content) {
        switch (value.kind()) {
            case Kind::string:
                write_string(value.as_string().text);
                break;
            case Kind::list:
            case Kind::tuple:
                write_list(value.as_list());
                break;
            case Kind::dict:
                write_dict(value.as_dict());
                break;
            default:
                write_scalar(value, is_content);
        }
    }

  private:
    static std::string number(double value) {
        if (std::isnan(value)) return "NaN";
        if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
        return float_repr(value);
    }

    // Apart, so that its temporaries do not take stack at every level of nesting.
    [[gnu::noinline]] void write_scalar(const Value& value, bool is_content) {
        switch (value.kind()) {
            case Kind::none:
                out_.add("null", is_content);
                break;
            case Kind::boolean:
                out_.add(value.as_boolean() ? "true" : "false", is_content);
                break;
            case Kind::integer:
                out_.add(fmt::format_int(value.as_integer()).c_str(), is_content);
                break;
            case Kind::big_integer:
                out_.add(value.as<BigInteger>().digits, is_content);
                break;
            case Kind::floating:
                out_.add(number(value.as_double()), is_content);
                break;
            default:
                runtime_.fail(
                    fmt::format("Object of type {} is not JSON serializable", type_name(value)));
        }
    }

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

    void new_line(bool is_content) {
        if (!style_.indent) return;
        out_.add("\n", is_content);
        for (int i = 0; i < depth_; ++i) out_.add(*style_.indent, is_content);
    }

    void separate(bool& is_first, bool is_content) {
        if (!std::exchange(is_first, false)) {
            out_.add(style_.item_separator.bytes,
                     is_content || style_.item_separator.origin.any_content());
        }
        new_line(is_content);
    }

    void write_list(const List& list) {
        out_.add("[", list.is_content);
        bool is_first = true;
        if (enter()) {
            for (const Value& item : list.items) {
                if (!may_go_on()) break;
                separate(is_first, list.is_content);
                write(item, list.is_content);
            }
        }
        --depth_;
        if (!is_first) new_line(list.is_content);
        out_.add("]", list.is_content);
    }

    void write_dict(const Dict& dict) {
        out_.add("{", dict.is_content);
        bool is_first = true;
        if (enter()) {
            if (style_.sort_keys) {
                write_sorted(dict, is_first);
            } else {
                for (const Dict::Entry& entry : dict.entries) {
                    if (!may_go_on()) break;
                    write_entry(entry, dict.is_content, is_first);
                }
            }
        }
        --depth_;
        if (!is_first) new_line(dict.is_content);
        out_.add("}", dict.is_content);
    }

    void write_entry(const Dict::Entry& entry, bool is_content, bool& is_first) {
        separate(is_first, is_content);
        write_key(entry.key, is_content);
        out_.add(style_.key_separator.bytes,
                 is_content || style_.key_separator.origin.any_content());
        write(entry.value, is_content);
    }

    void write_sorted(const Dict& dict, bool& is_first) {
        for (const Dict::Entry* entry : sorted_entries(dict)) {
            if (!may_go_on()) break;
            write_entry(*entry, dict.is_content, is_first);
        }
    }

    [[gnu::noinline]] std::vector<const Dict::Entry*> sorted_entries(const Dict& dict) {
        std::vector<const Dict::Entry*> entries;
        entries.reserve(dict.entries.size());
        for (const Dict::Entry& entry : dict.entries) entries.push_back(&entry);
        std::stable_sort(entries.begin(), entries.end(), [&](const auto* a, const auto* b) {
            return runtime_.ordered(a->key, b->key, "<");
        });
        return entries;
    }

    void write_key(const Value& key, bool is_content) {
        if (key.is_string()) {
            write_string(key.as_string().text);
        } else if (key.is_number() || key.is_none() || key.is(Kind::big_integer)) {
            out_.add("\"", is_content);
            write(key, is_content);
            out_.add("\"", is_content);
        } else {
            runtime_.fail(
                fmt::format("keys must be str, int, float, bool or None, not {}", type_name(key)));
        }
    }

    [[gnu::noinline]] void write_string(const Text& text) {
        out_.add("\"", text.origin.first());
        append_escaped(runtime_, out_, text,
                       [this](std::string& to, std::string_view from, size_t& position) {
                           escape_char(to, from, position);
                       });
        out_.add("\"", text.origin.last());
    }

    void escape_char(std::string& out, std::string_view text, size_t& position) const {
        const size_t start = position;
        const char32_t c = next_char(text, position);
        switch (c) {
            case '"':
                out += "\\\"";
                return;
            case '\\':
                out += "\\\\";
                return;
            case '\n':
                out += "\\n";
                return;
            case '\r':
                out += "\\r";
                return;
            case '\t':
                out += "\\t";
                return;
            case '\b':
                out += "\\b";
                return;
            case '\f':
                out += "\\f";
                return;
            default:
                break;
        }
        const auto code = static_cast<uint32_t>(c);
        if (code < 0x20 || (code > 0x7E && style_.ensure_ascii)) {
            if (code < 0x10000) {
                out += fmt::format("\\u{:04x}", code);
            } else {
                const uint32_t offset = code - 0x10000;
                out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (offset >> 10),
                                   0xDC00 + (offset & 0x3FF));
            }
        } else {
            out.append(text, start, position - start);
        }
    }

    Runtime& runtime_;
    Text& out_;
    const JsonStyle& style_;
    int depth_ = 0;
};

}  // namespace

void append_json(Runtime& runtime, Text& out, const Value& value, const JsonStyle& style) {
    JsonWriter(runtime, out, style).write(value, false);
}

}  // namespace hokku::jinja
