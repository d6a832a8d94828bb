// SPDX-License-Identifier: Apache-2.0
#include "constraint/match/matcher.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace hokku::constraint {

Matcher::Matcher(std::shared_ptr<const Grammar> grammar)
    : grammar_(std::move(grammar)),
      pool_(*grammar_),
      rule_of_rank_(grammar_->rules.size()),
      first_call_(grammar_->rules.size(), kNoCall) {
    for (RuleId rule = 0; rule < grammar_->rules.size(); ++rule)
        rule_of_rank_[grammar_->rules[rule].rank] = rule;
}

size_t Matcher::memory_bytes() const {
    return pool_.memory_bytes() +
           (rows_.capacity() + steps_.capacity() + after_.capacity()) * sizeof(uint32_t);
}

void Matcher::begin() {
    todo_.clear();
    found_.clear();
    found_end_ = found_unknown_ = false;
    seen_.clear();
    lowest_count_.clear();
}

StackSetId Matcher::start() {
    begin();
    const RuleId root = grammar_->root;
    first_call_[root] = static_cast<uint32_t>(calls_.size());
    calls_.push_back({{0, 0, StackPool::kEnd}, true, kNoCall});
    pending_ranks_.push_back(grammar_->rules[root].rank);
    found_end_ = grammar_->rules[root].is_nullable;
    return finish();
}

StackSetId Matcher::compute_step(StackSetId from, uint32_t byte_class) {
    const uint8_t byte = grammar_->class_byte[byte_class];
    begin();
    for (const Frame& frame : pool_.frames(from)) {
        const Position& position = grammar_->positions[frame.position];
        if (position.kind != PositionKind::bytes) continue;
        const auto begin = grammar_->edges.begin() + position.first;
        const auto edge =
            std::lower_bound(begin, begin + position.num, byte,
                             [](const ByteEdge& one, uint8_t value) { return one.last < value; });
        if (edge != begin + position.num && edge->first <= byte)
            todo_.push_back({edge->next, frame.count, frame.below});
    }
    pool_.add_work(pool_.frames(from).size());
    const StackSetId to = finish();
    if (is_exhausted()) return StackPool::kNothing;
    const uint32_t num_classes = static_cast<uint32_t>(grammar_->class_byte.size());
    if (rows_.size() <= from) rows_.resize(pool_.size(), kNoRow);
    if (rows_[from] == kNoRow) {
        if ((steps_.size() + num_classes) * sizeof(StackSetId) > kMaxStepBytes) return to;
        rows_[from] = static_cast<uint32_t>(steps_.size());
        steps_.resize(steps_.size() + num_classes, kNotKnown);
    }
    steps_[rows_[from] + byte_class] = to;
    return to;
}

StackSetId Matcher::step_token(StackSetId from, uint32_t token, bool is_text) {
    begin();
    for (const Frame& frame : pool_.frames(from)) {
        const Position& position = grammar_->positions[frame.position];
        if (position.kind != PositionKind::token) continue;
        const bool is_named = position.first == token;
        if (position.num == 0 ? is_named : (!is_named && is_text))
            todo_.push_back({position.next, frame.count, frame.below});
    }
    return todo_.empty() ? StackPool::kNothing : finish();
}

StackSetId Matcher::after(StackSetId below) {
    if (below < after_.size() && after_[below] != kNotKnown) return after_[below];
    begin();
    return_to(below);
    const StackSetId to = finish();
    if (is_exhausted()) return StackPool::kNothing;
    if (after_.size() <= below) after_.resize(pool_.size(), kNotKnown);
    after_[below] = to;
    return to;
}

StackSetId Matcher::unite(StackSetId a, StackSetId b) {
    if (a == b || b == StackPool::kNothing) return a;
    if (a == StackPool::kNothing) return b;
    std::vector<Frame> frames;
    for (const StackSetId id : {a, b})
        frames.insert(frames.end(), pool_.frames(id).begin(), pool_.frames(id).end());
    return pool_.make(frames, pool_.has_end(a) || pool_.has_end(b),
                      pool_.has_unknown(a) || pool_.has_unknown(b));
}

// The closure has two parts. First everything that was reached by consuming is followed, down
// through the stacks where rules end. Then the rules that were called are entered in the order of
// their ranks: all calls of a rule are known by then, so it is entered once, above the union of
// what they come back to.
StackSetId Matcher::finish() {
    while (!todo_.empty() && !is_exhausted()) {
        const Frame frame = todo_.back();
        todo_.pop_back();
        follow(frame, false);
    }
    while (!pending_ranks_.empty()) {
        std::pop_heap(pending_ranks_.begin(), pending_ranks_.end(), std::greater<>());
        const RuleId rule = rule_of_rank_[pending_ranks_.back()];
        pending_ranks_.pop_back();
        enter(rule);
    }
    calls_.clear();
    if (is_exhausted()) return StackPool::kNothing;
    return pool_.make(found_, found_end_, found_unknown_);
}

