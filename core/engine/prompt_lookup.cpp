// SPDX-License-Identifier: Apache-2.0
#include "engine/prompt_lookup.h"

#include <algorithm>

namespace hokku {

void PromptLookup::reset(std::span<const TokenId> tokens, size_t capacity) {
    tokens_.reserve(std::max(capacity, tokens.size()));
    tokens_.assign(tokens.begin(), tokens.end());
}

Guess PromptLookup::guess(std::span<TokenId> out) const {
    const size_t size = tokens_.size();
    if (size <= kShortestMatch || out.empty()) return {};
    const TokenId last = tokens_[size - 1];
    size_t best_length = 0, best_next = 0;
    for (size_t end = size - 1; end > 0 && best_length < kLongestMatch; --end) {
        if (tokens_[end - 1] != last) continue;
        const size_t longest = std::min(kLongestMatch, end);
        size_t length = 1;
        while (length < longest && tokens_[end - 1 - length] == tokens_[size - 1 - length])
            ++length;
        if (length <= best_length) continue;
        best_length = length;
        best_next = end;
    }
    if (best_length < kShortestMatch) return {};
    const size_t period = size - best_next;
    for (size_t i = 0; i < out.size(); ++i)
        out[i] = i < period ? tokens_[best_next + i] : out[i - period];
    return {out.size(), best_length};
}

size_t GuessBudget::kind_of(size_t match_length) {
    const size_t beyond = match_length - std::min(match_length, PromptLookup::kShortestMatch);
    return beyond < 3 ? beyond : kKinds - 1;
}

// The most tokens by time: k guesses of which each holds with probability p, if all before do, give
// 1 + p + .. + p^k tokens.
size_t GuessBudget::worth(size_t match_length, size_t most) const {
    const bool is_timed =
        std::any_of(seconds_.begin(), seconds_.end(), [](double s) { return s > 0; });
    if (is_timed && seconds_[1] <= 0) return 0;  // what others are compared with
    const double right = right_[kind_of(match_length)];
    // Where it is close the plain step is taken: it is the surer one.
    constexpr double kLeastGain = 1.05;
    double best_rate = kLeastGain / step_seconds(1);
    double tokens = 1, power = 1;
    size_t best = 0;
    for (size_t k = 1; k <= std::min(most, kMostGuesses); ++k) {
        power *= right;
        tokens += power;
        const double rate = tokens / step_seconds(k + 1);
        if (rate > best_rate) {
            best_rate = rate;
            best = k;
        }
    }
    return best;
}

void GuessBudget::note_guess(size_t match_length, bool was_right) {
    constexpr double kWeight = 1.0 / 16;
    double& right = right_[kind_of(match_length)];
    right += kWeight * ((was_right ? 1.0 : 0.0) - right);
}

// The quickest of late counts: other work on the machine makes steps longer, nothing makes them
// shorter. Each step lets an old figure fade, as they do become longer with the context.
void GuessBudget::note_step(size_t num_rows, double seconds) {
    if (num_rows == 0 || num_rows >= seconds_.size() || seconds <= 0) return;
    constexpr double kFade = 1.01;
    double& known = seconds_[num_rows];
    known = known > 0 ? std::min(known * kFade, seconds) : seconds;
}

// Of a number of rows that was not measured: in a line from one row through the nearest smaller
// number, and no flatter than the rule of thumb that each further row takes a tenth more.
double GuessBudget::step_seconds(size_t num_rows) const {
    const double one = seconds_[1] > 0 ? seconds_[1] : 1.0;
    size_t near = num_rows;
    while (near > 1 && seconds_[near] <= 0) --near;
    const double base = near > 1 ? seconds_[near] : one;
    double slope = 0.1 * one;
    if (near > 1) slope = std::max(slope, (base - one) / static_cast<double>(near - 1));
    return base + slope * static_cast<double>(num_rows - near);
}

}  // namespace hokku
