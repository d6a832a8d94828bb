// SPDX-License-Identifier: Apache-2.0
// What this CPU and its operating system can run, asked once by cpuid and xgetbv.
#pragma once

#include <string>

namespace hokku::cpu {

struct CpuFeatures {
    bool avx2 = false;         ///< AVX2, FMA, F16C, BMI2 and the saved upper halves.
    bool avx512_vnni = false;  ///< Also AVX-512 F, BW, DQ, VL, VBMI, VNNI.
};

/// Threads: safe from any thread.
const CpuFeatures& cpu_features();

/// As the maker calls it; "CPU" where it does not say.
std::string cpu_name();

}  // namespace hokku::cpu
