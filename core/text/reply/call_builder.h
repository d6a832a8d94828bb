// SPDX-License-Identifier: Apache-2.0
// CallBuilder: puts one tool call after another together from what the readers find, checks it,
// and tells the sink.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/reply/reply_sink.h"

namespace hokku::reply {

class CallBuilder {
  public:
    /// Ids are made from numbers that count up from `first_number`.
    CallBuilder(ReplySink& sink, uint32_t first_number) : sink_(sink), number_(first_number) {}

    /// A name, and an id where the model gave one. "functions.NAME:0" (Kimi K2, gpt-oss) is taken
    /// apart.
    void set_name(std::string_view name, std::string_view id = {});
    /// A piece of the arguments' JSON text. May come before the name.
    void add_arguments(std::string_view json);
    [[nodiscard]] const std::string& name() const { return call_.name; }  ///< Empty: not known.
    [[nodiscard]] bool has_name() const { return !call_.name.empty(); }

    /// The call is complete; `source` is how the model wrote it.
    void finish(std::string_view source);
    /// The call cannot be understood.
    void fail(std::string_view problem, std::string_view source);

  private:
    [[nodiscard]] std::string_view find_problem() const;
    void close(std::string_view source);

    ReplySink& sink_;
    uint32_t number_;
    ToolCall call_;
};

}  // namespace hokku::reply
