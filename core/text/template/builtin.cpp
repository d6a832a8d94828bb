// SPDX-License-Identifier: Apache-2.0
#include "text/template/builtin.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/template/filters.h"

namespace hokku::jinja {

namespace {

struct Parameter {
    std::string_view name;
    bool is_optional = false;
};

// Takes the first parameter off a parameter list.
Parameter take_parameter(std::string_view& list) {
    const size_t end = std::min(list.find(' '), list.size());
    Parameter parameter{list.substr(0, end), false};
    list.remove_prefix(std::min(end + 1, list.size()));
    if (!parameter.name.empty() && parameter.name.back() == '?') {
        parameter.name.remove_suffix(1);
        parameter.is_optional = true;
    }
    return parameter;
}

// Moves the named arguments into their places.
bool bind(Runtime& runtime, const Builtin& builtin, Arguments& arguments) {
    const size_t num_given = arguments.positional.size();
    std::string_view list = builtin.parameters;
    size_t index = 0;
    for (; !list.empty(); ++index) {
        const Parameter parameter = take_parameter(list);
        if (index >= num_given) arguments.positional.emplace_back();
        Value& slot = arguments.positional[index];
        for (auto it = arguments.named.begin(); it != arguments.named.end(); ++it) {
            if (it->first != parameter.name) continue;
            if (!slot.is_missing()) {
                runtime.fail(fmt::format("{}() got multiple values for argument '{}'", builtin.name,
                                         parameter.name));
                return false;
            }
            slot = std::move(it->second);
            arguments.named.erase(it);
            break;
        }
        if (slot.is_missing() && !parameter.is_optional) {
            runtime.fail(
                fmt::format("{}() missing required argument '{}'", builtin.name, parameter.name));
            return false;
        }
    }
    if (num_given > index) {
        runtime.fail(fmt::format("{}() takes at most {} arguments ({} given)", builtin.name, index,
                                 num_given));
        return false;
    }
    if (!arguments.named.empty()) {
        runtime.fail(fmt::format("{}() got an unexpected keyword argument '{}'", builtin.name,
                                 arguments.named.front().first));
        return false;
    }
    return true;
}

}  // namespace

const Builtin* find_builtin(std::span<const Builtin> sorted, std::string_view name) {
    const auto it = std::lower_bound(
        sorted.begin(), sorted.end(), name,
        [](const Builtin& row, std::string_view wanted) { return row.name < wanted; });
    return it != sorted.end() && it->name == name ? &*it : nullptr;
}

Value call_builtin(Runtime& runtime, const Builtin& builtin, const Value& self,
                   Arguments& arguments) {
    if (!runtime.spend()) return runtime.fail("");
    if (builtin.parameters != "*" && !bind(runtime, builtin, arguments)) return runtime.fail("");
    return builtin.run(runtime, self, arguments);
}

Value call_filter(Runtime& runtime, std::string_view name, const Value& self,
                  Arguments& arguments) {
    const Builtin* const filter = find_filter(name);
    if (filter == nullptr) return runtime.fail(fmt::format("No filter named '{}' found.", name));
    return call_builtin(runtime, *filter, self, arguments);
}

Value call_test(Runtime& runtime, std::string_view name, const Value& self, Arguments& arguments) {
    const Builtin* const test = find_test(name);
    if (test == nullptr) return runtime.fail(fmt::format("No test named '{}' found.", name));
    return call_builtin(runtime, *test, self, arguments);
}

int64_t integer_argument(Runtime& runtime, const Value& value) {
    if (value.is_integral()) return value.as_integer();
    if (value.is_undefined()) {
        runtime.fail_undefined(value);
    } else {
        runtime.fail(
            fmt::format("'{}' object cannot be interpreted as an integer", type_name(value)));
    }
    return 0;
}

int64_t integer_argument(Runtime& runtime, const Arguments& arguments, size_t index,
                         int64_t fallback) {
    if (!arguments.has(index) || arguments[index].is_none()) return fallback;
    return integer_argument(runtime, arguments[index]);
}

bool truth_argument(const Arguments& arguments, size_t index, bool fallback) {
    return arguments.has(index) ? is_truthy(arguments[index]) : fallback;
}

const Text& text_argument(Runtime& runtime, const Value& value) {
    static const Text empty;
    if (value.is_string()) return value.as_string().text;
    if (value.is_undefined()) {
        runtime.fail_undefined(value);
    } else {
        runtime.fail(fmt::format("must be str, not {}", type_name(value)));
    }
    return empty;
}

}  // namespace hokku::jinja
