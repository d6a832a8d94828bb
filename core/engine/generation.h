// SPDX-License-Identifier: Apache-2.0
// Generation: one request on its way from prompt to result. It says what is to be evaluated next
// and takes the logits; it does not run the backend itself, so that a scheduler may run several.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/guess_budget.h"
#include "engine/model_session.h"
#include "engine/prompt_lookup.h"
#include "engine/reply_reader.h"
#include "engine/token_chooser.h"
#include "engine/turn_window.h"
#include "hokku/engine.h"
#include "kv/kv_cache.h"
#include "sampling/logprobs.h"
#include "sampling/sampler.h"

namespace hokku {

/// Life: begin(), open(), then next(), a step, accept() until is_finished(), then take_result().
/// In between, suspend() gives its blocks back and open() takes up again where it was: what is no
/// longer cached is evaluated again, by steps that round as the first ones did.
///
/// When the context is full and the request says so, it drops turns (TurnWindow): then it has a new
/// prompt, with the answer so far at its end. A summary is a text that it writes before that.
///
/// Threads: the inference thread only. accept() does not allocate once the prompt is through, but
///          for overflows.
class Generation {
  public:
    using Clock = std::chrono::steady_clock;

    /// All must outlive it. `submitted` is when the request was made; `stop` ends the making of
    /// prompts, which takes long for long texts and hostile templates.
    Generation(ModelSession& session, const GenerationRequest& request,
               const GenerationEvents& events, Clock::time_point submitted,
               std::stop_token stop = {});

    /// Makes the prompt and checks the options.
    Result<void> begin();
    /// Takes what is cached of its tokens. Reports that the first time.
    Result<void> open();
    void suspend() { sequence_ = Sequence(); }
    /// Instead of begin() and open(): goes on from the prompt that `leader` has just evaluated for
    /// a request that differs in its seed alone. Without a block for its copy it is suspended.
    Result<void> join(const Generation& leader, std::span<const float> logits);

    /// To be evaluated, and the logits of so many last ones are wanted. The last of them may be
    /// guesses of tokens that are not drawn yet (StepSlice).
    struct Next {
        std::span<const TokenId> tokens;
        uint32_t num_logit_rows = 0;
        uint32_t num_guessed = 0;
    };
    /// Of each row's logits so many best ones decide; 0: all.
    [[nodiscard]] uint32_t num_best() const;
    /// At most `max_tokens` tokens. Of a prompt longer than that it needs room for two of the least
    /// prefill steps. The span is valid until the next call.
    [[nodiscard]] Next next(uint32_t max_tokens, bool may_guess = false);
    /// Goes on after a step that evaluated what next() gave; logits [num_logit_rows, num_vocab].
    /// Each row's token is drawn as if there were no guesses; the first that is not as guessed is
    /// the last of the step. The text is the same with guesses and without.
    Result<void> accept(uint32_t num_rows, std::span<const float> logits);
    /// Ends it; cancelled is a reason of its own, any other code is reported. The text is kept.
    void fail(Error error);

    [[nodiscard]] bool is_finished() const { return is_finished_; }
    /// The prompt is being evaluated, for the first time or again.
    [[nodiscard]] bool is_prefilling() const { return sequence_.length() < prompt_.size(); }
    /// The first token of the answer comes from the logits of the step in work.
    [[nodiscard]] bool is_at_prompt_end() const { return !has_tokens() && !is_summarising(); }
    /// A token has been drawn.
    [[nodiscard]] bool has_tokens() const { return !result_.tokens.empty(); }
    [[nodiscard]] Sequence& sequence() { return sequence_; }
    [[nodiscard]] const Sequence& sequence() const { return sequence_; }
    /// Tokens to be evaluated before the next one can be drawn.
    [[nodiscard]] uint32_t num_pending() const;
    /// All tokens that are to be in the context. Allocates.
    [[nodiscard]] std::vector<TokenId> history() const;
    [[nodiscard]] GenerationResult take_result();

