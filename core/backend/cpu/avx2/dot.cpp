// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/simd/dot.h"

#include "backend/cpu/avx2/tables.h"

namespace hokku::cpu {

void fill_avx2_dot(MatmulKernels& table) {
    fill_dot(table);
}

}  // namespace hokku::cpu
