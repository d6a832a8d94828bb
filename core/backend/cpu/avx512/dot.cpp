// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/simd/dot.h"

#include "backend/cpu/avx512/tables.h"

namespace hokku::cpu {

void fill_avx512_dot(MatmulKernels& table) {
    fill_dot(table);
}

}  // namespace hokku::cpu
