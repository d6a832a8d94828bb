// SPDX-License-Identifier: Apache-2.0
// Keeps 96 values in registers, of which a product of one vector may use 64.
#include "device/device.h"

namespace hokku::cuda {

struct PlantedParams {
    const uint32_t* in;
    uint32_t* out;
    uint32_t n;
};

HOKKU_KERNEL(gemv_hungry_1, PlantedParams, 256) {
    Words4 words[24];
    HOKKU_UNROLL
    for (uint32_t i = 0; i < 24; ++i) words[i] = load16_once(p.in + 4 * (i * p.n + thread_id()));
    wait_for_primary();
    // Each needs all before it, so that none can be dropped.
    block_barrier();
    uint32_t sum = p.out[thread_id()];
    HOKKU_UNROLL
    for (uint32_t i = 24; i-- > 0;) {
        HOKKU_UNROLL
        for (uint32_t k = 0; k < 4; ++k) sum = sum * 5 + words[i].w[k];
    }
    p.out[thread_id()] = sum;
}

}  // namespace hokku::cuda
