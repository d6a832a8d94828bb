// SPDX-License-Identifier: Apache-2.0
// The getters of the kernel tables, one per instruction set. Callers check cpu_features() first.
#pragma once

namespace hokku::cpu {

struct KernelTable;

const KernelTable* reference_kernels();
const KernelTable* avx2_kernels();
const KernelTable* avx512_kernels();

}  // namespace hokku::cpu
