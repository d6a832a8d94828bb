// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/simd/elementwise.h"

#include "backend/cpu/avx512/tables.h"

namespace hokku::cpu {

void fill_avx512_elementwise(KernelTable& table) {
    fill_elementwise(table);
}

}  // namespace hokku::cpu
