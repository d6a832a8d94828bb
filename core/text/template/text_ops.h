// SPDX-License-Identifier: Apache-2.0
// The text operations that filters and string methods share: strip, replace, split, pad. All keep
// track of what is content.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "text/template/marked_text.h"
#include "text/template/runtime.h"
#include "text/template/value.h"

namespace hokku::jinja {

enum class Side { left, right, both };

/// Removes leading and trailing characters: any of `chars`, or white space if absent.
Text strip(const Text& text, Side side, const std::optional<std::string_view>& chars);
/// A line without its break.
struct Line {
    size_t begin = 0, end = 0;
};
/// The line at `position`, which moves past its break, as str.splitlines() cuts.
Line next_line(std::string_view text, size_t& position);
/// First occurrence at or after `from`, and last occurrence; npos if there is none. In linear time
/// for any texts.
size_t find_text(std::string_view text, std::string_view wanted, size_t from);
size_t rfind_text(std::string_view text, std::string_view wanted);
/// Replaces `from`, at most `count` times if that is not negative.
Value replace_text(Runtime& runtime, const Text& text, const Text& from, const Text& to,
                   int64_t count);
/// text.split(separator, limit); runs of white space if there is no separator.
Value split_text(Runtime& runtime, const Text& text,
                 const std::optional<std::string_view>& separator, int64_t limit);
/// text.rsplit(separator, limit).
Value split_text_right(Runtime& runtime, const Text& text,
                       const std::optional<std::string_view>& separator, int64_t limit);
/// str(separator).join(str(item) of all items).
Value join_values(Runtime& runtime, const Text& separator, const std::vector<Value>& items);
/// Spaces around the text up to `width` code points, as str.center().
Text center_text(const Text& text, int64_t width, std::string_view fill);

/// Appends a text with each character replaced by what escape(out, text, position) writes for it;
/// it must move position on. Stops where the result grows too long, and fails the rendering.
template <class Escape>
void append_escaped(Runtime& runtime, Text& out, const Text& text, Escape escape) {
    constexpr size_t kChunk = 4096;
    if (!runtime.spend_scan(text.size())) return;
    std::string escaped;
    text.origin.for_each_run(0, text.size(), [&](size_t begin, size_t end, bool is_content) {
        while (begin < end && runtime.check_text(out.size())) {
            escaped.clear();
            while (begin < end && escaped.size() < kChunk) escape(escaped, text.bytes, begin);
            out.add(escaped, is_content);
        }
    });
}

}  // namespace hokku::jinja
