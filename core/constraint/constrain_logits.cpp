// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/try.h"
#include "hokku/constraint.h"

namespace hokku {

Result<void> mask_logits(const TokenMask& mask, std::span<float> logits) {
    if (mask.size() != logits.size())
        return Error{ErrorCode::bad_argument, "mask and logits differ in size",
                     fmt::format("{} tokens and {} logits", mask.size(), logits.size()),
                     "the same number"};
    constexpr size_t kWordBits = 64;
    bool is_any_left = false;
    for (size_t start = 0; start < logits.size(); start += kWordBits) {
        const uint64_t word = mask.words()[start / kWordBits];
        const auto block = logits.subspan(start, std::min(kWordBits, logits.size() - start));
        if (word == 0) {
            std::fill(block.begin(), block.end(), -std::numeric_limits<float>::infinity());
            continue;
        }
        for (size_t i = 0; i < block.size(); ++i) {
            if (((word >> i) & 1u) == 0) block[i] = -std::numeric_limits<float>::infinity();
            is_any_left = is_any_left || std::isfinite(block[i]);
        }
    }
    if (!is_any_left)
        return Error{ErrorCode::bad_argument, "no token is allowed", "constraint",
                     "a constraint that this vocabulary can satisfy"};
    return {};
}

Result<void> constrain_logits(Constraint& constraint, TokenMask& mask, std::span<float> logits) {
    if (mask.size() != logits.size()) return mask_logits(mask, logits);
    HOKKU_CHECK(constraint.allowed_tokens(mask));
    return mask_logits(mask, logits);
}

}  // namespace hokku
