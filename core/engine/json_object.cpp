// SPDX-License-Identifier: Apache-2.0
#include "engine/json_object.h"

#include <nlohmann/json.hpp>

namespace hokku {

bool parse_object(std::string_view text, int most_levels, nlohmann::ordered_json& object) {
    using Json = nlohmann::ordered_json;
    bool is_too_deep = false;
    const auto check_depth = [&](int depth, Json::parse_event_t event, const Json&) {
        const bool is_start =
            event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
        is_too_deep = is_too_deep || (is_start && depth >= most_levels);
        return !is_too_deep;  // nothing is kept from there on
    };
    object = Json::parse(text, check_depth, false);
    return !is_too_deep && object.is_object();
}

}  // namespace hokku
