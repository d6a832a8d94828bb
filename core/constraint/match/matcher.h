// SPDX-License-Identifier: Apache-2.0
// Matcher: moves through a grammar byte by byte. Its states are the numbers of stack sets, so a
// state met before costs one table look-up, as in an automaton that is built on the way.
#pragma once

#include <memory>
#include <vector>

#include "constraint/grammar/grammar.h"
#include "constraint/match/frame_table.h"
#include "constraint/match/stack_pool.h"

namespace hokku::constraint {

/// Threads: one thread at a time; share the grammar, not the matcher.
/// Cost   : a known step one table look-up; a new one at most linear in the grammar and the depth
///          of the stacks, bounded by the work limit.
class Matcher {
  public:
    explicit Matcher(std::shared_ptr<const Grammar> grammar);

    /// Before the first byte.
    [[nodiscard]] StackSetId start();
    /// After one more byte; StackPool::kNothing when no text goes on so.
    [[nodiscard]] StackSetId step(StackSetId from, uint8_t byte) {
        const uint32_t byte_class = grammar_->byte_class[byte];
        if (from < rows_.size() && rows_[from] != kNoRow) {
            const StackSetId known = steps_[rows_[from] + byte_class];
            if (known != kNotKnown) return known;
        }
        return compute_step(from, byte_class);
    }
    /// After a token that the grammar names as such; kNothing if it does not.
    [[nodiscard]] StackSetId step_token(StackSetId from, uint32_t token, bool is_text);
    /// What follows once everything above `below` is matched.
    [[nodiscard]] StackSetId after(StackSetId below);
    /// The set with everything from both.
    [[nodiscard]] StackSetId unite(StackSetId a, StackSetId b);

    [[nodiscard]] bool is_complete(StackSetId id) const { return pool_.has_end(id); }
    [[nodiscard]] bool exits(StackSetId id) const { return pool_.has_unknown(id); }
    [[nodiscard]] const Grammar& grammar() const { return *grammar_; }
    [[nodiscard]] const std::shared_ptr<const Grammar>& shared_grammar() const { return grammar_; }
    [[nodiscard]] StackPool& pool() { return pool_; }
    [[nodiscard]] const StackPool& pool() const { return pool_; }

    /// Allows this much work until the next call. Once it is used up, answers mean nothing.
    void allow_work(uint64_t amount) { pool_.set_work_limit(pool_.work() + amount); }
    [[nodiscard]] bool is_exhausted() const { return pool_.is_exhausted(); }
    [[nodiscard]] size_t memory_bytes() const;
    /// Forgets every set but the roots, which become their new ids.
    void collect(std::span<StackSetId> roots);

  private:
    static constexpr uint32_t kNoRow = UINT32_MAX, kNoCall = UINT32_MAX;
    static constexpr StackSetId kNotKnown = UINT32_MAX;
    /// Beyond this, new steps are computed but not remembered.
    static constexpr size_t kMaxStepBytes = 32u << 20;

    /// A call of a rule found on the way: the frame to come back to, or with is_tail only the set
    /// below, for a call that is the last thing of its rule.
    struct Call {
        Frame back;
        bool is_tail = false;
        uint32_t next = kNoCall;  ///< Further call of the same rule.
    };

    StackSetId compute_step(StackSetId from, uint32_t byte_class);
    void begin();
    StackSetId finish();
    void follow(const Frame& frame, bool is_entry);
    void return_to(StackSetId below);
    void add_call(const Position& position, const Frame& frame);
    void enter(RuleId rule);
    void add_count(const Position& position, const Frame& frame);

    std::shared_ptr<const Grammar> grammar_;
    StackPool pool_;
    std::vector<RuleId> rule_of_rank_;
    std::vector<uint32_t> rows_;     ///< By set: where its steps begin, or kNoRow.
    std::vector<StackSetId> steps_;  ///< [rows, byte classes]
    std::vector<StackSetId> after_;  ///< By set; kNotKnown.

    // Scratch of one closure.
    std::vector<Frame> todo_, found_, below_frames_;
    FrameTable seen_, lowest_count_;
    bool found_end_ = false, found_unknown_ = false;
    std::vector<uint32_t> first_call_;  ///< By rule.
    std::vector<Call> calls_;
    std::vector<uint32_t> pending_ranks_;  ///< A heap, the lowest first.
};

}  // namespace hokku::constraint
