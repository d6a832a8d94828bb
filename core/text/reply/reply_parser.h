// SPDX-License-Identifier: Apache-2.0
// ReplyParser: takes a reply apart while it is streamed: thoughts, answer, tool calls. Holds back
// only what may be the beginning of a marker; how the stream is cut makes no difference.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/reply/reply_format.h"
#include "text/reply/reply_sink.h"
#include "text/reply/tool_list.h"

namespace hokku::reply {

struct ReplyOptions {
    /// The end of the prompt, from the last turn's marker on at least: a template may open a
    /// thought, or close it, before the model begins. Where a message is continued, that alone.
    std::string_view prompt_end;
    bool is_continued = false;       ///< The prompt ends with the beginning of the answer itself.
    ToolList tools;                  ///< Without any, markers of calls are text like other.
    uint32_t first_call_number = 0;  ///< For ids: how many calls the conversation has had.
};

/// Thoughts: at the beginning of a reply only, as later mentions of a marker are text; a closing
/// marker that nothing was opened for makes what came before it the thought. Calls: anywhere in the
/// answer but in code fences, where what follows the open marker is like a call; also in thoughts
/// where the markers are control tokens. White space beside markers belongs to them.
///
/// Errors : none: whatever comes is told as answer, thought, or call with a problem.
/// Threads: one thread at a time. push() does not allocate where nothing is marked.
/// Cost   : linear in the text.
class ReplyParser {
  public:
    virtual ~ReplyParser() = default;
    /// Text that a user would see: valid UTF-8.
    virtual void push(std::string_view text) = 0;
    /// The text of a control token that the format's markers contain.
    virtual void push_control(std::string_view text) = 0;
    /// Nothing follows.
    virtual void finish() = 0;
    [[nodiscard]] virtual bool is_in_thought() const = 0;
    /// Text that came now would be answer, or may be what leads away from it.
    [[nodiscard]] virtual bool is_in_answer() const = 0;
    /// What may come next of the markers that lead away from the answer: of a thought where one
    /// may open, of calls where nothing of the answer has been said. Each begins with kControlSign
    /// where that is a control token. Valid until more is pushed.
    [[nodiscard]] virtual std::vector<std::string_view> openings(bool with_thoughts) const {
        static_cast<void>(with_thoughts);
        return {};
    }
    /// How often the reply has left the answer so far: text that might have been answer was none.
    [[nodiscard]] virtual uint32_t num_departures() const { return 0; }
    /// What has not been said yet and is answer unless what follows makes it something else.
    [[nodiscard]] virtual std::string pending_answer() const { return {}; }
    /// This text, if it came now, would begin the answer at once: by ending a thought or a call in
    /// the same breath, or by being none.
    [[nodiscard]] virtual bool reaches_answer(std::string_view text) const {
        static_cast<void>(text);
        return false;
    }
    /// What ends the thought if put into the stream now; for encoding with control tokens.
    [[nodiscard]] virtual std::string_view closing_text() const = 0;
};

/// Needs  : sink outlives the parser.
std::unique_ptr<ReplyParser> make_reply_parser(ReplyFormat format, ReplyOptions options,
                                               ReplySink& sink);

}  // namespace hokku::reply
