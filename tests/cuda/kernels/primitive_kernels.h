// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernels in primitive_kernels.cu.
#pragma once

#include <cstdint>

namespace hokku::cuda {

struct WordsParams {
    const uint32_t* in;
    uint32_t* out;
    uint32_t n;
    uint32_t mode;
};

struct MmaParams {
    const uint8_t* a;  ///< Row-major, 16 rows.
    const uint8_t* b;  ///< Column-major, 8 columns: as a weight matrix lies.
    uint32_t* c;       ///< [16][8], added to.
};

struct FloatsParams {
    const float* in;
    float* out;
    uint32_t n;
    uint32_t mode;
    uint32_t* state;
};

}  // namespace hokku::cuda
