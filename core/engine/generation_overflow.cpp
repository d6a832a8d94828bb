// SPDX-License-Identifier: Apache-2.0
// Generation: what it does when its context is full.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "engine/call_user.h"
#include "engine/context_growth.h"
#include "engine/generation.h"

namespace hokku {

// ---- before the answer -------------------------------------------------------------------------

Result<void> Generation::shorten(std::vector<TokenId>& prompt) {
    const uint32_t context = session_.loaded.info.context_tokens;
    const OverflowLimits limits = overflow_limits(context, request_.max_tokens);
    if (request_.overflow == Overflow::grow) {
        if (prompt.size() <= limits.most_prompt) return {};
        HOKKU_TRY(bool has_grown, grow(prompt.size() + context - limits.most_prompt));
        if (!has_grown && prompt.size() > context) {
            HOKKU_TRY(has_grown, grow(prompt.size()));
        }
        is_stuck_ = !has_grown;
        if (!has_grown && prompt.size() > context) {
            const uint32_t longest = longest_context(session_.loaded);
            if (prompt.size() <= longest) return {};  // an error by itself; the notice says why
            result_.notice.clear();
            return Error{ErrorCode::limit_exceeded,
                         fmt::format("the prompt has {} tokens and the context cannot grow beyond "
                                     "the {} that the model goes up to",
                                     prompt.size(), longest),
                         "prompt", "a shorter prompt"};
        }
        result_.notice.clear();  // there is room enough to begin
        return {};
    }
    if (request_.messages.empty()) return {};
    window_.emplace(request_, *session_.loaded.text, stop_);
    if (prompt.size() <= limits.most_prompt || !window_->can_drop()) return {};
    const bool is_summary = request_.overflow == Overflow::summarise;
    const size_t spare = is_summary ? std::min(limits.summary_tokens, limits.wanted_prompt) : 0;
    HOKKU_TRY(prompt, window_->drop_to(limits.wanted_prompt - spare));
    if (prompt.size() > context) return {};  // likewise
    if (is_summary && prompt.size() + limits.summary_tokens < context && begin_summary()) return {};
    return report_dropped();
}

Result<bool> Generation::grow(size_t least_tokens) {
    const auto grown =
        grow_context(session_, static_cast<uint32_t>(std::min<size_t>(least_tokens, UINT32_MAX)),
                     read_system_memory());
    if (!grown.ok()) {
        result_.notice = grown.error().what;
        return false;
    }
    HOKKU_CHECK(call_user(events_.on_grown, session_.loaded.info.context_tokens));
    return true;
}

// ---- within the answer -------------------------------------------------------------------------

bool Generation::may_make_room() const {
    if (is_stuck_) return false;
    return window_ ? window_->can_drop() : request_.overflow == Overflow::grow;
}

// Whether room can be made is found out while there is still enough for the words, which are
// written at once if there is no way.
bool Generation::needs_room() const {
    const size_t room = num_room();
    if (room == 0 || request_.constraints.empty() || !may_make_room()) return room == 0;
    const bool ends_before =
        request_.max_tokens > 0 && request_.max_tokens - result_.tokens.size() <= room;
    return !ends_before && room <= chooser_->num_needed();
}

Result<bool> Generation::make_room() {
    const uint32_t context = session_.loaded.info.context_tokens;
    if (request_.overflow == Overflow::grow) {
        HOKKU_TRY(const bool has_grown, grow(size_t{context} + 1));
        is_stuck_ = !has_grown;
        return has_grown;
    }
    is_stuck_ = true;
    if (!window_ || !window_->can_drop()) return false;
    // What the answer takes is there to stay.
    const size_t answer = result_.tokens.size();
    const OverflowLimits limits = overflow_limits(context, request_.max_tokens);
    const bool is_summary = request_.overflow == Overflow::summarise;
    const size_t spare = answer + (is_summary ? limits.summary_tokens : 0);
    const size_t most = context - context / 4;
    TurnWindow smaller = *window_;
    auto prompt = smaller.drop_to(std::min(limits.wanted_prompt, most - std::min(most, spare)));
    if (!prompt.ok()) {  // the text so far is worth more than the error
        result_.notice = prompt.error().message();
        return false;
    }
    const size_t length = prompt->size() + answer;
    if (length + context / 8 >= context) return false;
    is_stuck_ = false;
    *window_ = std::move(smaller);
    if (is_summary && length + limits.summary_tokens < context && begin_summary()) {
        HOKKU_CHECK(open());
        return true;
    }
    HOKKU_CHECK(report_dropped());
    HOKKU_CHECK(go_on_with(std::move(prompt).value()));
    return true;
}

/// From a new prompt and the answer so far, which is evaluated like a prompt.
Result<void> Generation::go_on_with(std::vector<TokenId> prompt) {
    prompt.insert(prompt.end(), result_.tokens.begin(), result_.tokens.end());
    set_prompt(std::move(prompt));
    num_replayed_ = result_.tokens.size();
    suspend();
    return open();
}

Result<void> Generation::report_dropped() {
    result_.dropped = window_->dropped();
    return call_user(events_.on_dropped, *result_.dropped);
}

// ---- summaries ---------------------------------------------------------------------------------

Generation::Summary::Summary(Sampler chosen, const ModelText& text,
                             std::vector<ChatMessage> messages, size_t most)
    : sampler(std::move(chosen)), reply(request, events, text, result), most_tokens(most) {
    request.messages = std::move(messages);
    request.thought_budget_tokens = 0;
}

/// Without a summary the turns are only dropped.
bool Generation::begin_summary() {
    const ModelInfo& info = session_.loaded.info;
    const size_t most = overflow_limits(info.context_tokens, request_.max_tokens).summary_tokens;
    auto prompt = window_->make_summary_prompt(info.context_tokens - most, most);
    SamplingOptions options;
    options.temperature = 0;
    options.repeat_penalty = 1.1f;
    options.seed = 0;
    auto sampler = Sampler::create(options, info.num_vocab, info.context_tokens + 1);
    if (!prompt.ok() || !sampler.ok()) return false;
    summary_.emplace(std::move(sampler).value(), *session_.loaded.text, request_.messages, most);
    if (!summary_->reply.begin(*prompt).ok()) {
        summary_.reset();
        return false;
    }
    set_prompt(std::move(prompt).value());
    suspend();
    return true;
}

Result<void> Generation::accept_summary_token(std::span<const float> logits) {
    Summary& summary = *summary_;
    // Thoughts are closed as soon as they begin: the tokens are for the summary.
    HOKKU_TRY(std::optional<TokenId> token, summary.reply.forced_token());
    const bool is_forced = token.has_value();
    if (!is_forced) {
        HOKKU_TRY(token, summary.sampler.sample(logits));
    }
    summary.sampler.accept(*token);
    const bool is_end = !is_forced && is_end_token(*token);
    if (!is_end) {
        summary.tokens.push_back(*token);
        HOKKU_CHECK(summary.reply.push(*token));
        if (summary.tokens.size() < summary.most_tokens) return {};
    }
    // Cut off within a character, it ends before that.
    HOKKU_CHECK(
        summary.reply.finish(is_end ? StopReason::end_of_generation : StopReason::cancelled));
    window_->set_summary(clean_summary(std::move(summary.result.text), !is_end));
    return end_summary();
}

/// Goes on with the answer, from the turns that stay.
Result<void> Generation::end_summary() {
    summary_.reset();
    const uint32_t context = session_.loaded.info.context_tokens;
    HOKKU_TRY(std::vector<TokenId> prompt, window_->make_prompt());
    // A summary that is longer than its tokens were is rare, but then more must go.
    while (prompt.size() + result_.tokens.size() > context && window_->can_drop()) {
        HOKKU_TRY(prompt, window_->drop_to(context / 2));
    }
    HOKKU_CHECK(report_dropped());
    if (has_tokens()) {
        if (prompt.size() + result_.tokens.size() > context)
            return finish(StopReason::context_full);
        return go_on_with(std::move(prompt));
    }
    HOKKU_CHECK(start_with(std::move(prompt)));
    suspend();
    HOKKU_CHECK(open());
    result_.stats.cached_tokens = sequence_.length();
    return {};
}

}  // namespace hokku
