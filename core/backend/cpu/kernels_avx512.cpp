// SPDX-License-Identifier: Apache-2.0
// Joins the AVX-512 kernels of the files in avx512/ to one table.
#include "backend/cpu/attention_kernels.h"
#include "backend/cpu/avx512/tables.h"
#include "backend/cpu/cpu_features.h"
#include "backend/cpu/kernel_tables.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/matmul_kernels.h"

namespace hokku::cpu {

namespace {

struct Tables {
    MatmulKernels matmul;
    AttentionKernels attention = *reference_kernels()->attention;
    KernelTable table = *reference_kernels();

    Tables() {
        fill_avx512_dot(matmul);
        fill_avx512_activations(matmul);
        fill_avx512_gemv(matmul);
        fill_avx512_gemv_codebooks(matmul, cpu_features().is_intel);
        matmul.reads_ahead = cpu_features().is_intel;
        fill_avx512_gemm(matmul);
        fill_avx512_attention(attention);
        fill_avx512_elementwise(table);
        table.name = "avx512";
        table.matmul = &matmul;
        table.attention = &attention;
    }
    Tables(const Tables&) = delete;
    Tables& operator=(const Tables&) = delete;
};

}  // namespace

const KernelTable* avx512_kernels() {
    static const Tables tables;
    return &tables.table;
}

}  // namespace hokku::cpu
