// SPDX-License-Identifier: Apache-2.0
// The exported functions of this folder, one per file: each enters its kernels into a table.
#pragma once

namespace hokku::cpu {

struct KernelTable;
struct MatmulKernels;
struct AttentionKernels;

void fill_avx2_elementwise(KernelTable& table);
void fill_avx2_activations(MatmulKernels& table);
void fill_avx2_dot(MatmulKernels& table);
void fill_avx2_gemv(MatmulKernels& table);
void fill_avx2_gemv_codebooks(MatmulKernels& table);
void fill_avx2_gemm(MatmulKernels& table);
void fill_avx2_attention(AttentionKernels& table);

}  // namespace hokku::cpu
