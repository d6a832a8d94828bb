// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/simd/elementwise.h"

#include "backend/cpu/neon/tables.h"

namespace hokku::cpu {

void fill_neon_elementwise(KernelTable& table) {
    fill_elementwise(table);
}

}  // namespace hokku::cpu
