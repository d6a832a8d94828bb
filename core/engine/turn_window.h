// SPDX-License-Identifier: Apache-2.0
// TurnWindow: what of a conversation stays when it no longer fits its context. It chooses turns and
// makes prompts; when that is done, and what is evaluated, is the generation's business.
#pragma once

#include <cstddef>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "engine/prompt.h"
#include "hokku/engine.h"
#include "hokku/result.h"

namespace hokku {

/// A turn is a user's message with all that follows up to the next one. The system messages at the
/// start and the last turn always stay.
///
/// Threads: the inference thread only.
class TurnWindow {
  public:
    /// `text` must outlive it. Needs a request with messages.
    TurnWindow(const GenerationRequest& request, const ModelText& text, std::stop_token stop = {});

    /// Of the generation that it is now for.
    void set_stop(std::stop_token stop) { stop_ = std::move(stop); }
    [[nodiscard]] bool can_drop() const { return num_dropped_ + 1 < turns_.size(); }
    /// Drops the fewest of the oldest turns, but at least one more, that leave a prompt of at most
    /// `most_tokens`; all that may go where that is not enough. Returns the prompt.
    /// Needs  : can_drop().
    /// Errors : those of make_prompt().
    Result<std::vector<TokenId>> drop_to(size_t most_tokens);
    /// The prompt of what stays, the summary included.
    [[nodiscard]] Result<std::vector<TokenId>> make_prompt() const;

    /// A prompt that asks for a summary of what was dropped and is in no summary yet. Long
    /// messages are cut to make it fit.
    /// Errors : those of make_prompt(); limit_exceeded.
    [[nodiscard]] Result<std::vector<TokenId>> make_summary_prompt(size_t most_tokens,
                                                                   size_t summary_tokens) const;
    /// It covers all that has been dropped and stands before the first message that stays.
    void set_summary(std::string summary);

    [[nodiscard]] DroppedTurns dropped() const;

  private:
    [[nodiscard]] Result<std::vector<TokenId>> make_prompt_without(size_t num_turns) const;
    [[nodiscard]] std::vector<ChatMessage> kept_without(size_t num_turns) const;
    [[nodiscard]] std::string transcript(size_t most_bytes_each) const;

    const ModelText* text_;
    std::stop_token stop_;
    GenerationRequest draft_;  ///< The request without its messages.
    std::vector<ChatMessage> messages_;
    size_t num_system_ = 0;      ///< Messages before the first turn.
    std::vector<size_t> turns_;  ///< Where each begins.
    size_t num_dropped_ = 0, num_summarised_ = 0;
    std::string summary_;
};

/// How much of a context an answer and a summary are given.
struct OverflowLimits {
    size_t most_prompt;     ///< A longer prompt leaves too little room for an answer.
    size_t wanted_prompt;   ///< What dropping turns is to leave: it takes time, so not too often.
    size_t summary_tokens;  ///< The longest summary.
};
OverflowLimits overflow_limits(uint32_t context_tokens, uint32_t max_tokens);

/// The text of a summary as the model has written it, without white space around. One that was cut
/// off ends with its last whole sentence, if that leaves half of it.
std::string clean_summary(std::string text, bool is_cut);

}  // namespace hokku
