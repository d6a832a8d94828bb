// SPDX-License-Identifier: Apache-2.0
// Joins the NEON kernels of the files in neon/ to tables: of float32 alone, with dot products, and
// with products of matrices as well.
#include "backend/cpu/attention_kernels.h"
#include "backend/cpu/kernel_tables.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/matmul_kernels.h"
#include "backend/cpu/neon/tables.h"

namespace hokku::cpu {

namespace {

struct NeonTables {
    MatmulKernels matmul;
    AttentionKernels attention = *reference_kernels()->attention;
    KernelTable table = *reference_kernels();

    /// Without a GEMM: nothing that needs dot products.
    NeonTables(const char* name, void (*fill_gemm)(MatmulKernels&)) {
        fill_neon_dot(matmul);
        if (fill_gemm) {
            fill_neon_activations(matmul);
            fill_neon_gemv(matmul);
            fill_gemm(matmul);
        }
        fill_neon_attention(attention);
        fill_neon_elementwise(table);
        table.name = name;
        table.matmul = &matmul;
        table.attention = &attention;
    }
    NeonTables(const NeonTables&) = delete;
    NeonTables& operator=(const NeonTables&) = delete;
};

}  // namespace

const KernelTable* asimd_kernels() {
    static const NeonTables tables("asimd", nullptr);
    return &tables.table;
}

const KernelTable* neon_kernels() {
    static const NeonTables tables("neon", fill_neon_gemm);
    return &tables.table;
}

const KernelTable* i8mm_kernels() {
    static const NeonTables tables("i8mm", fill_i8mm_gemm);
    return &tables.table;
}

}  // namespace hokku::cpu
