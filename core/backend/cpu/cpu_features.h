// SPDX-License-Identifier: Apache-2.0
// What this CPU and its operating system can run, asked once: x86 by cpuid and xgetbv, ARM by what
// the system tells.
#pragma once

#include <string>

namespace hokku::cpu {

struct CpuFeatures {
    bool avx2 = false;         ///< AVX2, FMA, F16C, BMI2 and the saved upper halves.
    bool avx_vnni = false;     ///< Also AVX-VNNI.
    bool avx512_vnni = false;  ///< Also AVX-512 F, BW, DQ, VL, VBMI, VNNI, and GFNI.
    bool is_intel = false;     ///< Of x86: some kernels' ways differ by the maker.
    bool amx_int8 = false;     ///< Also AMX-INT8, and the system lets the process use tiles.
    bool amx_bf16 = false;     ///< The same with AMX-BF16.
    bool neon_dot = false;     ///< ARMv8.2 dot products.
    bool neon_i8mm = false;    ///< Also products of int8 matrices.
};

/// Threads: safe from any thread.
const CpuFeatures& cpu_features();

/// As the maker calls it; "CPU" where it does not say.
std::string cpu_name();

// What those two call once, for each family of processors and where need be for each system.
CpuFeatures ask_cpu_features();
std::string ask_cpu_name();  ///< May be empty.

}  // namespace hokku::cpu
