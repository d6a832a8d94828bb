// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/simd/dot.h"

#include "backend/cpu/neon/tables.h"

namespace hokku::cpu {

void fill_neon_dot(MatmulKernels& table) {
    fill_dot(table);
}

}  // namespace hokku::cpu
