// SPDX-License-Identifier: Apache-2.0
#include "engine/token_chooser.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "base/try.h"
#include "base/utf8.h"
#include "sampling/check_logits.h"

namespace hokku {
namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

Result<std::unique_ptr<Constraint>> make_constraints(
    const std::vector<ConstraintSpec>& specs,
    const std::shared_ptr<const ConstraintVocabulary>& vocabulary) {
    std::vector<std::unique_ptr<Constraint>> parts;
    for (const ConstraintSpec& spec : specs) {
        HOKKU_TRY(parts.emplace_back(), make_constraint(spec, vocabulary));
    }
    return combine_constraints(std::move(parts));
}

/// Tokens that the text takes when it is cut into the longest ones.
size_t num_longest_tokens(const ConstraintVocabulary& vocabulary, std::string_view text) {
    size_t count = 0;
    while (!text.empty()) {
        const std::vector<TokenId> tokens = vocabulary.beginnings(text);
        if (tokens.empty()) return std::numeric_limits<size_t>::max();
        text.remove_prefix(vocabulary.tokenizer().token_bytes(tokens.back(), false).size());
        ++count;
    }
    return count;
}

}  // namespace

Result<TokenChooser> TokenChooser::create(const GenerationRequest& request, ModelSession& session) {
    const ModelInfo& info = session.loaded.info;
    HOKKU_TRY(Sampler sampler,
              Sampler::create(request.sampling, info.num_vocab, info.context_tokens + 1,
                              session.loaded.text->tokenizer.get()));
    TokenChooser chooser(std::move(sampler));
    if (request.constraints.empty()) return chooser;
    if (request.ignore_end)
        return Error{ErrorCode::bad_argument, "constraints need the end of a text", "ignore_end",
                     "one of the two"};
    HOKKU_TRY(chooser.vocabulary_, session.constraint_vocabulary());
    HOKKU_TRY(chooser.constraint_, make_constraints(request.constraints, chooser.vocabulary_));
    chooser.mask_.emplace(info.num_vocab);
    chooser.logits_.resize(info.num_vocab);
    return chooser;
}

Result<TokenId> TokenChooser::choose(std::span<const float> logits, size_t num_left, bool is_free) {
    if (constraint_ && !is_free) return choose_allowed(logits, num_left);
    HOKKU_TRY(const TokenId token, sampler_.sample(logits));
    sampler_.accept(token);
    return token;
}

Result<TokenId> TokenChooser::choose_allowed(std::span<const float> logits, size_t num_left) {
    HOKKU_CHECK(check_logits(logits));  // of the tokens that are not allowed, too
    HOKKU_CHECK(constraint_->allowed_tokens(*mask_));
    HOKKU_CHECK(insist_on_words(logits, num_left));
    std::copy(logits.begin(), logits.end(), logits_.begin());
    HOKKU_CHECK(mask_logits(*mask_, logits_));
    HOKKU_TRY(const TokenId token, sample_and_accept());
    has_ended_ = vocabulary_->ends_generation(token);
    return token;
}

Result<void> TokenChooser::insist_on_words(std::span<const float> logits, size_t num_left) {
    if (rest_.empty()) {
        std::string missing = constraint_->missing_text();
        if (missing.empty()) return {};
        const size_t num_needed = num_longest_tokens(*vocabulary_, missing);
        if (num_needed > num_left)
            return Error{ErrorCode::limit_exceeded,
                         fmt::format("{} tokens are left, and \"{}\" is still missing", num_left,
                                     to_printable(missing)),
                         "required words", fmt::format("at least {} tokens", num_needed)};
        const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
        const bool would_end = vocabulary_->ends_generation(static_cast<TokenId>(best));
        if (num_needed < num_left && !would_end) return {};
        rest_ = std::move(missing);
    }
    std::vector<TokenId> beginnings = vocabulary_->beginnings(rest_);
    if (num_longest_tokens(*vocabulary_, rest_) >= num_left)
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

// Two kinds of tokens are taken back: one that leaves nothing but an end that is not allowed (the
// quote that closes a string in which a word is missing), and a letter right behind the words that
// were insisted on, which would make the last one another word.
Result<TokenId> TokenChooser::sample_and_accept() {
    constexpr int kMostTries = 64;
    for (int tries = 0;; ++tries) {
        HOKKU_TRY(const TokenId token, sampler_.sample(logits_));
        HOKKU_CHECK(constraint_->accept(token));
        const bool is_stuck = constraint_->is_finished() && !constraint_->is_complete() &&
                              !vocabulary_->ends_generation(token);
        const bool is_spoilt = has_insisted_ && !constraint_->missing_text().empty();
        if ((is_stuck || is_spoilt) && tries < kMostTries) {
            constraint_->rollback(1);
            logits_[static_cast<size_t>(token)] = kForbidden;
            continue;
        }
        const size_t num_bytes = vocabulary_->tokenizer().token_bytes(token, false).size();
        has_insisted_ = !rest_.empty() && num_bytes >= rest_.size();
        rest_.erase(0, std::min(num_bytes, rest_.size()));
        sampler_.accept(token);
        return token;
    }
}

size_t TokenChooser::num_needed() const {
    if (!constraint_) return 0;
    return num_longest_tokens(*vocabulary_, rest_.empty() ? constraint_->missing_text() : rest_);
}

bool TokenChooser::is_finished() const {
    return constraint_ && constraint_->is_finished() && constraint_->is_complete();
}

bool TokenChooser::meets_constraints() const {
    return !constraint_ || has_ended_ || constraint_->is_complete();
}

}  // namespace hokku
