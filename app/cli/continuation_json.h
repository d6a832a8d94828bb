// SPDX-License-Identifier: Apache-2.0
// What `hokku run --json` tells of one continuation.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "generation.h"
#include "hokku/tokenizer.h"

namespace hokku::cli {

/// Valid calls have arguments; others say what is wrong, and how the model wrote them.
nlohmann::ordered_json tool_call_json(const ToolCall& call);

/// `tokenizer`: for the texts of tokens, where log-probabilities are to be told; else null.
nlohmann::ordered_json continuation_json(const Continuation& continuation,
                                         const Tokenizer* tokenizer);

}  // namespace hokku::cli
