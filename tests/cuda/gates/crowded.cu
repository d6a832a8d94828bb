// SPDX-License-Identifier: Apache-2.0
// A cooperative launch of which one block alone fits into the shared memory of sm_75.
#include "device/device.h"

namespace hokku::cuda {

struct PlantedParams {
    const uint32_t* in;
    uint32_t* out;
    uint32_t n;
};

HOKKU_KERNEL(persistent_step, PlantedParams, 128) {
    HOKKU_SHARED(uint32_t, values, 10240);
    const Words4 words = load16_once(p.in + 4 * thread_id());
    wait_for_primary();
    for (uint32_t i = thread_id(); i < 10240; i += num_threads()) values[i] = words.w[0] + i;
    block_barrier();
    p.out[thread_id()] = values[p.n % 10240];
}

}  // namespace hokku::cuda
