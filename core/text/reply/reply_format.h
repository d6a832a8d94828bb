// SPDX-License-Identifier: Apache-2.0
// ReplyFormat: the markers by which a model family sets apart its thoughts and its tool calls.
// Found by rules over the chat template; says what it was found by.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "hokku/reply.h"
#include "hokku/tokenizer.h"

namespace hokku::reply {

inline constexpr size_t kLeastMarkerBytes = 3;  ///< Fewer say nothing of a marker.

struct ThoughtMarkers {
    std::string open, close;
    /// What is put into a stream to end a thought; as a family writes it, with its line breaks.
    std::string closing_text;
};

enum class CallSyntax {
    json,    ///< JSON objects with name and arguments, one after another or in an array.
    named,   ///< A name, then the arguments as a JSON object.
    tags,    ///< An element for the call, and one for each argument.
    gemma,   ///< call:name{key:value}, strings between tokens of their own.
    python,  ///< [name(key=value), ..] as Python writes it.
};

/// Markers that a syntax does not have are empty.
struct CallFormat {
    CallSyntax syntax = CallSyntax::json;
    /// Around the calls of one block. Without `open` a block begins where the reply does; without
    /// `close` it ends with its last call.
    std::string open = {}, close = {};
    /// named, tags: around one call. Without `call_open`, `open` stands before each.
    std::string call_open = {}, call_close = {};
    std::string name_end = {};  ///< named, tags: after the name.
    std::string id_open = {};   ///< named: between the name and an id.
    /// tags: around an argument: key_open KEY key_end [value_open] VALUE value_close.
    std::string key_open = {}, key_end = {}, value_open = {}, value_close = {};
    std::string attributes_end = {};  ///< tags: ends what may follow the name and each key.
    std::string quote = {};           ///< gemma: around strings.
    bool is_name_the_key = false;     ///< json: {"name": {arguments}}.
    bool has_lines = false;           ///< tags: values stand on lines of their own.
    bool has_cdata = false;           ///< tags: values may stand in <![CDATA[ ]]>.
    bool has_kind = false;            ///< named: a kind may come first, and the name on a line.
    bool is_fence = false;            ///< The open marker begins a line.
    bool ends_with_reply = false;     ///< python: whatever follows `open` is a program to run.
    bool only_known_tools = false;  ///< json, named, python: only calls of tools that were offered.
};

enum class Framing {
    plain,    ///< Nothing is marked.
    marked,   ///< Text with markers in it.
    harmony,  ///< Messages with a channel each (gpt-oss).
};

struct ReplyFormat {
    std::string name = "plain";
    std::string evidence;
    Framing framing = Framing::plain;
    std::vector<ThoughtMarkers> thoughts;
    std::vector<CallFormat> calls;
    std::vector<std::string> silent;  ///< Markers around the answer: not part of it.
    std::vector<std::string> ends;    ///< Tokens that end a reply, besides those the model names.
    bool has_control_tokens = false;  ///< Some markers are control tokens and bear their sign.

    [[nodiscard]] ReplyFormatInfo info() const;
};

/// What a format is found by.
struct ReplyClues {
    std::string_view template_source;    ///< Empty: there is no template.
    std::string_view architecture = {};  ///< As in the file: "llama", "gemma3", ..
};

/// The first of call_families() whose markers all stand in the template decides how calls are read,
/// the first of thought_families() how thoughts are.
ReplyFormat find_reply_format(const ReplyClues& clues);

/// Puts kControlSign before the text of each control token in the markers: from then on these
/// match tokens, not text that reads like them.
void bind_control_tokens(ReplyFormat& format, const Tokenizer& tokenizer);

/// Leaves out what is read by markers that one of these texts contains, backslashes in them aside:
/// who prescribes a marker means it as text.
void leave_out_named(ReplyFormat& format, const std::vector<std::string_view>& texts);

/// Every marker of a format that is not empty.
std::vector<std::string*> markers_of(ReplyFormat& format);

}  // namespace hokku::reply
