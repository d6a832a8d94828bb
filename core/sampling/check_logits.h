// SPDX-License-Identifier: Apache-2.0
// What every sampler asks of logits before it works with them.
#pragma once

#include <span>

#include "hokku/result.h"

namespace hokku {

/// Errors : numeric when a logit is NaN or +inf or all are -inf.
Result<void> check_logits(std::span<const float> logits);

/// The error of logits that are NaN or +inf, and of those that are all -inf.
Error infinite_logits();
Error forbidden_logits();

}  // namespace hokku
