// SPDX-License-Identifier: Apache-2.0
// The AVX-512 table with products of amx/: those of weights stored as floats, or the other ones.
#include "backend/cpu/amx/tables.h"
#include "backend/cpu/kernel_tables.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/matmul_kernels.h"

namespace hokku::cpu {

namespace {

struct Tables {
    MatmulKernels matmul = *avx512_kernels()->matmul;
    KernelTable table = *avx512_kernels();

    Tables(const char* name, void (*fill)(MatmulKernels&)) {
        fill(matmul);
        table.name = name;
        table.matmul = &matmul;
    }
    Tables(const Tables&) = delete;
    Tables& operator=(const Tables&) = delete;
};

}  // namespace

const KernelTable* amxbf16_kernels() {
    static const Tables tables("amxbf16", fill_amx_split_gemm);
    return &tables.table;
}

const KernelTable* amx_kernels() {
    static const Tables tables("amx", fill_amx_gemm);
    return &tables.table;
}

}  // namespace hokku::cpu
