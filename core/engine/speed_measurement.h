// SPDX-License-Identifier: Apache-2.0
// Runs given tokens through a loaded model by the clock: what benchmarks measure. No sampling and
// no text.
#pragma once

#include <stop_token>

#include "engine/model_session.h"
#include "hokku/engine.h"

namespace hokku {

/// Errors : bad_argument, limit_exceeded (longer than the context), and those of a step.
/// Threads: the inference thread only.
Result<Timing> run_speed_measurement(ModelSession& session, const TimingRequest& request,
                                     std::stop_token stop);

}  // namespace hokku
