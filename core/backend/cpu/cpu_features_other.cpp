// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu_features.h"

namespace hokku::cpu {

CpuFeatures ask_cpu_features() {
    return {};
}

std::string ask_cpu_name() {
    return {};
}

}  // namespace hokku::cpu