void Matcher::follow(const Frame& frame, bool is_entry) {
    if (!seen_.insert(frame)) return;
    pool_.add_work(1);
    const Position& position = grammar_->positions[frame.position];
    switch (position.kind) {
        case PositionKind::dead:
            break;
        case PositionKind::bytes:
        case PositionKind::token:
            found_.push_back(frame);
            break;
        case PositionKind::split:
            for (uint32_t i = 0; i < position.num; ++i)
                todo_.push_back({grammar_->targets[position.first + i], frame.count, frame.below});
            break;
        case PositionKind::call:
            add_call(position, frame);
            if (grammar_->rules[position.first].is_nullable)
                todo_.push_back({position.next, frame.count, frame.below});
            break;
        case PositionKind::count:
            add_count(position, frame);
            break;
        case PositionKind::at_least: {
            const uint32_t min = grammar_->rules[position.rule].min_count;
            if (frame.count != kFarBelow && frame.count >= min)
                todo_.push_back({position.next, frame.count, frame.below});
            break;
        }
        case PositionKind::end:
            // The empty match of a rule just entered was followed by its caller already.
            if (!is_entry) return_to(frame.below);
            break;
    }
}

void Matcher::return_to(StackSetId below) {
    if (!seen_.insert({UINT32_MAX, 0, below})) return;
    found_end_ |= pool_.has_end(below);
    found_unknown_ |= pool_.has_unknown(below);
    for (const Frame& frame : pool_.frames(below)) todo_.push_back(frame);
}

void Matcher::add_count(const Position& position, const Frame& frame) {
    const Rule& rule = grammar_->rules[position.rule];
    uint32_t count = frame.count;
    if (count < kFarInside) {
        if (rule.max_count == kUnbounded) {
            count = std::min(count + 1, rule.min_count);
        } else {
            if (count >= rule.max_count) return;
            if (count >= rule.min_count) {
                // A lower count allows all that this one does. Ends rounds that match nothing.
                bool is_new = false;
                uint32_t& lowest =
                    lowest_count_.find_or_add({frame.position, 0, frame.below}, count, is_new);
                if (!is_new && lowest <= count) return;
                lowest = count;
            }
            ++count;
        }
    }
    todo_.push_back({position.next, count, frame.below});
}

void Matcher::add_call(const Position& position, const Frame& frame) {
    const RuleId rule = position.first;
    Call call;
    call.is_tail = grammar_->positions[position.next].kind == PositionKind::end;
    call.back = {position.next, frame.count, frame.below};
    call.next = first_call_[rule];
    if (call.next == kNoCall) {
        pending_ranks_.push_back(grammar_->rules[rule].rank);
        std::push_heap(pending_ranks_.begin(), pending_ranks_.end(), std::greater<>());
    }
    first_call_[rule] = static_cast<uint32_t>(calls_.size());
    calls_.push_back(call);
}

void Matcher::enter(RuleId rule) {
    below_frames_.clear();
    bool has_end = false, has_unknown = false;
    uint32_t at = first_call_[rule];
    first_call_[rule] = kNoCall;
    if (is_exhausted()) return;
    StackSetId below = calls_[at].back.below;
    if (!calls_[at].is_tail || calls_[at].next != kNoCall) {
        for (; at != kNoCall; at = calls_[at].next) {
            const Call& call = calls_[at];
            if (!call.is_tail) {
                below_frames_.push_back(call.back);
                continue;
            }
            const auto frames = pool_.frames(call.back.below);
            below_frames_.insert(below_frames_.end(), frames.begin(), frames.end());
            has_end |= pool_.has_end(call.back.below);
            has_unknown |= pool_.has_unknown(call.back.below);
        }
        below = pool_.make(below_frames_, has_end, has_unknown);
    }
    todo_.push_back({grammar_->rules[rule].start, 0, below});
    while (!todo_.empty() && !is_exhausted()) {
        const Frame frame = todo_.back();
        todo_.pop_back();
        follow(frame, true);
    }
}

void Matcher::collect(std::span<StackSetId> roots) {
    pool_.collect(roots);
    rows_ = {};
    steps_ = {};
    after_ = {};
}

}  // namespace hokku::constraint
