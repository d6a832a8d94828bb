// SPDX-License-Identifier: Apache-2.0
#include "engine/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <exception>
#include <utility>

#include "base/try.h"
#include "engine/call_user.h"
#include "engine/prompt.h"
#include "engine/system_memory.h"

namespace hokku {
namespace {

double seconds_between(Generation::Clock::time_point from, Generation::Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

double rate(double count, double seconds) {
    return count > 0 && seconds > 0 ? count / seconds : 0;
}

}  // namespace

Generation::Generation(ModelSession& session, const GenerationRequest& request,
                       const GenerationEvents& events, Clock::time_point submitted,
                       std::stop_token stop)
    : session_(session),
      request_(request),
      events_(events),
      submitted_(submitted),
      stop_(std::move(stop)) {
    result_.seed = request_.sampling.seed.value_or(0);  // also of what fails before it draws
}

Result<void> Generation::begin() {
    HOKKU_TRY(std::vector<TokenId> prompt, make_prompt(request_, *session_.loaded.text, stop_));
    HOKKU_CHECK(prepare());
    if (request_.overflow != Overflow::stop) HOKKU_CHECK(shorten(prompt));
    return is_summarising() ? Result<void>() : start_with(std::move(prompt));
}

Result<void> Generation::prepare() {
    const LoadedModel& loaded = session_.loaded;
    const ModelInfo& info = loaded.info;
    HOKKU_TRY(TokenChooser chooser, TokenChooser::create(request_, session_, stop_));
    result_.seed = chooser.seed();
    chooser_.emplace(std::move(chooser));
    if (events_.on_token) logprobs_.emplace(info.num_vocab);
    if (request_.prompt_lookup && loaded.max_guesses > 0) lookup_.emplace();
    wants_draft_ = request_.draft && loaded.max_guesses > 0;
    return {};
}

Result<void> Generation::start_with(std::vector<TokenId> prompt) {
    const ModelInfo& info = session_.loaded.info;
    set_prompt(std::move(prompt));
    HOKKU_CHECK(validate_tokens(prompt_, info.num_vocab));
    reply_.emplace(request_, events_, *session_.loaded.text, result_);
    HOKKU_CHECK(reply_->begin(prompt_));
    result_.stats.prompt_tokens = static_cast<uint32_t>(prompt_.size());
    if (prompt_.size() > info.context_tokens)
        return Error{ErrorCode::limit_exceeded,
                     fmt::format("the prompt has {} tokens and the context holds {}",
                                 prompt_.size(), info.context_tokens),
                     "prompt", "a shorter prompt or a longer context"};
    for (const TokenId token : prompt_) chooser_->accept_prompt(token);
    reserve_memory();
    return {};
}

void Generation::set_prompt(std::vector<TokenId> prompt) {
    prompt_ = std::move(prompt);
    num_replayed_ = 0;
    is_prompt_new_ = true;
    guess_ = {};
    num_guessed_ = 0;
    if (lookup_) lookup_->reset(prompt_, size_t{session_.loaded.info.context_tokens} + 1);
}

/// So that decoding does not allocate.
void Generation::reserve_memory() {
    const ModelInfo& info = session_.loaded.info;
    const size_t most_tokens = num_left();
    result_.tokens.reserve(most_tokens);
    // Tokens have 4 bytes on average, but a text of long ones must not make a step allocate.
    constexpr size_t kLongTokenBytes = 64, kManyBytes = size_t{1} << 20;
    result_.text.reserve(std::min(most_tokens * kLongTokenBytes, kManyBytes + most_tokens * 16));
    if (session_.loaded.text->reply_format.info().has_thoughts && !request_.messages.empty())
        result_.thought.reserve(result_.text.capacity());
    token_event_.top.reserve(std::min(request_.num_top_logprobs, info.num_vocab));
}

std::vector<TokenId> Generation::history() const {
    std::vector<TokenId> tokens = prompt_;
    tokens.insert(tokens.end(), tail().begin(), tail().end());
    return tokens;
}

std::span<const TokenId> Generation::tail() const {
    if (summary_) return summary_->tokens;
    return std::span(result_.tokens).subspan(num_replayed_);
}

// What remains of the prompt is evaluated by no fewer rows than the first time.
Result<void> Generation::open() {
    KvCache& kv = session_.kv;
    GenerationStats& stats = result_.stats;
    const bool is_untouched = stats.forward_tokens == 0 && !has_tokens();
    if (is_prompt_new_ && !request_.reuse_cached_prefix) {
        sequence_ = kv.open_empty();
    } else {
        const std::vector<TokenId> tokens = history();
        size_t wanted = std::min<size_t>(kv.num_cached(tokens), tokens.size() - 1);
        if (wanted < prompt_.size()) {
            const size_t least = session_.loaded.least_prefill_rows;
            wanted = std::min(wanted, prompt_.size() - std::min(prompt_.size(), least));
        }
        sequence_ = kv.open(tokens, static_cast<uint32_t>(tokens.size() - wanted));
    }
    if (is_untouched) stats.cached_tokens = sequence_.length();
    if (is_opened_ || summary_) return {};
    is_opened_ = true;
    prefill_start_ = Clock::now();
    return call_user(events_.on_prefill, sequence_.length(), stats.prompt_tokens);
}

Result<void> Generation::join(const Generation& leader, std::span<const float> logits) {
    HOKKU_CHECK(prepare());
    HOKKU_CHECK(start_with(leader.prompt_));
    assert(leader.sequence_.length() == prompt_.size() && "the leader is not at its prompt's end");
    auto forked = session_.kv.fork(leader.sequence_);
    if (forked.ok()) sequence_ = std::move(forked).value();
    is_prompt_new_ = false;
    window_ = leader.window_;
    if (window_) window_->set_stop(stop_);
    is_stuck_ = leader.is_stuck_;
    if (leader.result_.dropped) HOKKU_CHECK(report_dropped());
    is_opened_ = true;
    result_.stats.cached_tokens = result_.stats.prompt_tokens;
    prefill_start_ = Clock::now();
    HOKKU_CHECK(
        call_user(events_.on_prefill, result_.stats.prompt_tokens, result_.stats.prompt_tokens));
    return accept_token(logits);
}

uint32_t Generation::num_pending() const {
    const size_t total = prompt_.size() + tail().size();
    return static_cast<uint32_t>(total - sequence_.length());
}

uint32_t Generation::num_best() const {
    return summary_ || logprobs_ || !chooser_ ? 0 : chooser_->num_best();
}

// Drawn tokens that are evaluated again go through in such numbers as round like single ones.
Generation::Next Generation::next(uint32_t max_tokens, bool may_guess) {
    guess_ = {};
    num_guessed_ = 0;
    is_draft_ = false;
    step_start_ = {};
    if (!is_prefilling()) {
        const auto rest = tail().subspan(sequence_.length() - prompt_.size());
        if (rest.size() == 1 && may_guess && (lookup_ || draft()) && !summary_) {
            const auto tokens = make_guesses(max_tokens, rest.front());
            step_start_ = Clock::now();
            return {tokens, num_guessed_ + 1, num_guessed_};
        }
        const size_t count =
            std::min({rest.size(), size_t{max_tokens}, size_t{session_.loaded.max_decode_rows}});
        return {rest.first(count), count == rest.size() ? 1u : 0u};
    }
    const auto rest = std::span<const TokenId>(prompt_).subspan(sequence_.length());
    if (rest.size() <= max_tokens) return {rest, tail().empty() ? 1u : 0u};
    const size_t left_over = rest.size() - max_tokens;
    const size_t least = session_.loaded.least_prefill_rows;
    return {rest.first(max_tokens - (left_over < least ? least - left_over : 0))};
}

/// The last token, and behind it as many guesses as are worth it, by whichever way brings more.
/// What is found in the text but not worth evaluating is compared with what comes all the same.
std::span<const TokenId> Generation::make_guesses(size_t max_tokens, TokenId last) {
    step_tokens_[0] = last;
    is_draft_ = false;
    const auto guesses = std::span(step_tokens_).subspan(1);
    const size_t most = std::min(
        {size_t{session_.loaded.max_guesses}, max_tokens - 1, num_room() - 1, num_left() - 1});
    GuessOffer offer;
    if (lookup_) guess_ = lookup_->guess(guesses);
    if (guess_.num_tokens > 0) offer = lookup_budget_.offer(guess_.match_length, most, step_times_);
    if (DraftModel* const model = draft()) {
        const GuessOffer other =
            model->offer(std::min<size_t>(most, session_.loaded.max_draft_tokens), step_times_);
        if (other.num_tokens > 0 && other.gain >= offer.gain) {
            is_draft_ = true;
            offer.num_tokens = model->guess(prompt_, tail(), other, step_times_, guesses, stop_);
            guess_ = {offer.num_tokens, 0};
        }
    }
    if (session_.kv.can_append(sequence_, static_cast<uint32_t>(offer.num_tokens + 1)))
        num_guessed_ = static_cast<uint32_t>(offer.num_tokens);
    return std::span(step_tokens_).first(num_guessed_ + 1);
}

// Looked for each time, as it is given up when a device is lost.
DraftModel* Generation::draft() {
    return wants_draft_ && session_.draft ? &*session_.draft : nullptr;
}

void Generation::note_guess(const Guess& guess, size_t row, bool was_right) {
    const bool is_evaluated = row < num_guessed_;
    if (is_draft_) {
        if (is_evaluated && draft()) draft()->note_guess(row, was_right);
    } else if (row == 0 || is_evaluated) {
        lookup_budget_.note_guess(guess.match_length, was_right);
    }
}

Result<void> Generation::accept(uint32_t num_rows, std::span<const float> logits) {
    const uint32_t num_known = num_rows - num_guessed_;
    result_.stats.forward_tokens += num_known;
    result_.stats.guessed_tokens += num_guessed_;
    if (is_draft_) result_.stats.drafted_tokens += num_guessed_;
    const bool is_timed = step_start_ != Clock::time_point() && session_.loaded.are_guesses_timed;
    if (has_tokens() && num_known == 1 && is_timed)
        step_times_.note(num_rows, seconds_between(step_start_, Clock::now()));
    is_prompt_new_ = false;
    if (!has_tokens() && !summary_)
        HOKKU_CHECK(call_user(events_.on_prefill, sequence_.length(), result_.stats.prompt_tokens));
    if (logits.empty()) return {};
    assert(num_pending() == 0 && "the position of the next token follows from what is stored");
    if (summary_) return accept_summary_token(logits);
    return accept_rows(logits);
}

Result<void> Generation::accept_rows(std::span<const float> logits) {
    const size_t num_vocab = session_.loaded.info.num_vocab;
    for (size_t row = 0;; ++row) {
        const Guess guess = guess_;  // gone when there is a new prompt
        HOKKU_CHECK(accept_token(logits.subspan(row * num_vocab, num_vocab)));
        if (is_prompt_new_ || is_summarising() || guess.num_tokens <= row) return {};
        const TokenId guessed = step_tokens_[row + 1];
        const bool was_right = result_.tokens.back() == guessed;
        note_guess(guess, row, was_right);
        if (!was_right || row >= num_guessed_) return {};
        ++result_.stats.right_guesses;
        if (is_finished_) return {};
        // Its keys and values are stored already.
        session_.kv.append(sequence_, std::span(&guessed, 1));
        ++result_.stats.forward_tokens;
    }
}

Result<TokenId> Generation::choose_token(std::span<const float> logits,
                                         std::optional<TokenId> forced) {
    if (!forced) return chooser_->choose(logits, num_left(), &*reply_);
    chooser_->accept_prompt(*forced);
    return *forced;
}

Result<void> Generation::accept_token(std::span<const float> logits) {
    HOKKU_TRY(const std::optional<TokenId> forced, reply_->forced_token());
    HOKKU_TRY(const TokenId token, choose_token(logits, forced));
    last_token_ = Clock::now();
    if (result_.tokens.empty()) first_token_ = last_token_;
    result_.tokens.push_back(token);
    if (lookup_) lookup_->push(token);
    result_.stats.generated_tokens = static_cast<uint32_t>(result_.tokens.size());
    HOKKU_CHECK(report_token(logits, token));

    // One that is part of what closes a thought is not the end of the answer.
    if (!forced && is_end_token(token) && !request_.ignore_end)
        return finish(StopReason::end_of_generation);
    const bool had_text = reply_->has_text();
    auto pushed = reply_->push(token);
    if (!had_text && reply_->has_text())
        result_.stats.ttft_ms = 1000.0 * seconds_between(submitted_, Clock::now());
    HOKKU_CHECK(std::move(pushed));
    if (reply_->is_stopped()) return finish(StopReason::stop_string);
    if (chooser_->is_finished(*reply_)) return finish(StopReason::end_of_generation);
    if (result_.tokens.size() == request_.max_tokens) return finish(StopReason::max_tokens);
    while (!is_summarising() && needs_room()) {
        HOKKU_TRY(const bool goes_on, make_room());
        if (!goes_on) return num_room() > 0 ? Result<void>() : finish(StopReason::context_full);
    }
    return {};
}

Result<void> Generation::report_token(std::span<const float> logits, TokenId token) {
    if (!events_.on_token) return {};
    token_event_.id = token;
    token_event_.logprob =
        logprobs_->read(logits, token, request_.num_top_logprobs, token_event_.top);
    return call_user(events_.on_token, token_event_);
}

size_t Generation::num_room() const {
    const size_t context = session_.loaded.info.context_tokens;
    return context + 1 - (prompt_.size() + tail().size());
}

size_t Generation::num_left() const {
    const size_t room = may_make_room() ? session_.loaded.info.context_tokens : num_room();
    if (request_.max_tokens == 0) return room;
    return std::min(room, request_.max_tokens - result_.tokens.size());
}

bool Generation::is_end_token(TokenId token) const {
    const std::vector<TokenId>& ends = session_.loaded.text->end_tokens;
    return std::binary_search(ends.begin(), ends.end(), token);
}

Result<void> Generation::finish(StopReason reason) {
    is_finished_ = true;
    auto finished = reply_ ? reply_->finish(reason) : Result<void>();
    // What was held back may have completed a stop string only now.
    const bool is_cut = reply_ && reply_->is_stopped();
    const bool is_own_end = reason == StopReason::end_of_generation ||
                            reason == StopReason::max_tokens || reason == StopReason::context_full;
    result_.reason = is_cut && is_own_end ? StopReason::stop_string : reason;
    result_.meets_constraints =
        request_.constraints.empty() || (chooser_ && chooser_->meets_constraints(result_, is_cut));
    return finished;
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
        try {
            auto flushed = finish(cause ? StopReason::failed : StopReason::cancelled);
            if (!flushed.ok() && !cause) cause = std::move(flushed).error();
        } catch (const std::exception&) {  // no memory for the last of the text
        }
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

}  // namespace hokku
