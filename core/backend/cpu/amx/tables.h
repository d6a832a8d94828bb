// SPDX-License-Identifier: Apache-2.0
// The exported function of this folder: it enters its kernels into a table that holds those of
// avx512/.
#pragma once

namespace hokku::cpu {

struct MatmulKernels;

void fill_amx_gemm(MatmulKernels& table);

}  // namespace hokku::cpu
