// SPDX-License-Identifier: Apache-2.0
#include "text/template/text_ops.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/template/repr.h"
#include "text/template/runtime.h"
#include "text/template/unicode.h"

namespace hokku::jinja {

namespace {

using Ranges = std::vector<std::pair<size_t, size_t>>;

bool contains_char(std::string_view chars, std::string_view c) {
    return chars.find(c) != std::string_view::npos;
}

Value slices_of(Runtime& runtime, const Text& text, const Ranges& ranges) {
    if (!runtime.spend(ranges.size()) ||
        !runtime.reserve(ranges.size() * (sizeof(String) + sizeof(Value)) + text.size())) {
        return runtime.fail("");
    }
    std::vector<Value> parts;
    parts.reserve(ranges.size());
    for (const auto& [begin, end] : ranges) parts.push_back(runtime.string(text.slice(begin, end)));
    return runtime.list(std::move(parts));
}

Ranges split_on_spaces(std::string_view text, int64_t limit) {
    Ranges ranges;
    size_t position = 0;
    const auto skip = [&](bool spaces) {
        while (position < text.size()) {
            size_t next = position;
            if (is_space(next_char(text, next)) != spaces) break;
            position = next;
        }
    };
    for (skip(true); position < text.size(); skip(true)) {
        const size_t begin = position;
        if (limit >= 0 && static_cast<int64_t>(ranges.size()) >= limit) {
            const Text rest =
                strip(Text(std::string(text.substr(begin))), Side::right, std::nullopt);
            ranges.emplace_back(begin, begin + rest.size());
            break;
        }
        skip(false);
        ranges.emplace_back(begin, position);
    }
    return ranges;
}

Ranges split_on_spaces_right(std::string_view text, int64_t limit) {
    Ranges ranges;
    size_t position = text.size();
    const auto skip = [&](bool spaces) {
        while (position > 0) {
            size_t next = position;
            if (is_space(previous_char(text, next)) != spaces) break;
            position = next;
        }
    };
    for (skip(true); position > 0; skip(true)) {
        const size_t end = position;
        if (limit >= 0 && static_cast<int64_t>(ranges.size()) >= limit) {
            const Text rest =
                strip(Text(std::string(text.substr(0, end))), Side::left, std::nullopt);
            ranges.emplace_back(end - rest.size(), end);
            break;
        }
        skip(false);
        ranges.emplace_back(position, end);
    }
    std::reverse(ranges.begin(), ranges.end());
    return ranges;
}

}  // namespace

bool check_size(Runtime& runtime, size_t bytes) {
    if (bytes <= runtime.limits().max_output_bytes) return runtime.reserve(bytes);
    runtime.fail_limit(
        fmt::format("a text grows beyond {} bytes", runtime.limits().max_output_bytes));
    return false;
}

Text strip(const Text& text, Side side, const std::optional<std::string_view>& chars) {
    const std::string_view view = text.bytes;
    size_t begin = 0, end = view.size();
    const auto is_stripped = [&](char32_t c, size_t from, size_t to) {
        return chars ? contains_char(*chars, view.substr(from, to - from)) : is_space(c);
    };
    while (side != Side::right && begin < end) {
        size_t next = begin;
        const char32_t c = next_char(view, next);
        if (!is_stripped(c, begin, next)) break;
        begin = next;
    }
    while (side != Side::left && end > begin) {
        size_t next = end;
        const char32_t c = previous_char(view, next);
        if (!is_stripped(c, next, end)) break;
        end = next;
    }
    return text.slice(begin, end);
}

std::vector<std::pair<size_t, size_t>> line_ranges(std::string_view text, bool keep_ends) {
    Ranges ranges;
    size_t begin = 0;
    for (size_t i = 0; i < text.size();) {
        const size_t at = i;
        const char32_t c = next_char(text, i);
        if (!is_line_end(c)) continue;
        if (c == '\r' && i < text.size() && text[i] == '\n') ++i;
        ranges.emplace_back(begin, keep_ends ? i : at);
        begin = i;
    }
    if (begin < text.size()) ranges.emplace_back(begin, text.size());
    return ranges;
}

Value replace_text(Runtime& runtime, const Text& text, const Text& from, const Text& to,
                   int64_t count) {
    Text out;
    const std::string_view view = text.bytes;
    size_t position = 0;
    const auto may_replace = [&] { return count != 0 && check_size(runtime, out.size()); };
    if (from.size() == 0) {  // before every character, and at the end
        for (; may_replace(); --count) {
            out.add(to);
            if (position >= view.size()) break;
            const size_t start = position;
            next_char(view, position);
            out.add(text, start, position);
        }
    } else {
        for (; may_replace(); --count) {
            const size_t found = view.find(from.bytes, position);
            if (found == std::string_view::npos) break;
            out.add(text, position, found);
            out.add(to);
            position = found + from.size();
        }
    }
    out.add(text, position, view.size());
    if (!check_size(runtime, out.size())) return runtime.fail("");
    return runtime.string(std::move(out));
}

Value split_text(Runtime& runtime, const Text& text,
                 const std::optional<std::string_view>& separator, int64_t limit) {
    const std::string_view view = text.bytes;
    if (!separator) return slices_of(runtime, text, split_on_spaces(view, limit));
    if (separator->empty()) return runtime.fail("empty separator");
    Ranges ranges;
    size_t begin = 0;
    while (limit < 0 || static_cast<int64_t>(ranges.size()) < limit) {
        const size_t found = view.find(*separator, begin);
        if (found == std::string_view::npos) break;
        ranges.emplace_back(begin, found);
        begin = found + separator->size();
    }
    ranges.emplace_back(begin, view.size());
    return slices_of(runtime, text, ranges);
}

Value split_text_right(Runtime& runtime, const Text& text,
                       const std::optional<std::string_view>& separator, int64_t limit) {
    const std::string_view view = text.bytes;
    if (!separator) return slices_of(runtime, text, split_on_spaces_right(view, limit));
    if (separator->empty()) return runtime.fail("empty separator");
    Ranges ranges;
    size_t end = view.size();
    while (limit < 0 || static_cast<int64_t>(ranges.size()) < limit) {
        if (end < separator->size()) break;
        const size_t found = view.rfind(*separator, end - separator->size());
        if (found == std::string_view::npos) break;
        ranges.emplace_back(found + separator->size(), end);
        end = found;
    }
    ranges.emplace_back(0, end);
    std::reverse(ranges.begin(), ranges.end());
    return slices_of(runtime, text, ranges);
}

Value join_values(Runtime& runtime, const Text& separator, const std::vector<Value>& items) {
    Text out;
    bool is_first = true;
    for (const Value& item : items) {
        if (!std::exchange(is_first, false)) out.add(separator);
        append_str(runtime, out, item);
        if (!runtime.spend()) return runtime.fail("");
        if (out.size() > runtime.limits().max_output_bytes) break;
    }
    if (!check_size(runtime, out.size())) return runtime.fail("");
    return runtime.string(std::move(out));
}

Text center_text(const Text& text, int64_t width, std::string_view fill) {
    const auto length = static_cast<int64_t>(count_chars(text.bytes));
    const int64_t missing = width - length;
    if (missing <= 0) return text;
    // CPython puts the odd space to the left if the width is odd.
    const int64_t left = missing / 2 + (missing & width & 1);
    Text out;
    for (int64_t i = 0; i < left; ++i) out.add(fill);
    out.add(text);
    for (int64_t i = left; i < missing; ++i) out.add(fill);
    return out;
}

}  // namespace hokku::jinja
