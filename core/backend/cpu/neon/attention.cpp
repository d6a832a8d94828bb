// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/simd/attention.h"

#include "backend/cpu/neon/tables.h"

namespace hokku::cpu {

void fill_neon_attention(AttentionKernels& table) {
    table.run_tile = run_tile;
}

}  // namespace hokku::cpu
