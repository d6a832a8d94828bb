// SPDX-License-Identifier: Apache-2.0
// The GEMM of avx2/ with AVX-VNNI: one instruction multiplies and adds four bytes.
#include "backend/cpu/avx2/gemm.h"
#include "backend/cpu/avxvnni/tables.h"

namespace hokku::cpu {

void fill_avxvnni_gemm(MatmulKernels& table) {
    fill_gemm(table);
}

}  // namespace hokku::cpu
