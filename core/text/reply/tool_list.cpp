// SPDX-License-Identifier: Apache-2.0
#include "text/reply/tool_list.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace hokku::reply {
namespace {

using Json = nlohmann::json;

const Json* member(const Json& object, const char* key) {
    if (!object.is_object()) return nullptr;
    const auto found = object.find(key);
    return found == object.end() ? nullptr : &*found;
}

/// By "type" alone; a list of types is a string only if nothing else but null is allowed.
ParameterType type_of_schema(const Json& schema) {
    const Json* const type = member(schema, "type");
    if (type == nullptr) return ParameterType::unknown;
    if (type->is_string()) {
        if (*type == "string") return ParameterType::string;
        return *type == "boolean" ? ParameterType::boolean : ParameterType::other;
    }
    return ParameterType::unknown;
}

}  // namespace

Result<ToolList> ToolList::parse(std::string_view tools_json) {
    const Json list = Json::parse(tools_json.begin(), tools_json.end(), nullptr, false);
    if (list.is_discarded() || (!list.is_array() && !list.is_null()))
        return Error{ErrorCode::bad_argument, list.is_discarded() ? "not JSON" : "not an array",
                     "tools", "a JSON array or null"};
    ToolList tools;
    for (const Json& entry : list) {
        const Json* const wrapped = member(entry, "function");
        const Json& function = wrapped != nullptr && wrapped->is_object() ? *wrapped : entry;
        const Json* const name = member(function, "name");
        if (name == nullptr || !name->is_string()) continue;
        Tool& tool = tools.tools_.emplace_back();
        tool.name = name->get<std::string>();
        const Json* const parameters = member(function, "parameters");
        const Json* const properties =
            parameters != nullptr ? member(*parameters, "properties") : nullptr;
        if (properties == nullptr || !properties->is_object()) continue;
        for (const auto& [key, schema] : properties->items())
            tool.parameters.push_back({key, type_of_schema(schema)});
    }
    return tools;
}

const ToolList::Tool* ToolList::find(std::string_view name) const {
    const auto found = std::find_if(tools_.begin(), tools_.end(),
                                    [&](const Tool& tool) { return tool.name == name; });
    return found == tools_.end() ? nullptr : &*found;
}

bool ToolList::has_prefix(std::string_view start) const {
    return std::any_of(tools_.begin(), tools_.end(),
                       [&](const Tool& tool) { return tool.name.starts_with(start); });
}

ParameterType ToolList::type_of(std::string_view tool_name, std::string_view parameter) const {
    const Tool* const tool = find(tool_name);
    if (tool == nullptr) return ParameterType::unknown;
    for (const Parameter& known : tool->parameters) {
        if (known.name == parameter) return known.type;
    }
    return ParameterType::unknown;
}

}  // namespace hokku::reply
