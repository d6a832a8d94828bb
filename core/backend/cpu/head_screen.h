// SPDX-License-Identifier: Apache-2.0
// HeadScreen: finds the tokens that could be among the best few without reading the whole output
// head, which is a large part of a small model. It keeps a copy of the head in four bits and, of
// each row, how far at most a product with the copy is off. Tokens whose highest possible logit is
// below what the best few have at least are out, for certain; the products of the others are those
// of the head itself, so that what is drawn stays the same to the bit.
//
// x of real models has a few large values, at the same places for every token. They are learnt
// from the first steps; the head's columns there are kept with more bits, as two columns of four.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/cpu/matmul.h"
#include "base/aligned_buffer.h"
#include "hokku/result.h"

namespace hokku::cpu {

/// Life of a screen: it observes x in some steps, copies the head in some more, a part in each,
/// then screens. When many tokens stay, screening does not pay, and it rests for a while.
///
/// Threads: begin_step() and end_step() by the owner of the backend between steps, the rest by all
/// lanes within one. No allocation after creation.
class HeadScreen {
  public:
    enum class Mode { off, observe, copy, screen };

    struct Limits {
        uint32_t num_lanes = 1;
        uint32_t max_rows = 8;         ///< Of x in one step, at most kMaxGemvVectors.
        float softcap = 0;             ///< Of the logits later on; 0: none.
        uint32_t longest_rest = 8192;  ///< Steps; 0: it screens even where that does not pay.
    };

    /// Whether a copy would be enough smaller than the head, and the kernels have both types.
    static bool is_useful(const WeightMatrix& head, const KernelTable& kernels);
    static uint64_t copy_bytes(const WeightMatrix& head);
    /// Values of a row of x with its large ones twice.
    static uint32_t row_values(uint32_t dim);
    /// Needs is_useful(). `head` must outlive it.
    /// Errors : out_of_memory.
    static Result<std::unique_ptr<HeadScreen>> create(const WeightMatrix& head,
                                                      const KernelTable& kernels,
                                                      const Limits& limits);

    /// What a step does that wants the `num_best` best logits of `num_rows` rows; 0: all logits.
    void begin_step(uint32_t num_best, uint32_t num_rows);
    void end_step(bool is_complete);
    [[nodiscard]] Mode mode() const { return mode_; }

    /// Mode::observe, by one lane: rows of x, [num_rows, dim].
    void observe(const MatmulInput& x);
    /// Mode::copy: this lane's rows of the part that is due.
    void copy_part(const Lane& lane);
    /// Mode::screen: logits [num_rows, out_stride] of all tokens that could be among the best of
    /// any row, -infinity for the others. `finish` is called for each run of tokens whose logits
    /// are there, with those of each row. Arguments as for matmul() with Precision::fine; all lanes
    /// work on the tokens of vector_share() and are done with them when it returns.
    template <class Finish>
    void multiply(const Lane& lane, MatmulScratch& scratch, const MatmulInput& x,
                  const MatmulTarget& logits, const Finish& finish) {
        estimate(lane, scratch, x, logits);
        lane.barrier();
        find_thresholds(lane);
        const ChosenRows product(lane, kernels_, scratch, x, logits, Precision::fine);
        const auto run_product = [&](Lane::Range tokens) {
            product.multiply(tokens);
            for (uint32_t row = 0; row < x.num_rows; ++row)
                finish(logits.out + row * logits.out_stride + tokens.begin,
                       tokens.end - tokens.begin);
        };
        // Runs wait until what was fetched for them is there.
        Lane::Range waiting[kWaitingRuns];
        size_t num_runs = 0;
        const Lane::Range share = vector_share(lane, head_.rows);
        uint32_t group = first_group(share, lane.index);
        for (uint32_t begin = share.begin; begin < share.end; begin += kGroup, ++group) {
            const Lane::Range tokens{begin, std::min(begin + kGroup, share.end)};
            for (uint64_t kept = keep_possible(lane, group, tokens, logits); kept != 0;) {
                const auto first = static_cast<uint32_t>(std::countr_zero(kept));
                const auto count = static_cast<uint32_t>(std::countr_one(kept >> first));
                kept &= ~(((count == kGroup ? 0 : uint64_t{1} << count) - 1) << first);
                Lane::Range& place = waiting[num_runs % kWaitingRuns];
                if (num_runs >= kWaitingRuns) run_product(place);
                place = {begin + first, begin + first + count};
                fetch(place);
                ++num_runs;
            }
        }
        const size_t num_left = std::min<size_t>(num_runs, kWaitingRuns);
        for (size_t i = num_runs - num_left; i < num_runs; ++i)
            run_product(waiting[i % kWaitingRuns]);
    }

