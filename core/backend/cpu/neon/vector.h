// SPDX-License-Identifier: Apache-2.0
// How the parts of a GemvVector are used by the layout neon_blocks. Internal linkage on purpose.
//   codes  : in order
//   scales : one for each 32 values
//   sums   : scale times sums of codes: four for each 32 values, two of each half; behind all of
//            them one for each 32 values
#pragma once

#include "backend/cpu/matmul_kernels.h"
#include "backend/cpu/simd/inline.h"

namespace hokku::cpu {
namespace {

struct BlockVector {
    int8_t* codes;
    float *scales, *quarter_sums, *sums;
};

HOKKU_INLINE BlockVector block_vector(const GemvVector& v, size_t n) {
    return {v.codes, v.scales, v.sums, v.sums + n / 8};
}

}  // namespace
}  // namespace hokku::cpu
