// SPDX-License-Identifier: Apache-2.0
// Builtin: one filter, test, method or global function, as a row of a static table.
#pragma once

#include <span>
#include <string_view>

#include "text/template/runtime.h"
#include "text/template/value.h"

namespace hokku::jinja {

struct Builtin {
    std::string_view name;
    /// Parameter names in order, "chars? count?": `?` marks optional ones. "*" leaves the
    /// arguments as they were given.
    std::string_view parameters;
    /// `self` is the value filtered, tested or owning the method; missing for global functions.
    Value (*run)(Runtime& runtime, const Value& self, Arguments& arguments);
};

/// Binds the arguments and runs; fails the rendering if they do not fit the parameters.
Value call_builtin(Runtime& runtime, const Builtin& builtin, const Value& self,
                   Arguments& arguments);
/// Row of a table sorted by name; nullptr if there is none.
const Builtin* find_builtin(std::span<const Builtin> sorted, std::string_view name);

const Builtin* find_filter(std::string_view name);
const Builtin* find_test(std::string_view name);
const Builtin* find_global(std::string_view name);
/// Method of a value's type.
const Builtin* find_method(const Value& self, std::string_view name);

Value call_filter(Runtime& runtime, std::string_view name, const Value& self, Arguments& arguments);
Value call_test(Runtime& runtime, std::string_view name, const Value& self, Arguments& arguments);

// Typed arguments. Each fails the rendering if the value is of another type.

/// int or bool.
int64_t integer_argument(Runtime& runtime, const Value& value);
/// `fallback` where the argument is missing or none.
int64_t integer_argument(Runtime& runtime, const Arguments& arguments, size_t index,
                         int64_t fallback);
bool truth_argument(const Arguments& arguments, size_t index, bool fallback);
/// The text of a string argument, else an empty one and a failure.
const Text& text_argument(Runtime& runtime, const Value& value);

}  // namespace hokku::jinja
