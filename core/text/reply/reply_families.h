// SPDX-License-Identifier: Apache-2.0
// The families of reply formats: what they are known by and how they mark calls. A table.
#pragma once

#include <string_view>
#include <vector>

#include "text/reply/reply_format.h"

namespace hokku::reply {

struct CallFamily {
    std::string_view name;
    /// All must stand in the template's source. Where `architectures` is not empty, one of them
    /// must be the file's too.
    std::vector<std::string_view> markers = {};
    std::vector<std::string_view> architectures = {};
    std::vector<CallFormat> calls = {};
    std::vector<std::string> silent = {};
    std::vector<std::string> ends = {};
    Framing framing = Framing::marked;
};

/// In the order in which they are tried: what has more marks of its own comes first.
const std::vector<CallFamily>& call_families();

struct ThoughtFamily {
    std::string_view marker;  ///< Stands in the template's source.
    ThoughtMarkers markers;
};
const std::vector<ThoughtFamily>& thought_families();

}  // namespace hokku::reply
