// SPDX-License-Identifier: Apache-2.0
// Generation: one request on its way from prompt to result. It says what is to be evaluated next
// and takes the logits; it does not run the backend itself, so that a scheduler may run several.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/model_session.h"
#include "engine/stop_matcher.h"
#include "hokku/engine.h"
#include "kv/kv_cache.h"
#include "sampling/logprobs.h"
#include "sampling/sampler.h"

namespace hokku {

/// Life: begin(), then next(), a step, accept() until is_finished(), then take_result().
///
/// Threads: the inference thread only. accept() does not allocate once the prompt is through.
class Generation {
  public:
    using Clock = std::chrono::steady_clock;

    /// All must outlive it. `submitted` is when the request was made.
    Generation(ModelSession& session, const GenerationRequest& request,
               const GenerationEvents& events, std::stop_token stop, Clock::time_point submitted);

    /// Makes the prompt, checks the options, takes what is cached.
    Result<void> begin();

    struct Next {
        std::span<const TokenId> tokens;
        bool wants_logits = false;  ///< Of the last token.
    };
    /// At most `max_tokens` tokens to be evaluated.
    [[nodiscard]] Next next(uint32_t max_tokens) const;
    /// Goes on after a step that evaluated what next() gave; logits [num_vocab] if wanted.
    Result<void> accept(std::span<const float> logits);
    /// Ends it; cancelled is a reason of its own, any other code is reported. The text is kept.
    void fail(Error error);

    [[nodiscard]] bool is_finished() const { return is_finished_; }
    [[nodiscard]] Sequence& sequence() { return sequence_; }
    [[nodiscard]] GenerationResult take_result();

  private:
    [[nodiscard]] bool is_prefilling() const { return sequence_.length() < prompt_.size(); }
    Result<void> accept_token(std::span<const float> logits);
    Result<void> report_token(std::span<const float> logits, TokenId token);
    Result<void> emit(std::string_view text);
    Result<void> finish(StopReason reason);
    [[nodiscard]] bool is_end_token(TokenId token) const;

    ModelSession& session_;
    const GenerationRequest& request_;
    const GenerationEvents& events_;
    std::stop_token stop_;

    std::vector<TokenId> prompt_;
    Sequence sequence_;
    std::optional<Sampler> sampler_;
    std::optional<LogprobReader> logprobs_;
    std::optional<TokenStream> stream_;
    std::optional<StopMatcher> stops_;
    TokenLogprob token_event_;  ///< Reused for each token.

    GenerationResult result_;
    bool is_finished_ = false;
    bool has_text_ = false;
    Clock::time_point submitted_, prefill_start_, first_token_, last_token_;
};

/// Runs one generation from start to end, whatever happens in it.
GenerationResult run_generation(ModelSession& session, const GenerationRequest& request,
                                const GenerationEvents& events, std::stop_token stop,
                                Generation::Clock::time_point submitted);

}  // namespace hokku
