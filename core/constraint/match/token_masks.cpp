// SPDX-License-Identifier: Apache-2.0
#include "constraint/match/token_masks.h"

#include <algorithm>
#include <utility>

namespace hokku::constraint {

namespace {

constexpr uint32_t kAnyLength = UINT32_MAX;

/// Replaces counters by "far from the bounds" where they are. Returns the number of bytes within
/// which no replaced counter can reach a bound: a round of a repetition takes a byte at least.
/// kAnyLength when there was none to replace.
uint32_t move_far(const Grammar& grammar, std::vector<Frame>& frames) {
    uint32_t num_bytes = kAnyLength;
    for (Frame& frame : frames) {
        const Rule& rule = grammar.rules[grammar.positions[frame.position].rule];
        if (!rule.is_counted || frame.count >= kFarInside) continue;
        if (frame.count < rule.min_count) {
            num_bytes = std::min(num_bytes, rule.min_count - frame.count);
            frame.count = kFarBelow;
        } else if (rule.max_count != kUnbounded && frame.count < rule.max_count) {
            num_bytes = std::min(num_bytes, rule.max_count - frame.count);
            frame.count = kFarInside;
        }
    }
    return num_bytes;
}

}  // namespace

size_t TokenMasks::Answer::memory_bytes() const {
    return sizeof(Answer) + words.capacity() * sizeof(uint64_t) +
           tokens.capacity() * sizeof(TokenId) + after_exit.capacity() * sizeof(uint32_t) +
           exit_groups.capacity() * sizeof(exit_groups[0]);
}

TokenMasks::TokenMasks(const TokenTrie& trie) : trie_(trie), path_(trie.max_depth() + 1) {}

/// Calls visit(node, state) for the nodes in [first, end), which are siblings with their subtrees,
/// that can be reached from `from`, the state at their parent. Skips subtrees without tokens of
/// `min_bytes` or more.
template <class Visit>
void TokenMasks::walk(Matcher& matcher, uint32_t first, uint32_t end, StackSetId from,
                      uint32_t min_bytes, const Visit& visit) {
    if (first >= end) return;
    const TrieNode* nodes = trie_.nodes().data();
    path_[nodes[first].depth - 1u] = from;
    for (uint32_t i = first; i < end;) {
        const TrieNode& node = nodes[i];
        if (node.max_depth < min_bytes) {
            i = node.end;
            continue;
        }
        const StackSetId state = matcher.step(path_[node.depth - 1u], node.byte);
        if (state == StackPool::kNothing) {
            i = node.end;
            continue;
        }
        path_[node.depth] = state;
        visit(i, state);
        ++i;
    }
}

void TokenMasks::add_allowed(Matcher& matcher, StackSetId state, TokenMask& mask) {
    const auto words = mask.words();
    for (const Recent& recent : recent_) {
        if (recent.state != state) continue;
        for (size_t i = 0; i < recent.words.size(); ++i) words[i] |= recent.words[i];
        return;
    }
    if (answer_bytes_ > kMaxAnswerBytes) forget();
    TokenMask own(trie_.text_tokens().size());
    std::vector<Frame> frames(matcher.pool().frames(state).begin(),
                              matcher.pool().frames(state).end());
    std::sort(frames.begin(), frames.end(),
              [](const Frame& a, const Frame& b) { return a.below < b.below; });
    size_t num_groups = 0;
    for (size_t i = 0; i < frames.size(); ++i)
        num_groups += i == 0 || frames[i].below != frames[i - 1].below;
    if (num_groups > kMaxGroups) {
        walk(matcher, 1, trie_.end(), state, 1, [&](uint32_t node, StackSetId) {
            for (const TokenId id : trie_.tokens(node)) own.set(static_cast<size_t>(id));
        });
    } else {
        for (size_t i = 0; i < frames.size();) {
            const StackSetId below = frames[i].below;
            std::vector<Frame> tops;
            for (; i < frames.size() && frames[i].below == below; ++i)
                tops.push_back({frames[i].position, frames[i].count, StackPool::kUnknown});
            const Answer* known = answer(matcher, matcher.pool().make(tops, false, false));
            if (known == nullptr) return;
            add_answer(*known, kAnyLength, own);
            if (!known->after_exit.empty() || known->base != nullptr)
                add_beyond(matcher, *known, kAnyLength, matcher.after(below), own);
        }
    }
    add_named(matcher, state, own);
    for (size_t i = 0; i < own.words().size(); ++i) words[i] |= own.words()[i];
    if (matcher.is_exhausted()) return;
    if (recent_.size() < kMaxRecent) recent_.emplace_back();
    Recent& oldest = recent_[next_recent_++ % kMaxRecent];
    oldest.state = state;
    oldest.words.assign(own.words().begin(), own.words().end());
}

/// Adds the tokens of an answer that are not longer than max_bytes.
void TokenMasks::add_answer(const Answer& answer, uint32_t max_bytes, TokenMask& mask) {
    if (answer.base != nullptr)
        add_answer(*answer.base, std::min(answer.base_bytes, max_bytes), mask);
    const auto words = mask.words();
    if (max_bytes >= trie_.max_depth()) {
        for (size_t i = 0; i < answer.words.size(); ++i) words[i] |= answer.words[i];
        for (const TokenId id : answer.tokens) mask.set(static_cast<size_t>(id));
        return;
    }
    const TokenMask& short_ones = tokens_up_to(max_bytes);
    for (size_t i = 0; i < answer.words.size(); ++i)
        words[i] |= answer.words[i] & short_ones.words()[i];
    for (const TokenId id : answer.tokens)
        if (short_ones.test(static_cast<size_t>(id))) mask.set(static_cast<size_t>(id));
}

const TokenMask& TokenMasks::tokens_up_to(uint32_t max_bytes) {
    while (up_to_.size() <= max_bytes) up_to_.emplace_back(0);
    TokenMask& known = up_to_[max_bytes];
    if (known.size() == 0) {
        known = TokenMask(trie_.text_tokens().size());
        for (size_t id = 0; id < known.size(); ++id)
            if (trie_.bytes(static_cast<TokenId>(id)).size() <= max_bytes) known.set(id);
    }
    return known;
}

/// The tokens that go on in `state` beyond the end of the rule on top, where that end is not more
/// than max_bytes deep.
void TokenMasks::add_beyond(Matcher& matcher, const Answer& answer, uint32_t max_bytes,
                            StackSetId state, TokenMask& mask) {
    if (state == StackPool::kNothing) return;
    if (answer.base != nullptr)
        add_beyond(matcher, *answer.base, std::min(answer.base_bytes, max_bytes), state, mask);
    const auto nodes = trie_.nodes();
    const auto add_tokens = [&](uint32_t node, StackSetId) {
        for (const TokenId id : trie_.tokens(node)) mask.set(static_cast<size_t>(id));
    };
    size_t i = 0;
    for (const auto& [byte, group_end] : answer.exit_groups) {
        const StackSetId next = matcher.step(state, byte);
        if (next == StackPool::kNothing) {
            i = group_end;
            continue;
        }
        for (; i < group_end; ++i) {
            const uint32_t node = answer.after_exit[i];
            if (nodes[node].depth - 1u > max_bytes) continue;
            add_tokens(node, next);
            walk(matcher, node + 1, nodes[node].end, next, 1, add_tokens);
        }
    }
}

/// The tokens that the grammar names as such.
void TokenMasks::add_named(Matcher& matcher, StackSetId state, TokenMask& mask) const {
    const Grammar& grammar = matcher.grammar();
    const auto all_text = trie_.text_tokens().words();
    for (const Frame& frame : matcher.pool().frames(state)) {
        const Position& position = grammar.positions[frame.position];
        if (position.kind != PositionKind::token) continue;
        if (position.num == 0) {
            mask.set(position.first);
            continue;
        }
        const bool was_set = mask.test(position.first);
        for (size_t i = 0; i < all_text.size(); ++i) mask.words()[i] |= all_text[i];
        if (!was_set) mask.reset(position.first);
    }
}

/// Null where the matcher is exhausted: only what holds for good is kept.
const TokenMasks::Answer* TokenMasks::answer(Matcher& matcher, StackSetId tops) {
    if (matcher.is_exhausted()) return nullptr;
    const auto found = answers_.find(tops);
    if (found != answers_.end()) return found->second.get();
    std::unique_ptr<Answer> computed = compute(matcher, tops);
    if (computed == nullptr) return nullptr;
    answer_bytes_ += computed->memory_bytes();
    return answers_.emplace(tops, std::move(computed)).first->second.get();
}

/// Null where the matcher is exhausted.
std::unique_ptr<TokenMasks::Answer> TokenMasks::compute(Matcher& matcher, StackSetId tops) {
    std::vector<Frame> far(matcher.pool().frames(tops).begin(), matcher.pool().frames(tops).end());
    const uint32_t num_bytes = move_far(matcher.grammar(), far);
    const Answer* base = nullptr;
    if (num_bytes != kAnyLength) base = answer(matcher, matcher.pool().make(far, false, false));
    tokens_.clear();
    exits_.clear();
    const uint32_t min_bytes = base == nullptr ? 1 : num_bytes + 1;
    if (min_bytes <= trie_.max_depth()) collect_walk(matcher, tops, min_bytes);
    if (matcher.is_exhausted()) return nullptr;
    auto own = std::make_unique<Answer>(take_collected());
    own->base = base;
    own->base_bytes = num_bytes;
    return own;
}

/// Collects the tokens of at least `min_bytes` that the tops allow, and the exits that deep.
void TokenMasks::collect_walk(Matcher& matcher, StackSetId tops, uint32_t min_bytes) {
    const auto nodes = trie_.nodes();
    walk(matcher, 1, trie_.end(), tops, min_bytes, [&](uint32_t node, StackSetId state) {
        if (nodes[node].depth < min_bytes) return;
        const auto tokens = trie_.tokens(node);
        tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
        if (!matcher.exits(state)) return;
        for (uint32_t child = node + 1; child < nodes[node].end; child = nodes[child].end)
            exits_.push_back(child);
    });
}

TokenMasks::Answer TokenMasks::take_collected() {
    Answer answer;
    const size_t num_vocab = trie_.text_tokens().size();
    if (tokens_.size() > num_vocab / 32) {
        TokenMask mask(num_vocab);
        for (const TokenId id : tokens_) mask.set(static_cast<size_t>(id));
        answer.words.assign(mask.words().begin(), mask.words().end());
    } else {
        answer.tokens = tokens_;
    }
    const auto nodes = trie_.nodes();
    std::stable_sort(exits_.begin(), exits_.end(),
                     [&](uint32_t a, uint32_t b) { return nodes[a].byte < nodes[b].byte; });
    answer.after_exit = exits_;
    for (size_t i = 0; i < exits_.size(); ++i) {
        const uint8_t byte = nodes[exits_[i]].byte;
        if (answer.exit_groups.empty() || answer.exit_groups.back().first != byte)
            answer.exit_groups.emplace_back(byte, 0);
        answer.exit_groups.back().second = static_cast<uint32_t>(i + 1);
    }
    return answer;
}

void TokenMasks::forget() {
    answers_.clear();
    answer_bytes_ = 0;
    recent_.clear();
    next_recent_ = 0;
}

std::vector<StackSetId> TokenMasks::known_sets() const {
    std::vector<StackSetId> ids;
    for (const auto& [id, known] : answers_) ids.push_back(id);
    for (const Recent& recent : recent_) ids.push_back(recent.state);
    return ids;
}

void TokenMasks::rename_sets(const std::vector<StackSetId>& old_ids,
                             const std::vector<StackSetId>& new_ids) {
    std::unordered_map<StackSetId, std::unique_ptr<Answer>> renamed;
    size_t i = 0;
    for (; i < answers_.size(); ++i) renamed[new_ids[i]] = std::move(answers_[old_ids[i]]);
    answers_ = std::move(renamed);
    for (Recent& recent : recent_) recent.state = new_ids[i++];
}

}  // namespace hokku::constraint
