// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include "backend/cpu/cpu_features.h"

namespace hokku::cpu {

/// Source: learn.microsoft.com, IsProcessorFeaturePresent. It does not tell of matrix products.
CpuFeatures ask_cpu_features() {
    constexpr DWORD kDotProducts = 43;  // PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE
    CpuFeatures features;
    features.neon_dot = IsProcessorFeaturePresent(kDotProducts) != 0;
    return features;
}

std::string ask_cpu_name() {
    return {};
}

}  // namespace hokku::cpu
