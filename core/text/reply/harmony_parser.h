// SPDX-License-Identifier: Apache-2.0
// HarmonyParser: the ReplyParser for gpt-oss, whose replies are messages with a channel each:
//   <|channel|>analysis<|message|>..<|end|><|start|>assistant<|channel|>final<|message|>..<|return|>
//   <|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{..}<|call|>
// Source : OpenAI's "Harmony response format".
#pragma once

#include <string>
#include <string_view>

#include "text/reply/call_builder.h"
#include "text/reply/reply_buffer.h"
#include "text/reply/reply_parser.h"

namespace hokku::reply {

/// Analysis is thought. What has a recipient is a call; anything else is answer.
class HarmonyParser final : public ReplyParser {
  public:
    /// Without `has_control_tokens` the markers are text.
    HarmonyParser(const ReplyOptions& options, bool has_control_tokens, ReplySink& sink);
    void push(std::string_view text) override;
    void push_control(std::string_view text) override;
    void finish() override;
    [[nodiscard]] bool is_in_thought() const override { return body_ == Body::thought; }
    [[nodiscard]] bool is_in_answer() const override { return body_ == Body::answer; }
    [[nodiscard]] uint32_t num_departures() const override { return num_departures_; }
    [[nodiscard]] std::string pending_answer() const override;
    [[nodiscard]] bool reaches_answer(std::string_view text) const override;
    [[nodiscard]] std::string_view closing_text() const override;

  private:
    enum class Body { none, thought, answer, call };
    void advance();
    bool read_header();
    bool read_body();
    [[nodiscard]] std::string marker(std::string_view text) const;
    void begin_body(std::string_view header);
    void say(size_t num_bytes);
    void end_body();

    ReplySink& sink_;
    CallBuilder builder_;
    bool has_control_tokens_;
    ReplyBuffer text_;
    Body body_ = Body::none;  ///< none: a header is being read.
    uint32_t num_departures_ = 0;
    std::string source_;  ///< Of a call.
    std::string recipient_;
    bool had_thought_ = false, is_first_text_ = true;
};

}  // namespace hokku::reply
