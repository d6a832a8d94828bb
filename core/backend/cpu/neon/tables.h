// SPDX-License-Identifier: Apache-2.0
// The exported functions of this folder, one per file: each enters its kernels into a table.
#pragma once

namespace hokku::cpu {

struct KernelTable;
struct MatmulKernels;
struct AttentionKernels;

void fill_neon_elementwise(KernelTable& table);
void fill_neon_dot(MatmulKernels& table);
void fill_neon_attention(AttentionKernels& table);
void fill_neon_activations(MatmulKernels& table);
void fill_neon_gemv(MatmulKernels& table);
void fill_neon_gemm(MatmulKernels& table);
void fill_i8mm_gemm(MatmulKernels& table);

}  // namespace hokku::cpu
