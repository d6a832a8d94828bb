// SPDX-License-Identifier: Apache-2.0
#include "text/template/text_ops.h"

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

// Collects the parts of a split; stops where they would not fit.
class Parts {
  public:
    explicit Parts(Runtime& runtime) : runtime_(runtime) {}
    bool add(size_t begin, size_t end) {
        constexpr size_t kBytesPerPart =
            sizeof(String) + sizeof(Value) + sizeof(Ranges::value_type);
        if (!runtime_.spend() || !runtime_.check_text(0)) return false;
        ranges_.emplace_back(begin, end);
        if (runtime_.heap().fits(ranges_.size() * kBytesPerPart)) return true;
        runtime_.fail_limit("a text is split into too many parts");
        return false;
    }
    [[nodiscard]] bool reached(int64_t limit) const {
        return limit >= 0 && static_cast<int64_t>(ranges_.size()) >= limit;
    }
    void reverse() { std::reverse(ranges_.begin(), ranges_.end()); }
    Value take(const Text& text) {
        std::vector<Value> parts;
        if (runtime_.failed()) return runtime_.fail("");
        parts.reserve(ranges_.size());
        for (const auto& [begin, end] : ranges_) {
            parts.push_back(runtime_.string(text.slice(begin, end)));
        }
        return runtime_.list(std::move(parts));
    }

  private:
    Runtime& runtime_;
    Ranges ranges_;
};

size_t skip_spaces(std::string_view text, size_t position, bool spaces) {
    while (position < text.size()) {
        size_t next = position;
        if (is_space(next_char(text, next)) != spaces) break;
        position = next;
    }
    return position;
}

size_t skip_spaces_back(std::string_view text, size_t position, bool spaces) {
    while (position > 0) {
        size_t next = position;
        if (is_space(previous_char(text, next)) != spaces) break;
        position = next;
    }
    return position;
}

void split_on_spaces(Parts& parts, std::string_view text, int64_t limit) {
    size_t position = skip_spaces(text, 0, true);
    while (position < text.size()) {
        const size_t begin = position;
        // What is left over keeps the spaces at its end.
        position = parts.reached(limit) ? text.size() : skip_spaces(text, begin, false);
        if (!parts.add(begin, position)) return;
        position = skip_spaces(text, position, true);
    }
}

void split_on_spaces_right(Parts& parts, std::string_view text, int64_t limit) {
    size_t position = skip_spaces_back(text, text.size(), true);
    while (position > 0) {
        const size_t end = position;
        position = parts.reached(limit) ? 0 : skip_spaces_back(text, end, false);
        if (!parts.add(position, end)) return;
        position = skip_spaces_back(text, position, true);
    }
    parts.reverse();
}

// Knuth, Morris and Pratt: length of the longest border of each prefix.
std::vector<uint32_t> borders_of(std::string_view wanted) {
    std::vector<uint32_t> borders(wanted.size(), 0);
    for (size_t i = 1, length = 0; i < wanted.size(); ++i) {
        while (length > 0 && wanted[i] != wanted[length]) length = borders[length - 1];
        if (wanted[i] == wanted[length]) ++length;
        borders[i] = static_cast<uint32_t>(length);
    }
    return borders;
}

constexpr size_t kShort = 32;  // up to here the library's search cannot degenerate much

}  // namespace

size_t find_text(std::string_view text, std::string_view wanted, size_t from) {
    if (wanted.size() <= kShort || from > text.size()) return text.find(wanted, from);
    if (wanted.size() > text.size() - from) return std::string_view::npos;
    const std::vector<uint32_t> borders = borders_of(wanted);
    for (size_t i = from, matched = 0; i < text.size(); ++i) {
        while (matched > 0 && text[i] != wanted[matched]) matched = borders[matched - 1];
        if (text[i] == wanted[matched]) ++matched;
        if (matched == wanted.size()) return i + 1 - matched;
    }
    return std::string_view::npos;
}

size_t rfind_text(std::string_view text, std::string_view wanted) {
    if (wanted.size() <= kShort) return text.rfind(wanted);
    if (wanted.size() > text.size()) return std::string_view::npos;
    const std::string backwards(wanted.rbegin(), wanted.rend());
    const std::vector<uint32_t> borders = borders_of(backwards);
    for (size_t i = text.size(), matched = 0; i-- > 0;) {
        while (matched > 0 && text[i] != backwards[matched]) matched = borders[matched - 1];
        if (text[i] == backwards[matched]) ++matched;
        if (matched == wanted.size()) return i;
    }
    return std::string_view::npos;
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

Line next_line(std::string_view text, size_t& position) {
    const size_t begin = position;
    while (position < text.size()) {
        const size_t at = position;
        const char32_t c = next_char(text, position);
        if (!is_line_end(c)) continue;
        if (c == '\r' && position < text.size() && text[position] == '\n') ++position;
        return {begin, at};
    }
    return {begin, position};
}

Value replace_text(Runtime& runtime, const Text& text, const Text& from, const Text& to,
                   int64_t count) {
    Text out;
    const std::string_view view = text.bytes;
    size_t position = 0;
    runtime.spend_bytes(text.size());
    const auto may_replace = [&] {
        return count != 0 && runtime.spend() && runtime.check_text(out.size());
    };
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
            const size_t found = find_text(view, from.bytes, position);
            if (found == std::string_view::npos) break;
            out.add(text, position, found);
            out.add(to);
            position = found + from.size();
        }
    }
    out.add(text, position, view.size());
    return runtime.string(std::move(out));
}

Value split_text(Runtime& runtime, const Text& text,
                 const std::optional<std::string_view>& separator, int64_t limit) {
    const std::string_view view = text.bytes;
    Parts parts(runtime);
    if (!separator) {
        runtime.spend_scan(view.size());
        split_on_spaces(parts, view, limit);
        return parts.take(text);
    }
    if (separator->empty()) return runtime.fail("empty separator");
    runtime.spend_bytes(view.size());
    size_t begin = 0;
    while (!parts.reached(limit)) {
        const size_t found = find_text(view, *separator, begin);
        if (found == std::string_view::npos || !parts.add(begin, found)) break;
        begin = found + separator->size();
    }
    parts.add(begin, view.size());
    return parts.take(text);
}

Value split_text_right(Runtime& runtime, const Text& text,
                       const std::optional<std::string_view>& separator, int64_t limit) {
    const std::string_view view = text.bytes;
    Parts parts(runtime);
    if (!separator) {
        runtime.spend_scan(view.size());
        split_on_spaces_right(parts, view, limit);
        return parts.take(text);
    }
    if (separator->empty()) return runtime.fail("empty separator");
    runtime.spend_bytes(view.size());
    size_t end = view.size();
    while (!parts.reached(limit)) {
        const size_t found = rfind_text(view.substr(0, end), *separator);
        if (found == std::string_view::npos) break;
        if (!parts.add(found + separator->size(), end)) break;
        end = found;
    }
    parts.add(0, end);
    parts.reverse();
    return parts.take(text);
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
    return runtime.string(std::move(out));
}

Text center_text(const Text& text, int64_t width, std::string_view fill) {
    const auto length = static_cast<int64_t>(count_chars(text.bytes));
    const int64_t missing = width - length;
    if (missing <= 0) return text;
    // CPython puts the odd space to the left if the width is odd.
    const int64_t left = missing / 2 + (missing & width & 1);
    const auto padding = [&](int64_t count) {
        std::string out;
        for (int64_t i = 0; i < count; ++i) out += fill;
        return out;
    };
    Text out(padding(left));
    out.add(text);
    out.add(padding(missing - left));
    return out;
}

}  // namespace hokku::jinja
