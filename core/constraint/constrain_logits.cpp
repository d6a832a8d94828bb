// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/try.h"
#include "hokku/constraint.h"

namespace hokku {

Result<void> constrain_logits(Constraint& constraint, TokenMask& mask, std::span<float> logits) {
    if (mask.size() != logits.size())
        return Error{ErrorCode::bad_argument, "mask and logits differ in size",
                     fmt::format("{} tokens and {} logits", mask.size(), logits.size()),
                     "the same number"};
    HOKKU_CHECK(constraint.allowed_tokens(mask));
    bool is_any_left = false;
    for (size_t i = 0; i < logits.size(); ++i) {
        if (!mask.test(i)) {
            logits[i] = -std::numeric_limits<float>::infinity();
        } else {
            is_any_left |= std::isfinite(logits[i]);
        }
    }
    if (!is_any_left)
        return Error{ErrorCode::bad_argument, "no token is allowed",
                     fmt::format("after {} tokens", constraint.num_accepted()),
                     "a constraint that this vocabulary can satisfy"};
    return {};
}

}  // namespace hokku
