// SPDX-License-Identifier: Apache-2.0
// Python's two ways of formatting: "%s" % value and "{}".format(value), and the format
// specifications of the latter (fill, align, sign, width, grouping, precision, type).
#pragma once

#include <string_view>

#include "text/template/marked_text.h"
#include "text/template/value.h"

namespace hokku::jinja {

class Runtime;
struct Arguments;

/// "template" % values: a tuple gives several values, a dict named ones.
Value format_percent(Runtime& runtime, const Text& pattern, const Value& values);
/// pattern.format(...).
Value format_braces(Runtime& runtime, const Text& pattern, const Arguments& arguments);

}  // namespace hokku::jinja
