// SPDX-License-Identifier: Apache-2.0
#include "engine/token_chooser.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/cancelled.h"
#include "base/try.h"
#include "base/utf8.h"
#include "constraint/lookahead.h"
#include "constraint/match/token_trie.h"
#include "engine/request_constraints.h"
#include "sampling/check_logits.h"
#include "text/reply/reply_buffer.h"

namespace hokku {
namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

/// Tokens that a text may have, for samplers that look back at all of it.
uint32_t longest_text(const GenerationRequest& request, const ModelInfo& info) {
    const bool may_grow = request.overflow == Overflow::grow;
    return (may_grow ? std::max(info.trained_context, info.context_tokens) : info.context_tokens) +
           1;
}

}  // namespace

Result<TokenChooser> TokenChooser::create(const GenerationRequest& request, ModelSession& session,
                                          std::stop_token stop) {
    const ModelInfo& info = session.loaded.info;
    HOKKU_TRY(Sampler sampler,
              Sampler::create(request.sampling, info.num_vocab, longest_text(request, info),
                              session.loaded.text->tokenizer.get()));
    TokenChooser chooser(std::move(sampler));
    if (request.constraints.empty()) return chooser;
    if (request.ignore_end)
        return Error{ErrorCode::bad_argument, "constraints need the end of a text", "ignore_end",
                     "one of the two"};
    HOKKU_TRY(chooser.vocabulary_, session.constraint_vocabulary());
    HOKKU_TRY(chooser.constraint_,
              make_request_constraints(request.constraints, chooser.vocabulary_));
    chooser.names_ = names_of(request.constraints);
    chooser.num_parts_ = request.constraints.size();
    chooser.stop_ = std::move(stop);
    chooser.mask_.emplace(info.num_vocab);
    chooser.logits_.resize(info.num_vocab);
    return chooser;
}

Result<TokenId> TokenChooser::choose(std::span<const float> logits, size_t num_left,
                                     const ReplyReader* reply) {
    if (!constraint_) {
        HOKKU_TRY(const TokenId token, sampler_.sample(logits));
        sampler_.accept(token);
        return token;
    }
    if (reply != nullptr && reply->is_beside_answer()) return choose_free(logits, *reply);
    return choose_allowed(logits, num_left, reply);
}

Result<TokenId> TokenChooser::choose_free(std::span<const float> logits, const ReplyReader& reply) {
    was_free_ = true;
    std::copy(logits.begin(), logits.end(), logits_.begin());
    while (true) {
        HOKKU_TRY(const TokenId token, sampler_.sample(logits_));
        if (reply.reaches_answer(token)) {
            logits_[static_cast<size_t>(token)] = kForbidden;
            continue;
        }
        sampler_.accept(token);
        return token;
    }
}

/// Where the reply has left the answer, the constraint goes back to what is left of that.
Result<void> TokenChooser::follow(const ReplyReader& reply) {
    if (is_only_opening_ && follows_exactly(reply.answer())) is_only_opening_ = false;
    if (reply.num_departures() == num_departures_ && !was_free_) return {};
    HOKKU_CHECK(follow_text(reply.answer()));
    num_departures_ = reply.num_departures();
    was_free_ = is_only_opening_ = has_insisted_ = false;
    rest_.clear();
    return {};
}

/// By the tokens that were drawn, as far as they are this text, then by the longest ones.
Result<void> TokenChooser::follow_text(std::string_view text) {
    size_t num_kept = 0;
    while (num_kept < followed_.size() && !text.empty()) {
        const std::string_view bytes = vocabulary_->trie().bytes(followed_[num_kept]);
        if (!text.starts_with(bytes)) break;
        text.remove_prefix(bytes.size());
        ++num_kept;
    }
    constraint_->rollback(followed_.size() - num_kept);
    followed_.resize(num_kept);
    while (!text.empty()) {
        const std::vector<TokenId> tokens = vocabulary_->beginnings(text);
        if (tokens.empty() || !constraint_->accept(tokens.back()).ok())
            return Error{ErrorCode::bad_argument,
                         fmt::format("what was taken for a call or a thought is answer, and has "
                                     "not the form: \"{}\"",
                                     to_printable(text, 80)),
                         names_, "a text of this form"};
        followed_.push_back(tokens.back());
        text.remove_prefix(vocabulary_->trie().bytes(tokens.back()).size());
    }
    return {};
}

