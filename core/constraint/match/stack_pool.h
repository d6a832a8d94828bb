// SPDX-License-Identifier: Apache-2.0
// StackPool: the sets of stacks that a text may have led a grammar to, each set stored once. It
// knows nothing of bytes; Matcher moves from set to set.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "constraint/grammar/grammar.h"

namespace hokku::constraint {

using StackSetId = uint32_t;

/// Counters of a position far from both bounds of its repetition, for answers that hold for all
/// such positions: below the minimum, or between minimum and maximum. They never change.
inline constexpr uint32_t kFarBelow = UINT32_MAX - 1;
inline constexpr uint32_t kFarInside = UINT32_MAX - 2;

/// The top of some stacks: a position, the counter of its rule, and the stacks below it.
struct Frame {
    PositionId position = 0;
    uint32_t count = 0;
    StackSetId below = 0;
    bool operator==(const Frame&) const = default;
};

/// Invariants: equal sets have equal ids, so a set met again is recognised by its number; a set
/// holds at most one frame for each position and counter, with the union of what lies below; what
/// lies below has a lower id.
///
/// Threads: one thread at a time.
class StackPool {
  public:
    static constexpr StackSetId kNothing = 0;  ///< No stack: the text cannot be continued.
    static constexpr StackSetId kEnd = 1;      ///< The empty stack: the whole text is matched.
    /// Stacks that are not looked at, for answers that hold whatever they are.
    static constexpr StackSetId kUnknown = 2;
    static constexpr uint32_t kMaxDepth = 10'000;

    explicit StackPool(const Grammar& grammar);

    /// The set of these frames (in any order; the vector is used up), with kEnd or kUnknown if
    /// the flags say so. Frames deeper than kMaxDepth are left out.
    StackSetId make(std::vector<Frame>& frames, bool has_end, bool has_unknown);

    [[nodiscard]] std::span<const Frame> frames(StackSetId id) const {
        return std::span(frames_).subspan(sets_[id].first, sets_[id].num);
    }
    [[nodiscard]] bool has_end(StackSetId id) const { return sets_[id].has_end; }
    [[nodiscard]] bool has_unknown(StackSetId id) const { return sets_[id].has_unknown; }
    [[nodiscard]] size_t size() const { return sets_.size(); }
    /// Frames handled so far: a measure of work that no clock disturbs.
    [[nodiscard]] uint64_t work() const { return work_; }
    void add_work(uint64_t amount) { work_ += amount; }
    /// Beyond this much work make() gives kNothing, which then means nothing.
    void set_work_limit(uint64_t limit) { work_limit_ = limit; }
    [[nodiscard]] bool is_exhausted() const { return work_ > work_limit_; }
    [[nodiscard]] size_t memory_bytes() const;

    /// Keeps only what the roots need; roots become their new ids. All other ids become invalid.
    void collect(std::span<StackSetId> roots);

  private:
    struct Set {
        uint32_t first = 0, num = 0, depth = 0, hash = 0;
        bool has_end = false, has_unknown = false;
    };
    struct Merge {
        std::vector<Frame> frames;
        bool has_end = false, has_unknown = false;
        uint64_t memo_key = 0;
    };
    void drop_redundant(std::vector<Frame>& frames) const;
    bool merge_step(Merge& merge);
    StackSetId intern(const Merge& merge);
    void insert_hash(StackSetId id);
    void rehash(size_t num_slots);

    const Grammar* grammar_;
    std::vector<Set> sets_;
    std::vector<Frame> frames_;
    std::vector<StackSetId> slots_;  ///< Open addressing by hash; kNothing is a free slot.
    std::unordered_map<uint64_t, StackSetId> unions_;
    std::vector<Merge> merges_;  ///< Scratch: unions in progress, the innermost last.
    uint64_t work_ = 0, work_limit_ = UINT64_MAX;
};

}  // namespace hokku::constraint
