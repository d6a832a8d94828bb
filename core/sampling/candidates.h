// SPDX-License-Identifier: Apache-2.0
// Candidates: the tokens that may still be drawn, with their logits. They start as the whole
// vocabulary in id order ("dense") and become a short list once a step has cut them down.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hokku/tokenizer.h"

namespace hokku {

struct Candidate {
    TokenId id = 0;
    float logit = 0;
};

/// Best first; among equals the lower id, so that every order is the same on every machine.
inline bool is_better(const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

/// Finds the best few of a large vocabulary without sorting it.
///
/// Threads: one thread at a time. No allocation after construction.
class TopSelector {
  public:
    explicit TopSelector(uint32_t num_vocab);
    /// The `count` best, best first; fewer where there are not as many above -inf. Valid until
    /// the next call. Needs logits without NaN.
    /// Cost   : reads the logits once, and again only the blocks that hold winners.
    std::span<Candidate> best(std::span<const float> logits, uint32_t count);

  private:
    std::vector<float> block_maxima_, sorted_maxima_;
    std::vector<Candidate> found_;
};

enum class LogitState { usable, not_finite, all_forbidden };

/// Threads: one thread at a time. No allocation after construction.
class Candidates {
  public:
    explicit Candidates(uint32_t num_vocab);
    Candidates(Candidates&&) = default;  // moving keeps the list's storage in place
    Candidates& operator=(Candidates&&) = default;

    /// Starts again from all tokens. not_finite: a logit is NaN or +inf; all_forbidden: all are
    /// -inf. Only usable ones may be worked with.
    LogitState reset(std::span<const float> logits);
    /// The logits by id, to be changed in place. Needs is_dense().
    [[nodiscard]] std::span<float> dense() { return dense_; }
    /// The tokens left. Needs !is_dense().
    [[nodiscard]] std::span<Candidate> list() { return list_; }

    [[nodiscard]] bool is_dense() const { return is_dense_; }
    [[nodiscard]] bool is_sorted() const { return is_sorted_; }
    [[nodiscard]] uint32_t size() const;
    [[nodiscard]] float max_logit() const;

    /// To be called after the order of the list's logits may have changed.
    void mark_unsorted() { is_sorted_ = false; }
    /// Keeps the `count` best (at least one), sorted.
    void keep_best(uint32_t count);
    /// Keeps those with logit >= threshold. At least one must be.
    void keep_from(float threshold);
    /// Keeps the fewest best whose probabilities add up to `mass` (at least one).
    void keep_mass(double mass);

    /// The best one; the lowest id among equals.
    [[nodiscard]] TokenId best() const;
    struct Drawn {
        TokenId token = 0;
        double probability = 0;  ///< Among the candidates.
    };
    /// The one at which the probabilities, added up in the present order, pass `unit` in [0, 1).
    [[nodiscard]] Drawn draw(double unit);

    struct Weights {
        std::span<const float> values;  ///< exp(logit - max) of each, in the present order.
        double sum = 0;
        float max_logit = 0;
    };
    /// Valid until the next call of another member.
    [[nodiscard]] Weights weigh();
    /// In the present order: all logits by id, or those of the list.
    [[nodiscard]] float logit_at(size_t index) const {
        return is_dense_ ? dense_[index] : list_[index].logit;
    }
    [[nodiscard]] TokenId id_at(size_t index) const {
        return is_dense_ ? static_cast<TokenId>(index) : list_[index].id;
    }
    /// The `count` best, best first; fewer where there are not as many above -inf. Sorts a list.
    /// Valid until the next call of another member.
    [[nodiscard]] std::span<const Candidate> best_few(uint32_t count);
    /// Keeps those for which keep(index) is true, in the present order. At least one must be.
    template <class Keep>
    void keep_if(const Keep& keep) {
        const size_t count = size();
        size_t num_kept = 0;
        for (size_t i = 0; i < count; ++i) {
            const Candidate candidate{id_at(i), logit_at(i)};
            if (keep(i)) storage_[num_kept++] = candidate;
        }
        is_dense_ = false;
        list_ = std::span(storage_).first(num_kept);
    }

  private:
    void sort_list();
    void keep_mass_of_dense(double mass);

    std::vector<float> dense_;       ///< [num_vocab]
    std::vector<float> weights_;     ///< Scratch: exp(logit - max) of the candidates.
    std::vector<float> values_;      ///< Scratch: logits of a list.
    std::vector<double> step_mass_;  ///< Scratch of keep_mass.
    std::vector<Candidate> storage_;
    std::span<Candidate> list_;
    TopSelector selector_;
    bool is_dense_ = true, is_sorted_ = false;
};

}  // namespace hokku
