// SPDX-License-Identifier: Apache-2.0
// Guess budgets: how many tokens are worth guessing ahead, from how often guesses were right and
// from what steps of so many rows took. The text does not depend on it: only tokens that would have
// been drawn anyway are kept.
#pragma once

#include <array>
#include <cstddef>

namespace hokku {

/// Tokens that a step may guess, at most.
inline constexpr size_t kMostGuesses = 7;

/// What steps of the model take, by their rows.
class StepTimes {
  public:
    /// A step of a single sequence, of this many rows.
    void note(size_t num_rows, double seconds);
    /// Of a number of rows that was not measured by those that were, and by a rule of thumb.
    /// Before anything was measured a plain step is the unit.
    [[nodiscard]] double seconds(size_t num_rows) const;
    [[nodiscard]] bool is_measured() const;
    /// There is nothing to compare steps with guesses with.
    [[nodiscard]] bool needs_plain_step() const { return is_measured() && seconds_[1] <= 0; }

  private:
    std::array<double, kMostGuesses + 2> seconds_{};  ///< 0: not measured.
};

/// How many guesses to evaluate, and by how much sooner tokens come then than by plain steps.
struct GuessOffer {
    size_t num_tokens = 0;
    double gain = 1;
};

/// The best offer when each guess is right with probability `right`, if all before it are, and
/// making one takes `seconds_each`.
GuessOffer best_offer(double right, size_t most, const StepTimes& times, double seconds_each = 0);

/// Of guesses from what came before, which cost nothing to make.
class GuessBudget {
  public:
    /// Of the tokens guessed from a match of this length.
    [[nodiscard]] GuessOffer offer(size_t match_length, size_t most, const StepTimes& times) const;
    /// A guessed token has come, or another one, whether it was evaluated or not.
    void note_guess(size_t match_length, bool was_right);

  private:
    static constexpr size_t kKinds = 4;  ///< Matches of 2, 3, 4 and more tokens.
    static size_t kind_of(size_t match_length);
    std::array<double, kKinds> right_{0.5, 0.5, 0.5, 0.5};
};

/// Of guesses that another model makes, each by a step of its own. When they do not pay it is asked
/// again for a few tokens after a while, which becomes longer each time.
class DraftBudget {
  public:
    /// `cost`: a step of the draft by one of the model, until both are measured.
    explicit DraftBudget(double cost) : cost_(cost) {}

    /// Call once for each token that is to come.
    [[nodiscard]] GuessOffer offer(size_t most, const StepTimes& times);
    /// Whether the guess at this place is worth a row of the step. `margin`: of the best logit over
    /// the second. All before it are right with probability `reached`, which becomes that of all
    /// with it.
    [[nodiscard]] bool is_worth_row(size_t index, float margin, double gain, const StepTimes& times,
                                    double& reached) const;
    void note_guess(float margin, bool was_right);
    void note_draft_step(double seconds);

  private:
    [[nodiscard]] double draft_seconds(const StepTimes& times) const;

    static constexpr size_t kKinds = 4;
    static size_t kind_of(float margin);
    double cost_;
    double seconds_ = 0;  ///< Of a step of the draft; 0: not measured.
    double right_ = 0.7;
    std::array<double, kKinds> right_by_margin_{0.4, 0.6, 0.8, 0.9};
    size_t num_trials_ = 0, num_skipped_ = 0, wait_ = 32;
};

}  // namespace hokku
