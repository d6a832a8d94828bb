// SPDX-License-Identifier: Apache-2.0
#include "sampling/check_logits.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "sampling/softmax.h"

namespace hokku {

Error infinite_logits() {
    return {ErrorCode::numeric, "a logit is not a number or infinite", "logits", "finite logits"};
}

Error forbidden_logits() {
    return {ErrorCode::numeric, "all logits are minus infinity", "logits",
            "at least one finite logit"};
}

Result<void> check_logits(std::span<const float> logits) {
    constexpr size_t kLanes = 16;
    constexpr float kLargest = std::numeric_limits<float>::max();
    std::array<uint32_t, kLanes> not_finite{};  // NaN compares false
    size_t i = 0;
    for (; i + kLanes <= logits.size(); i += kLanes)
        for (size_t j = 0; j < kLanes; ++j) not_finite[j] |= logits[i + j] <= kLargest ? 0u : 1u;
    for (; i < logits.size(); ++i) not_finite[0] |= logits[i] <= kLargest ? 0u : 1u;
    for (const uint32_t lane : not_finite)
        if (lane != 0) return infinite_logits();
    if (max_of(logits) == -std::numeric_limits<float>::infinity()) return forbidden_logits();
    return {};
}

}  // namespace hokku
