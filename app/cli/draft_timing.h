// SPDX-License-Identifier: Apache-2.0
// Timing of a draft model: what the model says itself, since of given tokens none could be guessed,
// with the draft and without it in turn.
#pragma once

#include <cstdint>
#include <vector>

#include "model_options.h"

namespace hokku::cli {

/// Tokens that the question takes at most in a model's template, but for long system messages.
constexpr uint32_t kDraftPromptTokens = 192;

/// Medians over the rounds.
struct DraftTiming {
    double plain_tok_s = 0, drafted_tok_s = 0;
    /// Of one text: guesses that were evaluated, and those of them that were right.
    double guessed_tokens = 0, right_guesses = 0;
};

/// Errors : bad_argument where the context does not hold the question and so many tokens.
Result<void> check_draft_context(const LoadedModel& loaded, uint32_t num_tokens);

/// Answers a question greedily, with so many tokens (at least 2), in rounds after a warm-up, which
/// the draft's budget gets used to the model in.
/// Needs  : check_draft_context().
/// Errors : those of the generation.
Result<DraftTiming> time_draft(LoadedModel& loaded, uint32_t num_tokens, uint32_t repetitions);

/// Of an odd number of values the one in the middle, else the mean of the two; of none 0.
double median(std::vector<double> values);

}  // namespace hokku::cli
