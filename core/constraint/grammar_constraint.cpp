// SPDX-License-Identifier: Apache-2.0
#include "constraint/grammar_constraint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include "base/try.h"
#include "base/utf8.h"

namespace hokku::constraint {

namespace {

/// Frames handled for one answer; some 10 million a second on one core of a 2020s desktop.
constexpr uint64_t kWorkPerCall = 4'000'000;
constexpr size_t kMaxMemoryBytes = 64u << 20, kMaxLiveBytes = 48u << 20;

}  // namespace

GrammarConstraint::GrammarConstraint(std::shared_ptr<const Grammar> grammar,
                                     std::shared_ptr<const ConstraintVocabulary> vocabulary)
    : vocabulary_(std::move(vocabulary)),
      matcher_(std::move(grammar)),
      masks_(vocabulary_->trie()) {}

Result<std::unique_ptr<Constraint>> GrammarConstraint::create(
    std::shared_ptr<const Grammar> grammar,
    std::shared_ptr<const ConstraintVocabulary> vocabulary) {
    std::unique_ptr<GrammarConstraint> made(
        new GrammarConstraint(std::move(grammar), std::move(vocabulary)));
    made->matcher_.allow_work(kWorkPerCall);
    made->states_.push_back(made->matcher_.start());
    if (made->matcher_.is_exhausted()) return made->too_ambiguous();
    return std::unique_ptr<Constraint>(std::move(made));
}

Error GrammarConstraint::too_ambiguous() const {
    return {ErrorCode::limit_exceeded, "the grammar is too ambiguous to be followed",
            fmt::format("after {} tokens", num_accepted()),
            fmt::format("at most {} ways at a time", kWorkPerCall)};
}

/// Gives memory back before the limit; what is needed for the text so far stays.
Result<void> GrammarConstraint::make_room() {
    if (matcher_.memory_bytes() <= kMaxMemoryBytes) return {};
    const std::vector<StackSetId> known = masks_.known_sets();
    std::vector<StackSetId> roots = states_;
    roots.insert(roots.end(), known.begin(), known.end());
    matcher_.collect(roots);
    std::copy_n(roots.begin(), states_.size(), states_.begin());
    masks_.rename_sets(known,
                       {roots.begin() + static_cast<ptrdiff_t>(states_.size()), roots.end()});
    if (matcher_.memory_bytes() <= kMaxLiveBytes) return {};
    return Error{ErrorCode::limit_exceeded, "the text has become too long for its constraint",
                 fmt::format("after {} tokens", num_accepted()),
                 fmt::format("a state of at most {} MB", kMaxLiveBytes >> 20)};
}

Result<void> GrammarConstraint::allowed_tokens(TokenMask& mask) {
    if (has_ended())
        return Error{ErrorCode::bad_argument, "the generation has ended", "",
                     "no more tokens, or a rollback"};
    HOKKU_CHECK(make_room());
    mask.clear();
    matcher_.allow_work(kWorkPerCall);
    masks_.add_allowed(matcher_, states_.back(), mask);
    if (matcher_.is_exhausted()) {
        mask.clear();
        return too_ambiguous();
    }
    for (const TokenId id : vocabulary_->trie().end_tokens()) {
        if (is_complete()) {
            mask.set(static_cast<size_t>(id));
        } else {
            mask.reset(static_cast<size_t>(id));
        }
    }
    return {};
}

Result<void> GrammarConstraint::accept(TokenId token) {
    const TokenTrie& trie = vocabulary_->trie();
    const auto refuse = [&]() {
        const bool is_known = token >= 0 && static_cast<size_t>(token) < vocabulary_->num_tokens();
        const std::string text =
            is_known ? to_printable(vocabulary_->tokenizer().token_text(token), 40) : "none";
        return Error{ErrorCode::bad_argument,
                     fmt::format("token {} (\"{}\") is not allowed here", token, text),
                     fmt::format("after {} tokens", num_accepted()), "one of the allowed tokens"};
    };
    if (has_ended() || token < 0 || static_cast<size_t>(token) >= vocabulary_->num_tokens())
        return refuse();
    if (vocabulary_->ends_generation(token)) {
        if (!is_complete()) return refuse();
        states_.push_back(StackPool::kNothing);
        return {};
    }
    HOKKU_CHECK(make_room());
    matcher_.allow_work(kWorkPerCall);
    const std::string_view bytes = trie.bytes(token);
    StackSetId state = bytes.empty() ? StackPool::kNothing : states_.back();
    for (const char byte : bytes) {
        state = matcher_.step(state, static_cast<uint8_t>(byte));
        if (state == StackPool::kNothing) break;
    }
    const StackSetId named =
        matcher_.step_token(states_.back(), static_cast<uint32_t>(token), !bytes.empty());
    state = matcher_.unite(state, named);
    if (matcher_.is_exhausted()) return too_ambiguous();
    if (state == StackPool::kNothing) return refuse();
    states_.push_back(state);
    return {};
}

void GrammarConstraint::rollback(size_t num_tokens) {
    states_.resize(states_.size() - std::min(num_tokens, num_accepted()));
}

bool GrammarConstraint::is_complete() const {
    return matcher_.is_complete(states_.back());
}

bool GrammarConstraint::is_finished() const {
    return has_ended() || (is_complete() && matcher_.pool().frames(states_.back()).empty());
}

bool GrammarConstraint::may_contain(std::string_view text) const {
    const Grammar& grammar = matcher_.grammar();
    std::array<bool, 256> occurs{};
    for (const Position& position : grammar.positions) {
        if (position.kind == PositionKind::token) return true;
        if (position.kind != PositionKind::bytes) continue;
        for (uint32_t i = 0; i < position.num; ++i) {
            const ByteEdge& edge = grammar.edges[position.first + i];
            std::fill(occurs.begin() + edge.first, occurs.begin() + edge.last + 1, true);
        }
    }
    return std::all_of(text.begin(), text.end(),
                       [&](char c) { return occurs[static_cast<uint8_t>(c)]; });
}

std::bitset<256> GrammarConstraint::bytes_to_come() const {
    if (has_ended()) return {};
    if (!bytes_to_come_) bytes_to_come_ = std::make_shared<const BytesToCome>(matcher_.grammar());
    std::bitset<256> bytes;
    // All stacks down to their ends; many share what lies below.
    std::vector<StackSetId> sets{states_.back()};
    std::unordered_set<StackSetId> seen;
    while (!sets.empty() && !bytes.all()) {
        const StackSetId set = sets.back();
        sets.pop_back();
        if (!seen.insert(set).second) continue;
        for (const Frame& frame : matcher_.pool().frames(set)) {
            bytes |= bytes_to_come_->from(frame.position);
            sets.push_back(frame.below);
        }
    }
    return bytes;
}

Result<bool> GrammarConstraint::matches(std::string_view text) {
    constexpr size_t kBytesPerCall = 256;
    const size_t num_states = states_.size();
    states_.push_back(states_.front());  // where make_room() sees it
    Result<bool> matches = true;
    for (size_t i = 0; i < text.size() && states_.back() != StackPool::kNothing; ++i) {
        if (i % kBytesPerCall == 0) {
            if (auto room = make_room(); !room.ok()) {
                matches = room.error();
                break;
            }
            matcher_.allow_work(kWorkPerCall);
        }
        states_.back() = matcher_.step(states_.back(), static_cast<uint8_t>(text[i]));
        if (matcher_.is_exhausted()) {
            matches = too_ambiguous();
            break;
        }
    }
    if (matches.ok()) matches = !has_ended() && is_complete();
    states_.resize(num_states);
    return matches;
}

std::unique_ptr<Constraint> GrammarConstraint::clone() const {
    std::unique_ptr<GrammarConstraint> copy(
        new GrammarConstraint(matcher_.shared_grammar(), vocabulary_));
    copy->matcher_ = matcher_;
    copy->states_ = states_;
    return copy;
}

}  // namespace hokku::constraint
