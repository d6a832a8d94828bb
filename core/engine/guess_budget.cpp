// SPDX-License-Identifier: Apache-2.0
#include "engine/guess_budget.h"

#include <algorithm>

#include "engine/prompt_lookup.h"

namespace hokku {
namespace {

/// Where it is close the plain step is taken: it is the surer one.
constexpr double kLeastGain = 1.05;
/// What a guess adds to what is known of its kind.
constexpr double kWeight = 1.0 / 16;

void learn(double& right, bool was_right) {
    right += kWeight * ((was_right ? 1.0 : 0.0) - right);
}

/// The quickest of late counts: other work on the machine makes steps longer, nothing makes them
/// shorter. Each step lets an old figure fade, as they do become longer with the context.
void keep_quickest(double& known, double seconds) {
    constexpr double kFade = 1.01;
    known = known > 0 ? std::min(known * kFade, seconds) : seconds;
}

}  // namespace

void StepTimes::note(size_t num_rows, double seconds) {
    if (num_rows == 0 || num_rows >= seconds_.size() || seconds <= 0) return;
    keep_quickest(seconds_[num_rows], seconds);
}

bool StepTimes::is_measured() const {
    return std::any_of(seconds_.begin(), seconds_.end(), [](double s) { return s > 0; });
}

// In a line from one row through the nearest smaller number that was measured, and no flatter than
// the rule of thumb that each further row takes a tenth more.
double StepTimes::seconds(size_t num_rows) const {
    const double one = seconds_[1] > 0 ? seconds_[1] : 1.0;
    size_t near = num_rows;
    while (near > 1 && seconds_[near] <= 0) --near;
    const double base = near > 1 ? seconds_[near] : one;
    double slope = 0.1 * one;
    if (near > 1) slope = std::max(slope, (base - one) / static_cast<double>(near - 1));
    return base + slope * static_cast<double>(num_rows - near);
}

// The most tokens by time: k guesses of which each holds with probability p, if all before do, give
// 1 + p + .. + p^k tokens.
GuessOffer best_offer(double right, size_t most, const StepTimes& times, double seconds_each) {
    if (times.needs_plain_step()) return {};
    const double plain = times.seconds(1);
    GuessOffer best{0, kLeastGain};
    double tokens = 1, power = 1;
    for (size_t k = 1; k <= std::min(most, kMostGuesses); ++k) {
        power *= right;
        tokens += power;
        const double seconds = times.seconds(k + 1) + static_cast<double>(k) * seconds_each;
        const double gain = tokens * plain / seconds;
        if (gain > best.gain) best = {k, gain};
    }
    return best.num_tokens > 0 ? best : GuessOffer{};
}

// ---- what came before --------------------------------------------------------------------------

size_t GuessBudget::kind_of(size_t match_length) {
    const size_t beyond = match_length - std::min(match_length, PromptLookup::kShortestMatch);
    return beyond < 3 ? beyond : kKinds - 1;
}

GuessOffer GuessBudget::offer(size_t match_length, size_t most, const StepTimes& times) const {
    return best_offer(right_[kind_of(match_length)], most, times);
}

void GuessBudget::note_guess(size_t match_length, bool was_right) {
    learn(right_[kind_of(match_length)], was_right);
}

// ---- a draft -----------------------------------------------------------------------------------

size_t DraftBudget::kind_of(float margin) {
    return margin < 0.5f ? 0 : margin < 1.5f ? 1 : margin < 3.0f ? 2 : 3;
}

double DraftBudget::draft_seconds(const StepTimes& times) const {
    return seconds_ > 0 && times.is_measured() ? seconds_ : cost_ * times.seconds(1);
}

GuessOffer DraftBudget::offer(size_t most, const StepTimes& times) {
    constexpr size_t kFirstWait = 32, kLongestWait = 1024, kTrials = 8;
    const double each = draft_seconds(times);
    const GuessOffer offer = best_offer(right_, most, times, each);
    if (offer.num_tokens > 0) {
        num_trials_ = num_skipped_ = 0;
        wait_ = kFirstWait;
        return offer;
    }
    // What would not pay if all were right is not tried.
    if (best_offer(1.0, most, times, each).num_tokens == 0) return {};
    if (num_trials_ > 0) {
        --num_trials_;
        return {1, 1};
    }
    if (++num_skipped_ < wait_) return {};
    num_skipped_ = 0;
    wait_ = std::min(2 * wait_, kLongestWait);
    num_trials_ = kTrials - 1;
    return {1, 1};
}

// A row is worth it where it brings more tokens than its time does as things go.
bool DraftBudget::is_worth_row(size_t index, float margin, double gain, const StepTimes& times,
                               double& reached) const {
    reached *= right_by_margin_[kind_of(margin)];
    if (index == 0) return true;
    const double row = times.seconds(index + 2) - times.seconds(index + 1);
    return reached > gain * row / times.seconds(1);
}

void DraftBudget::note_guess(float margin, bool was_right) {
    learn(right_, was_right);
    learn(right_by_margin_[kind_of(margin)], was_right);
}

void DraftBudget::note_draft_step(double seconds) {
    if (seconds > 0) keep_quickest(seconds_, seconds);
}

}  // namespace hokku
