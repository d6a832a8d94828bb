// SPDX-License-Identifier: Apache-2.0
// The getters of the kernel tables, one per instruction set. Callers check cpu_features() first.
#pragma once

namespace hokku::cpu {

struct AttentionTile;
struct KernelTable;

const KernelTable* reference_kernels();
const KernelTable* avx2_kernels();
const KernelTable* avxvnni_kernels();
const KernelTable* avx512_kernels();
const KernelTable* amxbf16_kernels();
const KernelTable* amx_kernels();
const KernelTable* asimd_kernels();  ///< Those of neon that every 64-bit ARM can run.
const KernelTable* neon_kernels();
const KernelTable* i8mm_kernels();  ///< The same with another GEMM.
/// Attention of the reference table.
void run_reference_tile(const AttentionTile& tile);

}  // namespace hokku::cpu
