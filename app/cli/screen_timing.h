// SPDX-License-Identifier: Apache-2.0
// How much faster a screened head makes decoding, measured with text that the model writes: what
// can be left out depends on how sure it is.
#pragma once

#include <cstdint>

#include "model_options.h"

namespace hokku::cli {

/// Tokens a second, medians of the rounds: with all logits, with those of the usual top-k, and with
/// the best alone.
struct ScreenTiming {
    double whole_tok_s = 0, top_k_tok_s = 0, greedy_tok_s = 0;
};

/// Tokens of the text before those that are timed.
inline constexpr uint32_t kScreenPromptTokens = 32;

/// Errors : those of generating and timing.
Result<ScreenTiming> time_screen(LoadedModel& loaded, uint32_t num_tokens, uint32_t repetitions);

}  // namespace hokku::cli
