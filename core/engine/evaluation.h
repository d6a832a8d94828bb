// SPDX-License-Identifier: Apache-2.0
// Evaluation: runs given tokens through the model and hands out logits and inner values.
#pragma once

#include <stop_token>

#include "engine/model_session.h"
#include "hokku/engine.h"

namespace hokku {

/// Errors : bad_argument, limit_exceeded (longer than the context), and those of a step.
/// Threads: the inference thread only.
Result<void> run_evaluation(ModelSession& session, const EvaluateRequest& request,
                            std::stop_token stop);

}  // namespace hokku
