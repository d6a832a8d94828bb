// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu_features.h"

namespace hokku::cpu {

const CpuFeatures& cpu_features() {
    static const CpuFeatures features = ask_cpu_features();
    return features;
}

std::string cpu_name() {
    std::string name = ask_cpu_name();
    return name.empty() ? "CPU" : name;
}

}  // namespace hokku::cpu
