// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernels in broken_kernels.cu. Each has one fault that `is_broken` turns on.
#pragma once

#include <cstdint>

namespace hokku::cuda {

struct BrokenParams {
    const float* in;
    float* out;
    uint32_t n;
    uint32_t is_broken;
    uint32_t* state;
};

}  // namespace hokku::cuda
