// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/kernels.h"

#include <cstdlib>
#include <string>

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/kernel_tables.h"

namespace hokku::cpu {

namespace {

/// The first that can run is taken. amx comes behind avx512, which is as fast: scales of 32 values
/// leave tile registers little to add up (docs/performance.md). amxbf16 has tiles only for weights
/// stored as floats, which have no scales, and is avx512 otherwise.
constexpr std::string_view kNames[] = {"amxbf16", "avx512", "amx",   "avxvnni",  "avx2",
                                       "i8mm",    "neon",   "asimd", "reference"};

}  // namespace

std::span<const std::string_view> kernel_names() {
    return kNames;
}

const KernelTable* find_kernels(std::string_view name) {
    if (name == "reference") return reference_kernels();
#if defined(__x86_64__)
    if (name == "avx2" && cpu_features().avx2) return avx2_kernels();
    if (name == "avxvnni" && cpu_features().avx_vnni) return avxvnni_kernels();
    if (name == "amxbf16" && cpu_features().amx_bf16) return amxbf16_kernels();
    if (name == "amx" && cpu_features().amx_int8) return amx_kernels();
    if (name == "avx512" && cpu_features().avx512_vnni) return avx512_kernels();
#elif defined(__aarch64__)
    if (name == "asimd") return asimd_kernels();
    if (name == "neon" && cpu_features().neon_dot) return neon_kernels();
    if (name == "i8mm" && cpu_features().neon_i8mm) return i8mm_kernels();
#endif
    return nullptr;
}

Result<const KernelTable*> select_kernels() {
    const char* forced = std::getenv("HOKKU_CPU");
    if (!forced || !*forced) {
        for (const std::string_view name : kNames) {
            if (const KernelTable* table = find_kernels(name)) return table;
        }
    } else if (const KernelTable* table = find_kernels(forced)) {
        return table;
    }
    std::string available;
    for (const std::string_view name : kNames) {
        if (!find_kernels(name)) continue;
        if (!available.empty()) available += ", ";
        available += name;
    }
    return Error{ErrorCode::unsupported,
                 std::string("CPU kernels \"") + (forced ? forced : "") +
                     "\" are unknown or cannot run on this machine",
                 "environment variable HOKKU_CPU", available};
}

}  // namespace hokku::cpu
