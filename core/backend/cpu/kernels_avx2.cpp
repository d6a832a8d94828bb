// SPDX-License-Identifier: Apache-2.0
// Joins the AVX2 kernels of the files in avx2/ to one table, and those that AVX-VNNI makes faster,
// in avxvnni/, to another.
#include "backend/cpu/attention_kernels.h"
#include "backend/cpu/avx2/tables.h"
#include "backend/cpu/avxvnni/tables.h"
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
        fill_avx2_dot(matmul);
        fill_avx2_activations(matmul);
        fill_avx2_gemv(matmul);
        fill_avx2_gemv_codebooks(matmul);
        matmul.reads_ahead = cpu_features().is_intel;
        fill_avx2_gemm(matmul);
        fill_avx2_attention(attention);
        fill_avx2_elementwise(table);
        table.name = "avx2";
        table.matmul = &matmul;
        table.attention = &attention;
    }
    Tables(const Tables&) = delete;
    Tables& operator=(const Tables&) = delete;
};

/// Made of the other, not anew: entering kernels writes the codebooks that they read.
struct VnniTables {
    MatmulKernels matmul = *avx2_kernels()->matmul;
    KernelTable table = *avx2_kernels();

    VnniTables() {
        fill_avxvnni_gemv(matmul);
        fill_avxvnni_gemm(matmul);
        table.name = "avxvnni";
        table.matmul = &matmul;
    }
    VnniTables(const VnniTables&) = delete;
    VnniTables& operator=(const VnniTables&) = delete;
};

}  // namespace

const KernelTable* avx2_kernels() {
    static const Tables tables;
    return &tables.table;
}

const KernelTable* avxvnni_kernels() {
    static const VnniTables tables;
    return &tables.table;
}

}  // namespace hokku::cpu
