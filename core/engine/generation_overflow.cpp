// SPDX-License-Identifier: Apache-2.0
// Generation: what it does when its context is full.
#include <algorithm>
#include <utility>

#include "base/try.h"
#include "base/utf8.h"
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
        // There is room enough to begin; a prompt that is still too long is an error by itself.
        result_.notice.clear();
        return {};
    }
    if (request_.messages.empty()) return {};
    window_.emplace(request_, *session_.loaded.text);
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
        result_.notice = grown.error().message();
        return false;
    }
    HOKKU_CHECK(call_user(events_.on_grown, session_.loaded.info.context_tokens));
    return true;
}

// ---- within the answer -------------------------------------------------------------------------

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
    prompt_ = std::move(prompt);
    prompt_.insert(prompt_.end(), result_.tokens.begin(), result_.tokens.end());
    num_replayed_ = result_.tokens.size();
    suspend();
    return open();
}

Result<void> Generation::report_dropped() {
    result_.dropped = window_->dropped();
    return call_user(events_.on_dropped, *result_.dropped);
}

// ---- summaries ---------------------------------------------------------------------------------

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
    summary_.emplace(Summary{std::move(sampler).value(), {}, most});
    prompt_ = std::move(prompt).value();
    num_replayed_ = 0;
    suspend();
    return true;
}

Result<void> Generation::accept_summary_token(std::span<const float> logits) {
    HOKKU_TRY(const TokenId token, summary_->sampler.sample(logits));
    summary_->sampler.accept(token);
    if (!is_end_token(token)) summary_->tokens.push_back(token);
    if (!is_end_token(token) && summary_->tokens.size() < summary_->most_tokens) return {};
    const Tokenizer& tokenizer = *session_.loaded.text->tokenizer;
    window_->set_summary(clean_summary(to_valid_utf8(tokenizer.decode(summary_->tokens, false)),
                                       !is_end_token(token)));
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