/// Whether the constraint has seen this text and nothing else.
bool TokenChooser::follows_exactly(std::string_view text) const {
    for (const TokenId token : followed_) {
        if (vocabulary_->ends_generation(token)) continue;
        const std::string_view bytes = vocabulary_->trie().bytes(token);
        // One that a grammar names is no text, whether it is shown or not.
        if (bytes.empty()) return true;
        if (!text.starts_with(bytes)) return false;
        text.remove_prefix(bytes.size());
    }
    return text.empty();
}

void TokenChooser::allow_too(TokenId token) {
    if (mask_->test(static_cast<size_t>(token))) return;
    mask_->set(static_cast<size_t>(token));
    beside_.push_back(token);
}

/// Allows what leads away from the answer, and the end where there need be none.
Result<void> TokenChooser::allow_beside(const ReplyReader& reply) {
    for (const std::string_view marker : reply.openings()) HOKKU_CHECK(allow_opening(marker));
    if (!reply.is_done_by_calls()) return {};
    for (const TokenId space : vocabulary_->beginnings("\n\n")) allow_too(space);  // not said
    for (const TokenId end : vocabulary_->trie().end_tokens()) allow_too(end);
    return {};
}

/// The marker's tokens may come beside those that the constraint allows.
Result<void> TokenChooser::allow_opening(std::string_view marker) {
    std::vector<TokenId> tokens;
    if (marker.front() == reply::kControlSign) {
        const std::string text = reply::without_control_signs(marker);
        HOKKU_TRY(tokens, vocabulary_->tokenizer().encode(
                              text, {.parse_special = true, .add_special = false}));
        if (tokens.size() > 1) tokens.erase(tokens.begin() + 1, tokens.end());
    } else {
        tokens = vocabulary_->beginnings(marker);
        // Where one token is all of it, other beginnings are meant otherwise.
        const auto is_whole = [&](TokenId token) {
            return vocabulary_->tokenizer().token_bytes(token, false).size() == marker.size();
        };
        if (!tokens.empty() && is_whole(tokens.back()))
            tokens.erase(tokens.begin(), tokens.end() - 1);
    }
    for (const TokenId token : tokens) allow_too(token);
    return {};
}

bool TokenChooser::is_beside(TokenId token) const {
    return std::find(beside_.begin(), beside_.end(), token) != beside_.end();
}

Result<TokenId> TokenChooser::choose_allowed(std::span<const float> logits, size_t num_left,
                                             const ReplyReader* reply) {
    HOKKU_CHECK(check_logits(logits));  // of the tokens that are not allowed, too
    if (reply != nullptr) HOKKU_CHECK(follow(*reply));
    HOKKU_CHECK(constraint_->allowed_tokens(*mask_));
    const bool needs_no_answer = reply != nullptr && reply->is_done_by_calls();
    if (is_only_opening_) {
        mask_->clear();
    } else if (!needs_no_answer) {
        HOKKU_CHECK(insist_on_words(logits, num_left));
    }
    beside_.clear();
    if (reply != nullptr && rest_.empty()) HOKKU_CHECK(allow_beside(*reply));
    auto chosen = choose_from_mask(logits, num_left);
    if (!chosen.ok() && !rest_.empty() && chosen.error().code == ErrorCode::bad_argument) {
        // The words do not lead on from here; something else may.
        rest_.clear();
        HOKKU_CHECK(constraint_->allowed_tokens(*mask_));
        if (reply != nullptr) HOKKU_CHECK(allow_beside(*reply));
        chosen = choose_from_mask(logits, num_left);
    }
    HOKKU_TRY(const TokenId token, std::move(chosen));
    has_ended_ = vocabulary_->ends_generation(token);
    return token;
}