    /// Memory that it may come to take.
    [[nodiscard]] size_t bytes() const { return memory_.size_bytes(); }
    /// Of the logits of the steps that were screened, the share that was computed; for tests and
    /// benchmarks.
    [[nodiscard]] double share_computed() const;

  private:
    static constexpr uint32_t kGroup = 64;  ///< Tokens that are looked at together.
    static constexpr size_t kWaitingRuns = 16;

    /// How far products of a row of x with the copy are off those with the head, as both are
    /// computed: at most errors_[token] * factor + addend.
    struct Bound {
        float factor = 0, addend = 0;
        /// Neither overflows, nor vanishes before an error that is infinite.
        [[nodiscard]] bool is_known() const {
            return factor > 1e-20f && factor < 1e30f && addend < 1e30f;
        }
    };
    /// What one lane has for itself.
    struct LaneMemory {
        float* x = nullptr;         ///< [max_rows][row_values]
        float* values = nullptr;    ///< [dim] of a row of the head
        float* left = nullptr;      ///< [dim] of what the copy leaves of it
        float* sorted = nullptr;    ///< [num_groups]
        Bound* bounds = nullptr;    ///< [max_rows]
        float* at_least = nullptr;  ///< [max_rows]: below it a token is out
        float largest_norm = 0;     ///< Of the rows that it has copied, and of their copies.
        uint64_t num_computed = 0;
    };

    HeadScreen(const WeightMatrix& head, const KernelTable& kernels, const Limits& limits);
    void lay_out(BufferLayout& layout);
    void choose_columns();
    void copy_row(LaneMemory& own, uint32_t row) const;
    Bound bound_of(const float* x, float* widened) const;
    void estimate(const Lane& lane, MatmulScratch& scratch, const MatmulInput& x,
                  const MatmulTarget& logits);
    void find_thresholds(const Lane& lane);
    uint64_t keep_possible(const Lane& lane, uint32_t group, Lane::Range tokens,
                           const MatmulTarget& logits);
    void fetch(Lane::Range tokens) const;
    [[nodiscard]] uint32_t first_group(Lane::Range share, uint32_t lane_index) const;

    const WeightMatrix& head_;
    const KernelTable& kernels_;
    Limits limits_;
    AlignedBuffer memory_;
    uint32_t num_columns_ = 0;  ///< Large ones.
    uint32_t num_groups_ = 0;   ///< Of tokens, at most, of all lanes.

    WeightMatrix copy_;                                     ///< [num_vocab, dim + num_columns]
    uint8_t* blocks_ = nullptr;                             ///< Its memory.
    float* errors_ = nullptr;                               ///< [num_vocab]
    float *group_most_ = nullptr, *group_least_ = nullptr;  ///< [max_rows][num_groups]
    double* squares_ = nullptr;                             ///< [dim]: sums over what was observed
    uint32_t* order_ = nullptr;  ///< [dim]: columns of the head in the copy
    std::vector<LaneMemory> lanes_;

    Mode mode_ = Mode::off;
    uint32_t num_best_ = 0, num_rows_ = 0;  ///< Of the step.
    uint32_t num_observed_ = 0;
    uint32_t next_row_ = 0;    ///< To be copied.
    float column_weight_ = 1;  ///< Errors in the large columns count so many times.
    float largest_norm_ = 0;
    bool has_order_ = false;
    uint32_t rest_ = 0, num_resting_ = 0, num_recent_ = 0;
    uint32_t tried_best_ = 0;  ///< num_best of the recent steps and of the rest.
    uint64_t num_computed_ = 0, num_screened_ = 0, recent_computed_ = 0;
};

}  // namespace hokku::cpu
