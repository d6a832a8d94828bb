// SPDX-License-Identifier: Apache-2.0
// The AVX-512 table with the GEMM of amx/.
#include "backend/cpu/amx/tables.h"
#include "backend/cpu/kernel_tables.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/matmul_kernels.h"

namespace hokku::cpu {

namespace {

struct Tables {
    MatmulKernels matmul = *avx512_kernels()->matmul;
    KernelTable table = *avx512_kernels();

    Tables() {
        fill_amx_gemm(matmul);
        table.name = "amx";
        table.matmul = &matmul;
    }
    Tables(const Tables&) = delete;
    Tables& operator=(const Tables&) = delete;
};

}  // namespace

const KernelTable* amx_kernels() {
    static const Tables tables;
    return &tables.table;
}

}  // namespace hokku::cpu
