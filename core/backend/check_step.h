// SPDX-License-Identifier: Apache-2.0
// What every backend checks of a step before it touches anything.
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "hokku/result.h"

namespace hokku {

struct StepLimits {
    const ModelSpec* spec = nullptr;
    uint32_t num_kv_blocks = 0, max_step_tokens = 0, max_step_logits = 0;
};

/// Errors : bad_argument (token ids, rows or blocks out of range), limit_exceeded (learned
///          positions).
Result<void> check_step(const Step& step, const StepLimits& limits);

}  // namespace hokku
