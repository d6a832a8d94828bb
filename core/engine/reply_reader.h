// SPDX-License-Identifier: Apache-2.0
// ReplyReader: from the tokens of a generation to its text: thoughts, answer up to a stop string,
// tool calls; to the result and to the events. Keeps the budget of thoughts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/prompt.h"
#include "engine/stop_matcher.h"
#include "hokku/engine.h"
#include "text/reply/reply_parser.h"

namespace hokku {

/// The model asks for a tool that can be called.
[[nodiscard]] bool has_valid_call(const GenerationResult& result);

/// Only conversations have thoughts and calls; what continues raw text or tokens is text, and so is
/// everything where control tokens are to be seen.
///
/// Threads: the inference thread only. push() does not allocate where nothing is marked.
class ReplyReader final : private reply::ReplySink {
  public:
    /// All must outlive it and stay where they are.
    ReplyReader(const GenerationRequest& request, const GenerationEvents& events,
                const ModelText& text, GenerationResult& result);
    ReplyReader(const ReplyReader&) = delete;
    ReplyReader& operator=(const ReplyReader&) = delete;

    /// Errors : bad_argument for stop strings or tools that are none.
    Result<void> begin(std::span<const TokenId> prompt);
    /// Errors : that of a callback.
    Result<void> push(TokenId token);
    /// What was held back is known to be text now, unless a stop string has cut it. Half of a
    /// character is kept as U+FFFD where the model has ended the text, not where a person has.
    Result<void> finish(StopReason reason);

    /// A stop string has ended the answer.
    [[nodiscard]] bool is_stopped() const { return stops_ && stops_->is_stopped(); }
    [[nodiscard]] bool has_text() const { return has_text_; }
    /// What comes next is not the answer: constraints do not hold for it.
    [[nodiscard]] bool is_beside_answer() const;
    /// What may come next of the markers of thoughts and calls; see ReplyParser.
    [[nodiscard]] std::vector<std::string_view> openings() const;
    /// How often text that might have been answer was none; see ReplyParser.
    [[nodiscard]] uint32_t num_departures() const;
    /// The answer so far, with what is held back of it.
    [[nodiscard]] std::string answer() const;
    /// The reply has made calls and has no answer yet: it may end here, whatever the form.
    [[nodiscard]] bool is_done_by_calls() const;
    /// This token would begin the answer at once: by ending a thought or a call in the same
    /// breath, or by being none.
    [[nodiscard]] bool reaches_answer(TokenId token) const;
    /// The token that must come next, as the budget of thoughts is used up; the caller pushes it
    /// as any other.
    Result<std::optional<TokenId>> forced_token();

  private:
    void leave_to_forms(reply::ReplyFormat& format) const;
    [[nodiscard]] std::string end_of_prompt(std::span<const TokenId> prompt) const;
    void on_thought(std::string_view text) override;
    void on_answer(std::string_view text) override;
    void on_answer_was_thought() override;
    void on_call_begin(std::string_view id, std::string_view name) override;
    void on_call_arguments(std::string_view json) override;
    void on_call(const ToolCall& call) override;
    void add_answer(std::string_view text);
    template <class Callback, class... Arguments>
    void tell(const Callback& callback, Arguments&&... arguments);
    [[nodiscard]] Result<void> take_error();

    const GenerationRequest& request_;
    const GenerationEvents& events_;
    const ModelText& text_;
    GenerationResult& result_;
    TokenStream stream_;
    std::optional<StopMatcher> stops_;
    std::unique_ptr<reply::ReplyParser> parser_;  ///< Null: all is answer.
    std::optional<Error> error_;                  ///< The first one of a callback.
    std::string call_id_, call_name_;

    bool has_text_ = false;
    bool is_cut_ = false;  ///< The last token ended within a character.
    uint32_t num_thought_tokens_ = 0;
    std::vector<TokenId> forced_;  ///< What closes the thought.
    size_t num_forced_ = 0;        ///< Of these, given out.
};

}  // namespace hokku
