// SPDX-License-Identifier: Apache-2.0
// The exported functions of this folder, one per file: each enters its kernels into a table.
#pragma once

namespace hokku::cpu {

struct KernelTable;
struct MatmulKernels;
struct AttentionKernels;

void fill_avx512_elementwise(KernelTable& table);
void fill_avx512_activations(MatmulKernels& table);
void fill_avx512_dot(MatmulKernels& table);
void fill_avx512_gemv(MatmulKernels& table);
/// `gathers_fast`: points of IQ1 are gathered from memory instead of by permutations of whole
/// tables, which take Intel's processors two to three times as long; gathers take others long.
void fill_avx512_gemv_codebooks(MatmulKernels& table, bool gathers_fast);
void fill_avx512_gemm(MatmulKernels& table);
void fill_avx512_attention(AttentionKernels& table);

}  // namespace hokku::cpu
