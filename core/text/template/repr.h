// SPDX-License-Identifier: Apache-2.0
// Values as text: Python's str(), repr() and float formatting.
#pragma once

#include <string>
#include <string_view>

#include "text/template/value.h"

namespace hokku::jinja {

class Runtime;

/// Appends str(value), as {{ value }} prints it. Undefined values print nothing.
void append_str(Runtime& runtime, Text& out, const Value& value);
/// Appends repr(value), as values look inside a printed list or dict.
void append_repr(Runtime& runtime, Text& out, const Value& value);
std::string repr(Runtime& runtime, const Value& value);
/// str(value); refers to the value's own text where it is a string, else to `scratch`.
const Text& str(Runtime& runtime, const Value& value, Text& scratch);
/// str(value) as a new string value.
Value to_string(Runtime& runtime, const Value& value);

/// Shortest text that reads back as the same number: "0.1", "1e+16", "1.0", "inf", "nan".
std::string float_repr(double number);

}  // namespace hokku::jinja