    /// Whether logits belong to a text of its own that comes before the answer.
    [[nodiscard]] bool is_summarising() const { return summary_.has_value(); }

  private:
    /// A summary that is being written: a reply without thoughts.
    struct Summary {
        Summary(Sampler chosen, const ModelText& text, std::vector<ChatMessage> messages,
                size_t most);
        Sampler sampler;
        GenerationRequest request;
        GenerationEvents events;
        GenerationResult result;
        ReplyReader reply;
        std::vector<TokenId> tokens;
        size_t most_tokens;
    };
    Result<void> prepare();
    Result<void> start_with(std::vector<TokenId> prompt);
    void set_prompt(std::vector<TokenId> prompt);
    void reserve_memory();
    /// What was drawn behind prompt_.
    [[nodiscard]] std::span<const TokenId> tail() const;
    [[nodiscard]] std::span<const TokenId> make_guesses(size_t max_tokens, TokenId last);
    /// Null: it makes no guesses for this one.
    [[nodiscard]] DraftModel* draft();
    void note_guess(const Guess& guess, size_t row, bool was_right);
    Result<void> accept_rows(std::span<const float> logits);
    Result<void> accept_token(std::span<const float> logits);
    Result<TokenId> choose_token(std::span<const float> logits, std::optional<TokenId> forced);
    Result<void> report_token(std::span<const float> logits, TokenId token);
    Result<void> finish(StopReason reason);
    [[nodiscard]] bool is_end_token(TokenId token) const;
    /// Tokens that may still be drawn in the context as it is.
    [[nodiscard]] size_t num_room() const;
    /// The most tokens that may still be drawn.
    [[nodiscard]] size_t num_left() const;

    // Overflow.
    /// Before the answer: makes room for a prompt, or less of it. May begin a summary.
    Result<void> shorten(std::vector<TokenId>& prompt);
    [[nodiscard]] bool may_make_room() const;
    /// The context is full, or will be with the required words that are missing.
    [[nodiscard]] bool needs_room() const;
    /// Within the answer. False: there is no way.
    Result<bool> make_room();
    Result<bool> grow(size_t least_tokens);
    /// False: there can be none.
    bool begin_summary();
    Result<void> accept_summary_token(std::span<const float> logits);
    Result<void> end_summary();
    Result<void> go_on_with(std::vector<TokenId> prompt);
    Result<void> report_dropped();

    ModelSession& session_;
    const GenerationRequest& request_;
    const GenerationEvents& events_;

    std::vector<TokenId> prompt_;
    size_t num_replayed_ = 0;    ///< Tokens of the answer at the end of prompt_.
    bool is_prompt_new_ = true;  ///< Nothing of it has been evaluated for this generation.
    Sequence sequence_;
    std::optional<TokenChooser> chooser_;
    std::optional<LogprobReader> logprobs_;
    std::optional<ReplyReader> reply_;
    TokenLogprob token_event_;  ///< Reused for each token.

    std::optional<PromptLookup> lookup_;  ///< Unless guessing is off.
    GuessBudget lookup_budget_;
    bool wants_draft_ = false;
    StepTimes step_times_;
    Guess guess_;            ///< Made before the step in work.
    bool is_draft_ = false;  ///< By the draft model.
    /// The last token and the guesses behind it.
    std::array<TokenId, kMostGuesses + 1> step_tokens_{};
    uint32_t num_guessed_ = 0;  ///< Of the guesses, those that are evaluated.
    Clock::time_point step_start_;

    std::optional<TurnWindow> window_;  ///< Where turns may be dropped.
    std::optional<Summary> summary_;    ///< While it is being written.
    bool is_stuck_ = false;             ///< No more room can be made, as it seems.

    GenerationResult result_;
    bool is_finished_ = false;
    bool is_opened_ = false;  ///< Once, at least.
    Clock::time_point submitted_, prefill_start_, first_token_, last_token_;
    const std::stop_token stop_;
};

}  // namespace hokku
