// SPDX-License-Identifier: Apache-2.0
// obj.name, obj[key] and obj[a:b:c], by the rules of Jinja's sandbox: only data and the methods
// of the tables are reachable, what does not exist is undefined.
#pragma once

#include <cstdint>
#include <string_view>

#include "text/template/value.h"

namespace hokku::jinja {

class Runtime;

/// obj.name: attribute or method first, then the item of that name.
Value get_attribute(Runtime& runtime, const Value& object, const Value& name);
/// obj[key]: item first, then the attribute of that name.
Value get_item(Runtime& runtime, const Value& object, const Value& key);
/// obj[start:stop:step]; none or missing where a part is left out.
Value get_slice(Runtime& runtime, const Value& object, const Value& start, const Value& stop,
                const Value& step);
/// The value at the end of a path "a.b.0"; an integer or missing path is allowed.
Value get_path(Runtime& runtime, const Value& object, const Value& path);

/// Attributes of `loop`; missing if there is none of that name.
Value loop_attribute(Runtime& runtime, const Value& loop, std::string_view name);

}  // namespace hokku::jinja
