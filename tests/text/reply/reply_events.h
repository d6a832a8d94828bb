// SPDX-License-Identifier: Apache-2.0
// Records what a ReplyParser says, as text that tests compare.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/reply/reply_parser.h"

namespace hokku::testing {

/// What a whole reply came to.
struct Reply {
    /// One line an event, neighbours of a kind joined: "thought: ..", "answer: ..", "begin: ID
    /// NAME", "arguments: ..", "call: NAME ARGUMENTS", "malformed: PROBLEM | TEXT", "was thought".
    std::string events;
    std::string thought, answer;
    std::vector<ToolCall> calls;
    bool operator==(const Reply& other) const { return events == other.events; }
};

/// What of a reply is control tokens: each such text is pushed as one.
using Controls = std::vector<std::string>;

struct ReplyCase {
    reply::ReplyFormat format;
    std::string prompt_end;
    std::string tools_json = "null";
    bool is_continued = false;
    uint32_t first_call_number = 0;
    Controls controls;
};

/// The case of a template that contains these markers.
ReplyCase case_of(std::string_view template_source, std::string_view tools_json = "null");

/// Parses pieces as they are cut.
Reply parse_pieces(const ReplyCase& reply_case, const std::vector<std::string>& pieces);
/// The whole, byte by byte and in every two pieces; checks that all give the same.
Reply parse_reply(const ReplyCase& reply_case, std::string_view text);

extern const char* const kWeatherTools;

}  // namespace hokku::testing
