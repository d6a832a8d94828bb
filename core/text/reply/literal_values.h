// SPDX-License-Identifier: Apache-2.0
// Values and calls as models write them in Python's and in Gemma's notation, turned into JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hokku::reply {

/// A literal of Python: strings, numbers, True, False, None, lists, tuples and dicts of them; JSON
/// is understood too.
std::optional<std::string> python_value_as_json(std::string_view text);

struct LiteralCall {
    std::string name;
    std::string arguments_json;
    size_t begin = 0;  ///< Where it stands in the text.
};

/// Calls with keyword arguments: "f(a=1)", "[f(a=1), g()]", one a line, or within print().
/// nullopt if anything else stands there: a program, arguments without a name.
std::optional<std::vector<LiteralCall>> python_calls(std::string_view text);

/// "{key:value,key:value}" with strings between two of `quote`.
/// Source : FunctionGemma's documentation and Gemma 4's chat template.
std::optional<std::string> gemma_object_as_json(std::string_view text, std::string_view quote);

}  // namespace hokku::reply
