// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/avx2/gemm.h"

#include "backend/cpu/avx2/tables.h"

namespace hokku::cpu {

void fill_avx2_gemm(MatmulKernels& table) {
    fill_gemm(table);
}

}  // namespace hokku::cpu
