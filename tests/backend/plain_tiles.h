// SPDX-License-Identifier: Apache-2.0
// Put the GEMMs of core/backend/cpu/amx/, over tiles in plain C++, into an AVX-512 table.
#pragma once

namespace hokku::cpu {

struct MatmulKernels;

void fill_plain_tile_gemm(MatmulKernels& table);
void fill_plain_split_gemm(MatmulKernels& table);

}  // namespace hokku::cpu
