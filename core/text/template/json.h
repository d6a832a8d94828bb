// SPDX-License-Identifier: Apache-2.0
// JSON text to values and back (the tojson filter), as Python's json module does it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/template/value.h"

namespace hokku::jinja {

class Runtime;

/// Reads JSON into values whose strings and punctuation count as content. Integers stay integers
/// of any size, objects keep their order, of equal keys the last value counts. nullopt and a
/// message on ill-formed text or nesting beyond kMaxNesting. Needs no stack per level.
std::optional<Value> read_json(Runtime& runtime, std::string_view text, std::string& message);

struct JsonStyle {
    bool ensure_ascii = false;
    bool sort_keys = false;
    std::optional<std::string> indent;  ///< One line if absent.
    Text item_separator{", "}, key_separator{": "};
};

/// Appends json.dumps(value); fails the rendering for values that JSON cannot hold.
void append_json(Runtime& runtime, Text& out, const Value& value, const JsonStyle& style);

}  // namespace hokku::jinja
