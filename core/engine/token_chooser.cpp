// SPDX-License-Identifier: Apache-2.0
#include "engine/token_chooser.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/try.h"
#include "base/utf8.h"
#include "constraint/lookahead.h"
#include "sampling/check_logits.h"
#include "text/reply/reply_buffer.h"

namespace hokku {
namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

using Parts = std::vector<std::unique_ptr<Constraint>>;

std::string quoted(const std::vector<std::string>& words) {
    constexpr size_t kMostWords = 4;
    std::string text;
    for (size_t i = 0; i < std::min(words.size(), kMostWords); ++i)
        text += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", to_printable(words[i], 40));
    return words.size() > kMostWords ? text + ", .." : text;
}

/// "--require-like" words for the kind, for errors.
std::string name_of(const ConstraintSpec& spec) {
    switch (spec.kind) {
        case ConstraintKind::json:
            return "JSON";
        case ConstraintKind::json_schema:
            return "the JSON schema";
        case ConstraintKind::gbnf:
            return "the grammar";
        case ConstraintKind::regex:
            return fmt::format("the regular expression \"{}\"", to_printable(spec.text, 40));
        case ConstraintKind::choice:
            return "the choices " + quoted(spec.words);
        case ConstraintKind::required_words:
            return "the required words " + quoted(spec.words);
    }
    return "an unknown form";
}

std::string names_of(const std::vector<ConstraintSpec>& specs) {
    std::string text;
    for (size_t i = 0; i < specs.size(); ++i)
        text += (i == 0 ? "" : i + 1 == specs.size() ? " and " : ", ") + name_of(specs[i]);
    return text;
}

/// Only the choices that have every other form, so that the model is not led into one that has not.
Result<void> prune_choices(std::vector<ConstraintSpec>& specs, const Parts& parts) {
    for (size_t i = 0; i < specs.size(); ++i) {
        if (specs[i].kind != ConstraintKind::choice) continue;
        std::vector<std::string> fitting;
        for (const std::string& word : specs[i].words) {
            bool fits = true;
            for (size_t k = 0; k < parts.size() && fits; ++k) {
                if (k == i) continue;
                HOKKU_TRY(fits, parts[k]->matches(word));
            }
            if (fits) fitting.push_back(word);
        }
        if (fitting.empty())
            return Error{ErrorCode::bad_argument, "no choice has the other forms asked for",
                         names_of(specs), "forms that one text can have"};
        specs[i].words = std::move(fitting);
    }
    return {};
}

/// Words that another form has no letters for need not be waited for.
Result<void> check_words(const std::vector<ConstraintSpec>& specs, const Parts& parts) {
    for (const ConstraintSpec& spec : specs) {
        if (spec.kind != ConstraintKind::required_words || spec.ignore_case) continue;
        for (const std::string& word : spec.words) {
            for (size_t i = 0; i < parts.size(); ++i) {
                if (parts[i]->may_contain(word)) continue;
                return Error{
                    ErrorCode::bad_argument,
                    "the forms asked for contradict each other: no text of one form "
                    "contains a word that is required",
                    fmt::format("{} and \"{}\"", name_of(specs[i]), to_printable(word, 80)),
                    "forms that one text can have"};
            }
        }
    }
    return {};
}

Result<std::unique_ptr<Constraint>> make_constraints(
    std::vector<ConstraintSpec> specs,
    const std::shared_ptr<const ConstraintVocabulary>& vocabulary) {
    Parts parts;
    for (const ConstraintSpec& spec : specs) {
        HOKKU_TRY(parts.emplace_back(), make_constraint(spec, vocabulary));
    }
    if (parts.size() > 1) {
        HOKKU_CHECK(prune_choices(specs, parts));
        HOKKU_CHECK(check_words(specs, parts));
        for (size_t i = 0; i < specs.size(); ++i) {
            if (specs[i].kind != ConstraintKind::choice) continue;
            HOKKU_TRY(parts[i], make_constraint(specs[i], vocabulary));
        }
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
    chooser.names_ = names_of(request.constraints);
    chooser.num_parts_ = request.constraints.size();
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
    return choose_allowed(logits, num_left,
                          reply != nullptr ? reply->opening_rest() : std::string_view());
}

Result<TokenId> TokenChooser::choose_free(std::span<const float> logits, const ReplyReader& reply) {
    if (std::exchange(is_at_start_, false)) {
        // What was followed as an answer has turned out to be the marker of a thought.
        constraint_->rollback(constraint_->num_accepted());
        rest_.clear();
        is_only_opening_ = has_insisted_ = false;
    }
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

/// The marker's tokens may come beside those that the constraint allows.
Result<void> TokenChooser::allow_opening(std::string_view marker) {
    opening_.clear();
    is_at_start_ = !marker.empty();
    if (marker.empty()) return {};
    if (is_only_opening_) mask_->clear();
    std::vector<TokenId> tokens;
    if (marker.front() == reply::kControlSign) {
        const std::string text = reply::without_control_signs(marker);
        HOKKU_TRY(tokens, vocabulary_->tokenizer().encode(
                              text, {.parse_special = true, .add_special = false}));
        tokens.resize(std::min<size_t>(tokens.size(), 1));
    } else {
        tokens = vocabulary_->beginnings(marker);
        // Where one token is all of it, other beginnings are meant otherwise.
        const auto is_whole = [&](TokenId token) {
            return vocabulary_->tokenizer().token_bytes(token, false).size() == marker.size();
        };
        if (!tokens.empty() && is_whole(tokens.back()))
            tokens.erase(tokens.begin(), tokens.end() - 1);
    }
    for (const TokenId token : tokens) {
        if (mask_->test(static_cast<size_t>(token))) continue;
        mask_->set(static_cast<size_t>(token));
        opening_.push_back(token);
    }
    return {};
}

bool TokenChooser::is_opening(TokenId token) const {
    return std::find(opening_.begin(), opening_.end(), token) != opening_.end();
}

Result<TokenId> TokenChooser::choose_allowed(std::span<const float> logits, size_t num_left,
                                             std::string_view opening) {
    HOKKU_CHECK(check_logits(logits));  // of the tokens that are not allowed, too
    HOKKU_CHECK(constraint_->allowed_tokens(*mask_));
    if (!is_only_opening_) HOKKU_CHECK(insist_on_words(logits, num_left));
    HOKKU_CHECK(allow_opening(rest_.empty() ? opening : std::string_view()));
    auto chosen = choose_from_mask(logits, num_left);
    if (!chosen.ok() && !rest_.empty() && chosen.error().code == ErrorCode::bad_argument) {
        // The words do not lead on from here; something else may.
        rest_.clear();
        HOKKU_CHECK(constraint_->allowed_tokens(*mask_));
        HOKKU_CHECK(allow_opening(opening));
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

Result<void> TokenChooser::insist_on_words(std::span<const float> logits, size_t num_left) {
    if (rest_.empty()) {
        std::string missing = constraint_->missing_text();
        if (missing.empty()) return {};
        const size_t num_needed = num_longest_tokens(*vocabulary_, missing);
        if (num_needed > num_left) return too_late(missing, num_left);
        const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
        const bool would_end = vocabulary_->ends_generation(static_cast<TokenId>(best));
        // Behind another token they may have to be set apart.
        const size_t num_later =
            missing.front() == ' '
                ? num_needed
                : std::max(num_needed, num_longest_tokens(*vocabulary_, " " + missing));
        if (num_later < num_left && !would_end) return {};
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
    return !missing.empty() && num_longest_tokens(*vocabulary_, missing) > num_left - 1;
}

Error TokenChooser::too_late(std::string_view missing, size_t num_left) const {
    return {ErrorCode::limit_exceeded,
            fmt::format("{} tokens are left, and \"{}\" is still missing", num_left,
                        to_printable(missing)),
            "required words",
            fmt::format("at least {} tokens", num_longest_tokens(*vocabulary_, missing))};
}

/// After some tries by chance: looks at all that are left.
Result<void> TokenChooser::drop_dead_ends(size_t num_left) {
    for (size_t id = 0; id < logits_.size(); ++id) {
        if (logits_[id] == kForbidden) continue;
        if (is_opening(static_cast<TokenId>(id))) continue;
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
        const bool is_any_left = std::any_of(logits_.begin(), logits_.end(),
                                             [](float logit) { return logit != kForbidden; });
        if (tries > 0 && !is_any_left && was_too_late)
            return too_late(rest_.empty() ? constraint_->missing_text() : rest_, num_left);
        if (tries > 0 && !is_any_left) return contradiction();
        HOKKU_TRY(const TokenId token, sampler_.sample(logits_));
        if (is_opening(token)) {
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
        sampler_.accept(token);
        return token;
    }
}

size_t TokenChooser::num_needed() const {
    if (!constraint_) return 0;
    return num_longest_tokens(*vocabulary_, rest_.empty() ? constraint_->missing_text() : rest_);
}

bool TokenChooser::is_finished() const {
    return constraint_ && !is_only_opening_ && constraint_->is_finished() &&
           constraint_->is_complete();
}

bool TokenChooser::has_form(std::string_view text) {
    if (!constraint_) return true;
    const Result<bool> matches = constraint_->matches(text);
    return matches.ok() && *matches;
}

bool TokenChooser::meets_constraints() const {
    if (!constraint_ || has_ended_) return true;
    return !is_only_opening_ && constraint_->is_complete();
}

}  // namespace hokku
