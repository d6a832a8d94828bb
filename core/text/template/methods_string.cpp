// SPDX-License-Identifier: Apache-2.0
// The methods of str.
#include <fmt/format.h>

#include <algorithm>

#include "text/template/builtin.h"
#include "text/template/format.h"
#include "text/template/format_spec.h"
#include "text/template/iterator.h"
#include "text/template/methods.h"
#include "text/template/text_ops.h"
#include "text/template/unicode.h"

namespace hokku::jinja {

namespace {

const Text& text_of(const Value& self) {
    return self.as_string().text;
}

template <Case to>
Value change_case_method(Runtime& runtime, const Value& self, Arguments&) {
    runtime.spend_scan(text_of(self).size());
    return runtime.string(change_case(text_of(self), to));
}

std::optional<std::string_view> optional_text(Runtime& runtime, const Arguments& arguments,
                                              size_t index) {
    if (!arguments.has(index) || arguments[index].is_none()) return std::nullopt;
    return std::string_view(text_argument(runtime, arguments[index]).bytes);
}

template <Side side>
Value strip_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    const auto chars = optional_text(runtime, arguments, 0);
    Text stripped = strip(text_of(self), side, chars);
    runtime.spend_scan(text_of(self).size() - stripped.size());
    return runtime.string(std::move(stripped));
}

// text[start:end], from arguments 1 and 2, and where it begins; nullopt if start is past the end.
struct Searched {
    std::string_view text;
    size_t begin = 0;
};
std::optional<Searched> searched_part(Runtime& runtime, const Value& self,
                                      const Arguments& arguments) {
    const String& string = self.as_string();
    if (!arguments.has(1) && !arguments.has(2)) return Searched{string.view(), 0};
    const auto length = static_cast<int64_t>(string.num_chars);
    int64_t start = integer_argument(runtime, arguments, 1, 0);
    int64_t end = integer_argument(runtime, arguments, 2, length);
    if (start < 0) start = std::max<int64_t>(start + length, 0);
    if (end < 0) end = std::max<int64_t>(end + length, 0);
    end = std::min(end, length);
    if (start > end) return std::nullopt;
    runtime.spend(string.text.size() / 16);
    const size_t begin = byte_position(string.view(), static_cast<size_t>(start));
    const size_t stop = byte_position(string.view(), static_cast<size_t>(end));
    return Searched{string.view().substr(begin, stop - begin), begin};
}

template <bool at_end>
bool has_affix(std::string_view text, std::string_view affix) {
    return at_end ? text.ends_with(affix) : text.starts_with(affix);
}

template <bool at_end>
Value affix_method(Runtime& runtime, const Value& self, Arguments& arguments) {
    const auto part = searched_part(runtime, self, arguments);
    if (!part) return Value::boolean(false);
    const std::string_view text = part->text;
    const Value& wanted = arguments[0];
    if (wanted.is_string())
        return Value::boolean(has_affix<at_end>(text, wanted.as_string().view()));
    if (wanted.is(Kind::tuple)) {
        for (const Value& one : wanted.as_list().items) {
            if (has_affix<at_end>(text, text_argument(runtime, one).bytes)) {
                return Value::boolean(!runtime.failed());
            }
        }
        return Value::boolean(false);
    }
    return runtime.fail(fmt::format("{} first arg must be str or a tuple of str, not {}",
                                    at_end ? "endswith" : "startswith", type_name(wanted)));
}

// Index in code points of the first or last occurrence; -1 if there is none.
int64_t find_index(Runtime& runtime, const Value& self, const Arguments& arguments, bool last) {
    const std::string_view wanted = text_argument(runtime, arguments[0]).bytes;
    const auto part = searched_part(runtime, self, arguments);
    if (!part) return -1;
    runtime.spend_bytes(part->text.size());
    const size_t found = last ? rfind_text(part->text, wanted) : find_text(part->text, wanted, 0);
    if (found == std::string_view::npos) return -1;
    return static_cast<int64_t>(
        count_chars(self.as_string().view().substr(0, part->begin + found)));
}

template <bool last, bool must_exist>
Value find_method_of(Runtime& runtime, const Value& self, Arguments& arguments) {
    const int64_t index = find_index(runtime, self, arguments, last);
    if (must_exist && index < 0) return runtime.fail("substring not found");
    return Value::integer(index);
}

Value count(Runtime& runtime, const Value& self, Arguments& arguments) {
    const std::string_view wanted = text_argument(runtime, arguments[0]).bytes;
    const auto part = searched_part(runtime, self, arguments);
    if (!part) return Value::integer(0);
    const std::string_view text = part->text;
    runtime.spend_bytes(text.size());
    if (wanted.empty()) return Value::size(count_chars(text) + 1);
    int64_t found = 0;
    for (size_t i = find_text(text, wanted, 0); i != std::string_view::npos;
         i = find_text(text, wanted, i + wanted.size())) {
        ++found;
    }
    return Value::integer(found);
}

Value expandtabs(Runtime& runtime, const Value& self, Arguments& arguments) {
    const int64_t size = std::clamp<int64_t>(integer_argument(runtime, arguments, 0, 8), 0, 1000);
    const Text& text = text_of(self);
    runtime.spend_scan(text.size());
    Text out;
    int64_t column = 0;
    for (size_t i = 0; i < text.size();) {
        const size_t start = i;
        const char32_t c = next_char(text.bytes, i);
        if (c != '\t') {
            out.add(text, start, i);
            column = c == '\n' || c == '\r' ? 0 : column + 1;
        } else if (size > 0) {
            const int64_t spaces = size - column % size;
            out.add(std::string(static_cast<size_t>(spaces), ' '), text.origin.at(start));
            column += spaces;
        }
        if (out.size() > runtime.limits().max_output_bytes) break;
    }
    return runtime.check_text(out.size()) ? runtime.string(std::move(out)) : runtime.fail("");
}

Value format(Runtime& runtime, const Value& self, Arguments& arguments) {
    return format_braces(runtime, text_of(self), arguments);
}

Value format_map(Runtime& runtime, const Value& self, Arguments& arguments) {
    Arguments named;
    if (!arguments[0].is(Kind::dict)) return runtime.fail("format_map() needs a mapping");
    for (const Dict::Entry& entry : arguments[0].as_dict().entries) {
        if (entry.key.is_string())
            named.named.emplace_back(entry.key.as_string().view(), entry.value);
    }
    return format_braces(runtime, text_of(self), named);
}

Value join(Runtime& runtime, const Value& self, Arguments& arguments) {
    std::vector<Value> items;
    if (!collect(runtime, arguments[0], items)) return runtime.fail("");
    for (size_t i = 0; i < items.size(); ++i) {
        if (items[i].is_string()) continue;
        return runtime.fail(fmt::format("sequence item {}: expected str instance, {} found", i,
                                        type_name(items[i])));
    }
    return join_values(runtime, text_of(self), items);
}

template <char align>
Value justify(Runtime& runtime, const Value& self, Arguments& arguments) {
    const int64_t width = integer_argument(runtime, arguments[0]);
    const Text blank(" ");
    const Text& fill = arguments.has(1) ? text_argument(runtime, arguments[1]) : blank;
    if (!runtime.failed() && count_chars(fill.bytes) != 1) {
        return runtime.fail("The fill character must be exactly one character long");
    }
    const auto columns = static_cast<size_t>(std::max<int64_t>(width, 0));
    if (runtime.failed() || !runtime.check_text(columns)) return runtime.fail("");
    if (align == '^') return runtime.string(center_text(text_of(self), width, fill.bytes));
    Text out;
    size_t position = 0;
    append_padded(out, text_of(self), columns, align, next_char(fill.bytes, position));
    return runtime.string(std::move(out));
}

template <bool last>
Value partition(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Text& text = text_of(self);
    const Text& separator = text_argument(runtime, arguments[0]);
    if (runtime.failed()) return runtime.fail("");
    if (separator.size() == 0) return runtime.fail("empty separator");
    runtime.spend_bytes(text.size());
    const size_t found =
        last ? rfind_text(text.bytes, separator.bytes) : find_text(text.bytes, separator.bytes, 0);
    const Value none = runtime.string("");
    if (found == std::string::npos) {
        return last ? runtime.tuple({none, none, self}) : runtime.tuple({self, none, none});
    }
    const size_t after = found + separator.size();
    return runtime.tuple({runtime.string(text.slice(0, found)), arguments[0],
                          runtime.string(text.slice(after, text.size()))});
}

template <bool at_end>
Value remove_affix(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Text& text = text_of(self);
    const std::string_view affix = text_argument(runtime, arguments[0]).bytes;
    if (!has_affix<at_end>(text.bytes, affix)) return self;
    return runtime.string(at_end ? text.slice(0, text.size() - affix.size())
                                 : text.slice(affix.size(), text.size()));
}

Value replace(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Text& from = text_argument(runtime, arguments[0]);
    const Text& to = text_argument(runtime, arguments[1]);
    const int64_t times = integer_argument(runtime, arguments, 2, -1);
    return runtime.failed() ? runtime.fail("")
                            : replace_text(runtime, text_of(self), from, to, times);
}

template <bool from_right>
Value split(Runtime& runtime, const Value& self, Arguments& arguments) {
    const auto separator = optional_text(runtime, arguments, 0);
    const int64_t limit = integer_argument(runtime, arguments, 1, -1);
    if (runtime.failed()) return runtime.fail("");
    return from_right ? split_text_right(runtime, text_of(self), separator, limit)
                      : split_text(runtime, text_of(self), separator, limit);
}

Value splitlines(Runtime& runtime, const Value& self, Arguments& arguments) {
    const Text& text = text_of(self);
    const bool keep_ends = truth_argument(arguments, 0, false);
    runtime.spend_scan(text.size());
    std::vector<Value> lines;
    for (size_t position = 0; position < text.size();) {
        if (!runtime.spend()) return runtime.fail("");
        const Line line = next_line(text.bytes, position);
        lines.push_back(runtime.string(text.slice(line.begin, keep_ends ? position : line.end)));
    }
    return runtime.list(std::move(lines));
}

Value zfill(Runtime& runtime, const Value& self, Arguments& arguments) {
    const int64_t width = integer_argument(runtime, arguments[0]);
    const Text& text = text_of(self);
    const auto columns = static_cast<size_t>(std::max<int64_t>(width, 0));
    if (runtime.failed() || !runtime.check_text(columns)) return runtime.fail("");
    const size_t sign =
        !text.bytes.empty() && (text.bytes[0] == '+' || text.bytes[0] == '-') ? 1 : 0;
    const size_t length = self.as_string().num_chars;
    Text out = text.slice(0, sign);
    if (columns > length) out.add(std::string(columns - length, '0'));
    out.add(text, sign, text.size());
    return runtime.string(std::move(out));
}

bool is_alnum(char32_t c) {
    return is_alpha(c) || is_numeric(c);
}

// Every character is of the class, and there is one.
template <bool (*of_class)(char32_t)>
Value all_are(Runtime& runtime, const Value& self, Arguments&) {
    const std::string_view text = self.as_string().view();
    runtime.spend_scan(text.size());
    for (size_t i = 0; i < text.size();) {
        if (!of_class(next_char(text, i))) return Value::boolean(false);
    }
    return Value::boolean(!text.empty());
}

// Not "isascii", which is a macro in some C libraries.
Value is_ascii(Runtime&, const Value& self, Arguments&) {
    return Value::boolean(self.as_string().is_ascii());
}

Value isidentifier(Runtime&, const Value& self, Arguments&) {
    return Value::boolean(is_identifier(self.as_string().view()));
}

Value isprintable(Runtime& runtime, const Value& self, Arguments& arguments) {
    if (self.as_string().text.size() == 0) return Value::boolean(true);
    return all_are<is_printable>(runtime, self, arguments);
}

Value istitle(Runtime& runtime, const Value& self, Arguments&) {
    const std::string_view text = self.as_string().view();
    runtime.spend_scan(text.size());
    bool has_cased = false, after_cased = false;
    for (size_t i = 0; i < text.size();) {
        const char32_t c = next_char(text, i);
        const bool is_big = is_upper(c) || is_title(c);
        if ((is_big && after_cased) || (is_lower(c) && !after_cased)) return Value::boolean(false);
        after_cased = is_big || is_lower(c);
        has_cased = has_cased || after_cased;
    }
    return Value::boolean(has_cased);
}

constexpr Builtin kMethods[] = {
    {"capitalize", "", change_case_method<Case::capitalize>},
    {"casefold", "", change_case_method<Case::fold>},
    {"center", "width fillchar?", justify<'^'>},
    {"count", "sub start? end?", count},
    {"endswith", "suffix start? end?", affix_method<true>},
    {"expandtabs", "tabsize?", expandtabs},
    {"find", "sub start? end?", find_method_of<false, false>},
    {"format", "*", format},
    {"format_map", "mapping", format_map},
    {"index", "sub start? end?", find_method_of<false, true>},
    {"isalnum", "", all_are<is_alnum>},
    {"isalpha", "", all_are<is_alpha>},
    {"isascii", "", is_ascii},
    {"isdecimal", "", all_are<is_decimal>},
    {"isdigit", "", all_are<is_digit>},
    {"isidentifier", "", isidentifier},
    {"islower", "", is_cased_text<false>},
    {"isnumeric", "", all_are<is_numeric>},
    {"isprintable", "", isprintable},
    {"isspace", "", all_are<is_space>},
    {"istitle", "", istitle},
    {"isupper", "", is_cased_text<true>},
    {"join", "iterable", join},
    {"ljust", "width fillchar?", justify<'<'>},
    {"lower", "", change_case_method<Case::lower>},
    {"lstrip", "chars?", strip_method<Side::left>},
    {"partition", "sep", partition<false>},
    {"removeprefix", "prefix", remove_affix<false>},
    {"removesuffix", "suffix", remove_affix<true>},
    {"replace", "old new count?", replace},
    {"rfind", "sub start? end?", find_method_of<true, false>},
    {"rindex", "sub start? end?", find_method_of<true, true>},
    {"rjust", "width fillchar?", justify<'>'>},
    {"rpartition", "sep", partition<true>},
    {"rsplit", "sep? maxsplit?", split<true>},
    {"rstrip", "chars?", strip_method<Side::right>},
    {"split", "sep? maxsplit?", split<false>},
    {"splitlines", "keepends?", splitlines},
    {"startswith", "prefix start? end?", affix_method<false>},
    {"strip", "chars?", strip_method<Side::both>},
    {"swapcase", "", change_case_method<Case::swap>},
    {"title", "", change_case_method<Case::title>},
    {"upper", "", change_case_method<Case::upper>},
    {"zfill", "width", zfill},
};

}  // namespace

std::span<const Builtin> string_methods() {
    return kMethods;
}

}  // namespace hokku::jinja
