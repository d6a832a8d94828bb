// SPDX-License-Identifier: Apache-2.0
#include "engine/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <exception>
#include <new>

#include "base/try.h"
#include "engine/prompt.h"
#include "engine/system_memory.h"

namespace hokku {
namespace {

/// Calls what the user gave; what it throws must not cross the inference thread.
template <class Callback, class... Arguments>
Result<void> call_user(const Callback& callback, Arguments&&... arguments) {
    if (!callback) return {};
    std::string thrown;
    try {
        callback(std::forward<Arguments>(arguments)...);
        return {};
    } catch (const std::exception& exception) {
        thrown = exception.what();
    } catch (...) {
        thrown = "not a std::exception";
    }
    return Error{ErrorCode::bad_argument, "a callback threw an exception: " + thrown, "events",
                 "callbacks that do not throw"};
}

double seconds_between(Generation::Clock::time_point from, Generation::Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

double rate(double count, double seconds) {
    return count > 0 && seconds > 0 ? count / seconds : 0;
}

}  // namespace

Generation::Generation(ModelSession& session, const GenerationRequest& request,
                       const GenerationEvents& events, std::stop_token stop,
                       Clock::time_point submitted)
    : session_(session),
      request_(request),
      events_(events),
      stop_(std::move(stop)),
      submitted_(submitted) {}

Result<void> Generation::begin() {
    const LoadedModel& loaded = session_.loaded;
    const ModelInfo& info = loaded.info;
    HOKKU_TRY(Sampler sampler,
              Sampler::create(request_.sampling, info.num_vocab, info.context_tokens + 1));
    result_.seed = sampler.seed();
    sampler_.emplace(std::move(sampler));
    HOKKU_TRY(StopMatcher stops, StopMatcher::create(request_.stop_strings));
    stops_.emplace(std::move(stops));
    stream_.emplace(*loaded.text->tokenizer, request_.keep_special);
    if (events_.on_token) logprobs_.emplace(info.num_vocab);

    HOKKU_TRY(prompt_, make_prompt(request_, *loaded.text));
    HOKKU_CHECK(validate_tokens(prompt_, info.num_vocab));
    result_.stats.prompt_tokens = static_cast<uint32_t>(prompt_.size());
    if (prompt_.size() > info.context_tokens)
        return Error{ErrorCode::limit_exceeded,
                     fmt::format("the prompt has {} tokens and the context holds {}",
                                 prompt_.size(), info.context_tokens),
                     "prompt", "a shorter prompt or a longer context"};
    for (const TokenId token : prompt_) sampler_->accept(token);
    sequence_ = request_.reuse_cached_prefix ? session_.kv.open(prompt_, loaded.least_prefill_rows)
                                             : session_.kv.open_empty();
    result_.stats.cached_tokens = sequence_.length();

    size_t most_tokens = info.context_tokens - prompt_.size() + 1;
    if (request_.max_tokens > 0) most_tokens = std::min<size_t>(most_tokens, request_.max_tokens);
    result_.tokens.reserve(most_tokens);
    // Tokens have 4 bytes on average, but a text of long ones must not make a step allocate.
    constexpr size_t kLongTokenBytes = 64, kManyBytes = size_t{1} << 20;
    result_.text.reserve(std::min(most_tokens * kLongTokenBytes, kManyBytes + most_tokens * 16));
    token_event_.top.reserve(std::min(request_.num_top_logprobs, info.num_vocab));
    prefill_start_ = Clock::now();
    return call_user(events_.on_prefill, sequence_.length(), result_.stats.prompt_tokens);
}

Generation::Next Generation::next(uint32_t max_tokens) const {
    if (!is_prefilling()) return {std::span(result_.tokens).last(1), true};
    const auto rest = std::span<const TokenId>(prompt_).subspan(sequence_.length());
    if (rest.size() <= max_tokens) return {rest, true};
    const size_t left_over = rest.size() - max_tokens;
    const size_t least = session_.loaded.least_prefill_rows;
    return {rest.first(max_tokens - (left_over < least ? least - left_over : 0)), false};
}

Result<void> Generation::accept(std::span<const float> logits) {
    const size_t num_stored = result_.stats.cached_tokens + result_.stats.forward_tokens;
    result_.stats.forward_tokens += static_cast<uint32_t>(sequence_.length() - num_stored);
    const bool was_prefill = result_.tokens.empty();
    if (was_prefill)
        HOKKU_CHECK(call_user(events_.on_prefill, sequence_.length(), result_.stats.prompt_tokens));
    if (is_prefilling()) return {};
    assert(sequence_.length() == prompt_.size() + result_.tokens.size() &&
           "the position of the next token follows from what is stored");
    return accept_token(logits);
}

Result<void> Generation::accept_token(std::span<const float> logits) {
    HOKKU_TRY(const TokenId token, sampler_->sample(logits));
    sampler_->accept(token);
    last_token_ = Clock::now();
    if (result_.tokens.empty()) first_token_ = last_token_;
    result_.tokens.push_back(token);
    result_.stats.generated_tokens = static_cast<uint32_t>(result_.tokens.size());
    HOKKU_CHECK(report_token(logits, token));

    if (is_end_token(token) && !request_.ignore_end) return finish(StopReason::end_of_generation);
    HOKKU_CHECK(emit(stream_->push(token)));
    if (stops_->is_stopped()) return finish(StopReason::stop_string);
    if (result_.tokens.size() == request_.max_tokens) return finish(StopReason::max_tokens);
    if (sequence_.length() == session_.loaded.info.context_tokens)
        return finish(StopReason::context_full);
    return {};
}

Result<void> Generation::report_token(std::span<const float> logits, TokenId token) {
    if (!events_.on_token) return {};
    token_event_.id = token;
    token_event_.logprob =
        logprobs_->read(logits, token, request_.num_top_logprobs, token_event_.top);
    return call_user(events_.on_token, token_event_);
}

Result<void> Generation::emit(std::string_view text) {
    if (!text.empty() && !has_text_) {
        has_text_ = true;
        result_.stats.ttft_ms = 1000.0 * seconds_between(submitted_, Clock::now());
    }
    const std::string_view certain = stops_->push(text);
    if (certain.empty()) return {};
    result_.text += certain;
    return call_user(events_.on_text, certain);
}

bool Generation::is_end_token(TokenId token) const {
    const std::vector<TokenId>& ends = session_.loaded.text->end_tokens;
    return std::binary_search(ends.begin(), ends.end(), token);
}

// The text held back is known to be text now, unless a stop string has cut it.
Result<void> Generation::finish(StopReason reason) {
    is_finished_ = true;
    result_.reason = reason;
    if (!stream_ || stops_->is_stopped()) return {};
    HOKKU_CHECK(emit(stream_->finish()));
    if (stops_->is_stopped()) return {};
    const std::string_view rest = stops_->finish();
    if (rest.empty()) return {};
    result_.text += rest;
    return call_user(events_.on_text, rest);
}

void Generation::fail(Error error) {
    // KV that was computed wrongly must not be found by later prompts.
    if (error.code == ErrorCode::numeric || error.code == ErrorCode::io ||
        error.code == ErrorCode::device) {
        sequence_ = Sequence();
        session_.kv.clear();
    }
    std::optional<Error> cause;
    if (error.code != ErrorCode::cancelled) cause = std::move(error);
    if (!is_finished_) {
        auto flushed = finish(cause ? StopReason::failed : StopReason::cancelled);
        if (!flushed.ok() && !cause) cause = std::move(flushed).error();
    }
    if (!cause) return;
    result_.reason = StopReason::failed;
    result_.error = std::move(cause);
}

GenerationResult Generation::take_result() {
    GenerationStats& stats = result_.stats;
    sequence_ = Sequence();
    if (!result_.tokens.empty()) {
        const double num_evaluated = stats.prompt_tokens - stats.cached_tokens;
        stats.prefill_tok_s = rate(num_evaluated, seconds_between(prefill_start_, first_token_));
        stats.decode_tok_s = rate(static_cast<double>(result_.tokens.size() - 1),
                                  seconds_between(first_token_, last_token_));
    }
    stats.peak_memory_mb = static_cast<double>(peak_process_memory()) / 1e6;
    return std::move(result_);
}

GenerationResult run_generation(ModelSession& session, const GenerationRequest& request,
                                const GenerationEvents& events, std::stop_token stop,
                                Generation::Clock::time_point submitted) {
    Generation generation(session, request, events, stop, submitted);
    const auto note = [&](Result<void> done) {
        if (!done.ok()) generation.fail(std::move(done).error());
    };
    const auto run_step = [&]() -> Result<void> {
        if (stop.stop_requested()) return Error{ErrorCode::cancelled, "cancelled", "", ""};
        const Generation::Next next = generation.next(session.loaded.max_step_tokens);
        HOKKU_TRY(const std::span<const float> logits,
                  session.runner.run({.sequence = &generation.sequence(),
                                      .tokens = next.tokens,
                                      .num_logit_rows = next.wants_logits ? 1u : 0u,
                                      .stop = stop}));
        return generation.accept(logits);
    };
    try {
        note(generation.begin());
        while (!generation.is_finished()) note(run_step());
    } catch (const std::bad_alloc&) {
        generation.fail(
            {ErrorCode::out_of_memory, "the system has no memory left for this request", "", ""});
    }
    return generation.take_result();
}

}  // namespace hokku
