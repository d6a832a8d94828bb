// SPDX-License-Identifier: Apache-2.0
// FormatSpec: one parsed format specification, applied to a value.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/template/marked_text.h"
#include "text/template/value.h"

namespace hokku::jinja {

class Runtime;

struct FormatSpec {
    char32_t fill = ' ';
    char align = 0;  ///< '<', '>', '^', '='; 0 takes the type's own.
    char sign = '-';
    bool alternate = false;
    char grouping = 0;  ///< ',' or '_'.
    size_t width = 0;
    std::optional<int> precision;
    char type = 0;

    /// nullopt if the text is not a specification.
    static std::optional<FormatSpec> parse(std::string_view text);
};

/// Appends format(value, spec); fails the rendering where the type of the value does not fit.
void append_formatted(Runtime& runtime, Text& out, const Value& value, const FormatSpec& spec);
/// A finite float as printf's f, e and g (upper case for F, E, G) would write it.
std::string format_float(double value, char type, int precision, bool alternate);
/// Appends text padded to `width` code points.
void append_padded(Text& out, const Text& text, size_t width, char align, char32_t fill);

}  // namespace hokku::jinja
