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
#include "text/template/value.h"

namespace hokku::jinja {

class Runtime;

enum class Side { left, right, both };

/// Removes leading and trailing characters: any of `chars`, or white space if absent.
Text strip(const Text& text, Side side, const std::optional<std::string_view>& chars);
/// Byte ranges of the lines; the break belongs to the line if `keep_ends`.
std::vector<std::pair<size_t, size_t>> line_ranges(std::string_view text, bool keep_ends);
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
/// Fails and returns false if a text of this size is too long.
bool check_size(Runtime& runtime, size_t bytes);

}  // namespace hokku::jinja
