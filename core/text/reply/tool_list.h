// SPDX-License-Identifier: Apache-2.0
// ToolList: the tools that a model was offered: their names, and which of their parameters are
// strings. Formats that write arguments without quotes need the latter.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hokku/result.h"

namespace hokku::reply {

enum class ParameterType { unknown, string, boolean, other };

class ToolList {
  public:
    ToolList() = default;
    /// From an array of {"type": "function", "function": {name, parameters}} or of the inner
    /// objects alone; null is no tool. Entries of other forms are left out.
    ///
    /// Errors : bad_argument: not JSON, or neither an array nor null.
    static Result<ToolList> parse(std::string_view tools_json);

    [[nodiscard]] bool empty() const { return tools_.empty(); }
    [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
    /// A name begins like this.
    [[nodiscard]] bool has_prefix(std::string_view start) const;
    [[nodiscard]] ParameterType type_of(std::string_view tool, std::string_view parameter) const;

  private:
    struct Parameter {
        std::string name;
        ParameterType type = ParameterType::unknown;
    };
    struct Tool {
        std::string name;
        std::vector<Parameter> parameters;
    };
    [[nodiscard]] const Tool* find(std::string_view name) const;
    std::vector<Tool> tools_;
};

}  // namespace hokku::reply