Result<TokenId> TokenChooser::choose_from_mask(std::span<const float> logits, size_t num_left) {
    std::copy(logits.begin(), logits.end(), logits_.begin());
    if (auto masked = mask_logits(*mask_, logits_); !masked.ok())
        return num_parts_ > 1 ? contradiction() : masked.error();
    return sample_and_accept(num_left);
}

/// Tokens that the text takes when it is cut into the longest ones.
size_t TokenChooser::num_longest_tokens(std::string_view text) const {
    if (text.empty()) return 0;
    for (const Count& count : counts_)
        if (count.text == text) return count.num_tokens;
    Count& count = counts_[next_count_++ % counts_.size()];
    count = {std::string(text), 0};
    while (!text.empty()) {
        const std::vector<TokenId> tokens = vocabulary_->beginnings(text);
        if (tokens.empty()) {
            count.num_tokens = std::numeric_limits<size_t>::max();
            break;
        }
        text.remove_prefix(vocabulary_->trie().bytes(tokens.back()).size());
        ++count.num_tokens;
    }
    return count.num_tokens;
}

Result<void> TokenChooser::insist_on_words(std::span<const float> logits, size_t num_left) {
    if (rest_.empty()) {
        std::string missing = constraint_->missing_text();
        if (missing.empty()) return {};
        const size_t num_needed = num_longest_tokens(missing);
        if (num_needed > num_left) return too_late(missing, num_left);
        const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
        const bool would_end = vocabulary_->ends_generation(static_cast<TokenId>(best));
        // Behind another token they may have to be set apart.
        const size_t num_later = missing.front() == ' '
                                     ? num_needed
                                     : std::max(num_needed, num_longest_tokens(" " + missing));
        if (num_later < num_left && !would_end) return {};
        rest_ = std::move(missing);
    }
    std::vector<TokenId> beginnings = vocabulary_->beginnings(rest_);
    if (num_longest_tokens(rest_) >= num_left)
        beginnings.erase(beginnings.begin(), beginnings.end() - 1);
    if (!allow_only(beginnings)) rest_.clear();
    return {};
}

/// false: the other constraints allow none of them, and nothing is changed.
bool TokenChooser::allow_only(std::span<const TokenId> tokens) {
    std::vector<TokenId> allowed;
    for (const TokenId token : tokens)
        if (mask_->test(static_cast<size_t>(token))) allowed.push_back(token);
    if (allowed.empty()) return false;
    mask_->clear();
    for (const TokenId token : allowed) mask_->set(static_cast<size_t>(token));
    return true;
}

// Three kinds of tokens are taken back: one that leaves nothing but an end that is not allowed (the
// quote that closes a string in which a word is missing), one after which the other forms have no
// letters for the words (the beginning of a number), and a letter right behind the words that were
// insisted on, which would make the last one another word.
bool TokenChooser::is_dead_end(TokenId token) const {
    const bool is_stuck = constraint_->is_finished() && !constraint_->is_complete() &&
                          !vocabulary_->ends_generation(token);
    if (is_stuck || vocabulary_->ends_generation(token)) return is_stuck;
    const bool is_missing = !constraint_->missing_text().empty();
    if (has_insisted_ && is_missing) return true;
    // Nothing that the other forms allow from here on contains the words.
    return num_parts_ > 1 && is_missing &&
           !constraint::may_be_met_by(*constraint_, constraint::bytes_to_come(*constraint_));
}

/// No more than `num_left` tokens, the one that was just accepted among them, would not do for what
/// is still missing.
bool TokenChooser::is_too_late(TokenId token, size_t num_left) const {
    if (vocabulary_->ends_generation(token)) return false;
    const size_t num_bytes = vocabulary_->tokenizer().token_bytes(token, false).size();
    const std::string missing =
        num_bytes < rest_.size() ? rest_.substr(num_bytes) : constraint_->missing_text();
    return !missing.empty() && num_longest_tokens(missing) > num_left - 1;
}

