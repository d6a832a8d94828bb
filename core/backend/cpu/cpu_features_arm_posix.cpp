// SPDX-License-Identifier: Apache-2.0
#include <asm/hwcap.h>
#include <sys/auxv.h>

#include "backend/cpu/cpu_features.h"

namespace hokku::cpu {

/// Source: Linux, Documentation/arch/arm64/elf_hwcaps.rst.
CpuFeatures ask_cpu_features() {
    CpuFeatures features;
    features.neon_dot = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
    features.neon_i8mm = features.neon_dot && (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
    return features;
}

/// Linux tells numbers of makers and parts, no names.
std::string ask_cpu_name() {
    return {};
}

}  // namespace hokku::cpu
