// SPDX-License-Identifier: Apache-2.0
#include "engine/draft_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <new>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "base/try.h"
#include "base/utf8.h"
#include "engine/context_growth.h"

namespace hokku {
namespace {

Error differs(std::string what, std::string draft, std::string model) {
    return {ErrorCode::unsupported,
            fmt::format("the draft model does not fit the model: {} is {}", what, draft),
            "draft model", std::move(model)};
}

Result<void> check_special(std::string_view name, std::optional<TokenId> draft,
                           std::optional<TokenId> model) {
    const auto text = [](std::optional<TokenId> id) {
        return id ? std::to_string(*id) : std::string("absent");
    };
    if (draft == model) return {};
    return differs(fmt::format("the {} token", name), text(draft), text(model));
}

/// A step of the draft by one of the model, as far as they are bound by memory.
double cost_of(const LoadedModel& draft, const LoadedModel& model) {
    constexpr double kUsual = 0.15;
    if (draft.info.bytes_per_token == 0 || model.info.bytes_per_token == 0) return kUsual;
    return static_cast<double>(draft.info.bytes_per_token) /
           static_cast<double>(model.info.bytes_per_token);
}

struct Best {
    TokenId token = 0;
    float margin = 0;  ///< Over the second best.
};

/// In independent columns, which compilers make vectors of.
Best find_best(std::span<const float> logits) {
    constexpr size_t kColumns = 16;
    constexpr float kNone = -std::numeric_limits<float>::infinity();
    std::array<float, kColumns> first, second;
    first.fill(kNone);
    second.fill(kNone);
    const auto meet = [&](size_t column, float value) {
        const float lower = value < first[column] ? value : first[column];
        second[column] = lower > second[column] ? lower : second[column];
        first[column] = value > first[column] ? value : first[column];
    };
    size_t i = 0;
    for (; i + kColumns <= logits.size(); i += kColumns)
        for (size_t column = 0; column < kColumns; ++column) meet(column, logits[i + column]);
    for (; i < logits.size(); ++i) meet(0, logits[i]);
    const float best = *std::max_element(first.begin(), first.end());
    float next = *std::max_element(second.begin(), second.end());
    size_t num_best = 0;
    for (const float value : first) {
        if (value == best && num_best++ == 0) continue;
        next = std::max(next, value);
    }
    const auto place = std::find(logits.begin(), logits.end(), best);
    return {static_cast<TokenId>(place - logits.begin()), best - next};
}

}  // namespace

Result<void> check_draft_vocabulary(const Tokenizer& draft, const Tokenizer& model) {
    const SpecialTokens& its = draft.special();
    const SpecialTokens& own = model.special();
    const auto count = static_cast<TokenId>(std::min(draft.num_tokens(), model.num_tokens()));
    for (TokenId id = 0; id < count; ++id) {
        // Names of places that no token has are made up by whoever made the file.
        if (draft.kind(id) == TokenKind::unused || model.kind(id) == TokenKind::unused) continue;
        const std::string_view text = draft.token_text(id), wanted = model.token_text(id);
        if (text != wanted)
            return differs(fmt::format("token {}", id),
                           fmt::format("\"{}\"", to_printable(text, 40)),
                           fmt::format("\"{}\"", to_printable(wanted, 40)));
        const bool is_control = draft.kind(id) == TokenKind::control;
        if (is_control != (model.kind(id) == TokenKind::control))
            return differs(fmt::format("token {}", id), is_control ? "a control token" : "text",
                           is_control ? "text" : "a control token");
    }
    HOKKU_CHECK(check_special("BOS", its.bos, own.bos));
    return check_special("EOS", its.eos, own.eos);
}

DraftModel::DraftModel(LoadedModel& draft, const LoadedModel& model)
    : draft_(draft),
      is_timed_(model.are_guesses_timed),
      num_vocab_(std::min(draft.info.num_vocab, model.info.num_vocab)),
      budget_(cost_of(draft, model)),
      blocks_(draft.num_kv_blocks) {
    tokens_.reserve(size_t{draft.info.context_tokens} + kMostGuesses);
    std::iota(blocks_.begin(), blocks_.end(), 0u);
}

GuessOffer DraftModel::offer(size_t most, const StepTimes& times) {
    return has_failed_ || most == 0 ? GuessOffer{} : budget_.offer(most, times);
}

size_t DraftModel::guess(std::span<const TokenId> prompt, std::span<const TokenId> tail,
                         const GuessOffer& offer, const StepTimes& times, std::span<TokenId> out,
                         const std::stop_token& stop) {
    const size_t length = prompt.size() + tail.size();
    size_t count = std::min({offer.num_tokens, out.size(), margins_.size()});
    if (length + count > draft_.info.context_tokens || !follow(prompt, tail)) return 0;
    double reached = 1;
    for (size_t i = 0; i < count; ++i) {
        const auto logits = evaluate(stop);
        if (!logits.ok()) {
            has_failed_ = logits.error().code != ErrorCode::cancelled;
            return 0;
        }
        const Best best = find_best(logits->first(num_vocab_));
        if (!budget_.is_worth_row(i, best.margin, offer.gain, times, reached)) return i;
        out[i] = best.token;
        margins_[i] = best.margin;
        tokens_.push_back(best.token);
    }
    return count;
}

/// Brings tokens_ in line with the text; at least the last one is left to be evaluated. False: the
/// draft does not know one of them.
bool DraftModel::follow(std::span<const TokenId> prompt, std::span<const TokenId> tail) {
    size_t same = 0;
    for (const auto part : {prompt, tail}) {
        const auto stored = std::span(tokens_).first(num_stored_).subspan(same);
        const size_t most = std::min(stored.size(), part.size());
        const auto parting = std::mismatch(
            part.begin(), part.begin() + static_cast<ptrdiff_t>(most), stored.begin());
        const auto equal = static_cast<size_t>(parting.first - part.begin());
        same += equal;
        if (equal < part.size()) break;
    }
    num_stored_ = std::min(same, prompt.size() + tail.size() - 1);
    tokens_.resize(num_stored_);
    const size_t num_of_prompt = std::min(num_stored_, prompt.size());
    for (const auto rest :
         {prompt.subspan(num_of_prompt), tail.subspan(num_stored_ - num_of_prompt)}) {
        for (const TokenId token : rest)
            if (static_cast<size_t>(token) >= draft_.info.num_vocab) return false;
        tokens_.insert(tokens_.end(), rest.begin(), rest.end());
    }
    return true;
}

/// What is not stored yet of tokens_; logits of the last one.
Result<std::span<const float>> DraftModel::evaluate(const std::stop_token& stop) {
    using Clock = std::chrono::steady_clock;
    std::span<const float> logits;
    const size_t num_new = tokens_.size() - num_stored_;
    const auto start = Clock::now();
    while (num_stored_ < tokens_.size()) {
        const auto count = static_cast<uint32_t>(
            std::min(tokens_.size() - num_stored_, size_t{draft_.max_step_tokens}));
        const StepSequence sequence{.first_row = 0,
                                    .num_rows = count,
                                    .num_cached = static_cast<uint32_t>(num_stored_),
                                    .blocks = blocks_};
        const uint32_t last_row = count - 1;
        const bool is_last = num_stored_ + count == tokens_.size();
        HOKKU_TRY(logits,
                  draft_.backend->run({.tokens = std::span(tokens_).subspan(num_stored_, count),
                                       .sequences = {&sequence, 1},
                                       .logit_rows = std::span(&last_row, 1).first(is_last ? 1 : 0),
                                       .num_best = 2,
                                       .stop = stop}));
        num_stored_ += count;
    }
    if (is_timed_ && num_new == 1)
        budget_.note_draft_step(std::chrono::duration<double>(Clock::now() - start).count());
    return logits;
}

void DraftModel::note_guess(size_t index, bool was_right) {
    budget_.note_guess(margins_[index], was_right);
}

void DraftModel::grow(uint32_t context_tokens) {
    ModelInfo& info = draft_.info;
    context_tokens = std::min(context_tokens, longest_context(draft_));
    if (context_tokens <= info.context_tokens) return;
    const uint32_t num_blocks = context_tokens / kKvBlockTokens + 2;
    try {
        tokens_.reserve(size_t{context_tokens} + kMostGuesses);
        blocks_.reserve(num_blocks);
        if (!draft_.backend->grow_kv(num_blocks).ok()) return;
    } catch (const std::bad_alloc&) {
        return;
    }
    draft_.num_kv_blocks = num_blocks;
    info.context_tokens = context_tokens;
    blocks_.resize(num_blocks);
    std::iota(blocks_.begin(), blocks_.end(), 0u);
}

}  // namespace hokku