Error TokenChooser::too_late(std::string_view missing, size_t num_left) const {
    return {ErrorCode::limit_exceeded,
            fmt::format("{} {} left, and \"{}\" is still missing", num_left,
                        num_left == 1 ? "token is" : "tokens are", to_printable(missing)),
            "required words", fmt::format("at least {} tokens", num_longest_tokens(missing))};
}

/// After some tries by chance: looks at all that are left.
Result<void> TokenChooser::drop_dead_ends(size_t num_left) {
    for (size_t id = 0; id < logits_.size(); ++id) {
        if (logits_[id] == kForbidden) continue;
        if (stop_.stop_requested()) return cancelled();
        if (is_beside(static_cast<TokenId>(id))) continue;
        HOKKU_CHECK(constraint_->accept(static_cast<TokenId>(id)));
        if (is_dead_end(static_cast<TokenId>(id)) ||
            is_too_late(static_cast<TokenId>(id), num_left))
            logits_[id] = kForbidden;
        constraint_->rollback(1);
    }
    return {};
}

Error TokenChooser::contradiction() const {
    const std::string missing = constraint_->missing_text();
    std::string what = "the forms asked for contradict each other after the text so far";
    if (!missing.empty())
        what += fmt::format(": \"{}\" is still missing, and nothing that may come next leads there",
                            to_printable(missing, 80));
    return {ErrorCode::bad_argument, std::move(what), names_, "forms that one text can have"};
}

Result<TokenId> TokenChooser::sample_and_accept(size_t num_left) {
    constexpr int kMostTries = 64;
    bool was_too_late = false;
    for (int tries = 0;; ++tries) {
        if (tries == kMostTries) HOKKU_CHECK(drop_dead_ends(num_left));
        const auto is_allowed = [](float logit) { return logit != kForbidden; };
        // At first the mask has left some.
        if (tries > 0 && std::none_of(logits_.begin(), logits_.end(), is_allowed)) {
            const std::string missing = rest_.empty() ? constraint_->missing_text() : rest_;
            // With room for the words it is the other forms that have no place for them.
            if (!was_too_late || num_longest_tokens(missing) <= num_left) return contradiction();
            return too_late(missing, num_left);
        }
        HOKKU_TRY(const TokenId token, sampler_.sample(logits_));
        if (is_beside(token)) {
            is_only_opening_ = true;
            sampler_.accept(token);
            return token;
        }
        HOKKU_CHECK(constraint_->accept(token));
        const bool is_late = is_too_late(token, num_left);
        if (is_late || is_dead_end(token)) {
            was_too_late = was_too_late || is_late;
            constraint_->rollback(1);
            logits_[static_cast<size_t>(token)] = kForbidden;
            continue;
        }
        const size_t num_bytes = vocabulary_->tokenizer().token_bytes(token, false).size();
        has_insisted_ = !rest_.empty() && num_bytes >= rest_.size();
        rest_.erase(0, std::min(num_bytes, rest_.size()));
        followed_.push_back(token);
        sampler_.accept(token);
        return token;
    }
}

size_t TokenChooser::num_needed() const {
    if (!constraint_) return 0;
    return num_longest_tokens(rest_.empty() ? constraint_->missing_text() : rest_);
}

bool TokenChooser::is_finished(const ReplyReader& reply) {
    if (!constraint_ || reply.is_beside_answer()) return false;
    if (!follow(reply).ok()) return false;  // choose() will say so
    return !is_only_opening_ && constraint_->is_finished() && constraint_->is_complete();
}

bool TokenChooser::meets_constraints(const GenerationResult& result, bool is_cut) {
    if (!constraint_) return true;
    if (result.text.empty() && has_valid_call(result)) return true;
    if (!is_cut && !is_only_opening_ && !was_free_ && follows_exactly(result.text))
        return has_ended_ || constraint_->is_complete();
    const Result<bool> matches = constraint_->matches(result.text);
    return matches.ok() && *matches;
}

}  // namespace hokku
