// SPDX-License-Identifier: Apache-2.0
// ReplySink: what a parsed reply is told to, in the order in which the model wrote it.
#pragma once

#include <string_view>

#include "hokku/reply.h"

namespace hokku::reply {

/// Views are valid during the call.
class ReplySink {
  public:
    virtual ~ReplySink() = default;
    virtual void on_thought(std::string_view text) = 0;
    virtual void on_answer(std::string_view text) = 0;
    /// The model closed a thought that it never opened: all answer so far was the thought.
    virtual void on_answer_was_thought() = 0;
    /// The name of a call is known; its arguments follow as pieces that join to the JSON text of a
    /// valid call. A call that is wrong from the start has none of these, only on_call().
    virtual void on_call_begin(std::string_view id, std::string_view name) = 0;
    virtual void on_call_arguments(std::string_view json) = 0;
    virtual void on_call(const ToolCall& call) = 0;
};

}  // namespace hokku::reply
