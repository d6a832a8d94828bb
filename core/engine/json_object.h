// SPDX-License-Identifier: Apache-2.0
// Objects from JSON that people and programs send: what is nested too deeply is not let in, as
// whatever walks a value, writing it too, takes stack for each level.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace hokku {

/// false: not a JSON object, or more than `most_levels` objects and arrays within each other.
bool parse_object(std::string_view text, int most_levels, nlohmann::ordered_json& object);

}  // namespace hokku
