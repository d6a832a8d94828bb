// SPDX-License-Identifier: Apache-2.0
// Messages: a conversation as the JSON that a chat template reads, with thoughts, tool calls and
// results in the form that this template shows.
#pragma once

#include <string>
#include <vector>

#include "hokku/chat_template.h"
#include "hokku/engine.h"
#include "hokku/result.h"
#include "hokku/tokenizer.h"

namespace hokku {

/// How a template wants tool calls.
struct MessageStyle {
    bool shows_calls = false;         ///< false: they are put into the content as the model wrote.
    bool needs_null_content = false;  ///< Shown only where the content is null.
    bool needs_text_arguments = false;  ///< The arguments as JSON text, not as an object.
};

/// Found by rendering a conversation with a call.
MessageStyle find_message_style(const Tokenizer& tokenizer, const ChatTemplate& chat_template);

/// Errors : bad_argument: the arguments of a call are not a JSON object, or nested too deeply.
Result<std::string> messages_to_json(const std::vector<ChatMessage>& messages,
                                     const MessageStyle& style);

}  // namespace hokku
