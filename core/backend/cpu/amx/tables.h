// SPDX-License-Identifier: Apache-2.0
// The exported functions of this folder, one per file: each enters its kernels into a table that
// holds those of avx512/.
#pragma once

namespace hokku::cpu {

struct MatmulKernels;

void fill_amx_gemm(MatmulKernels& table);
void fill_amx_split_gemm(MatmulKernels& table);

}  // namespace hokku::cpu
