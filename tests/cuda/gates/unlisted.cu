// SPDX-License-Identifier: Apache-2.0
// Has a name that no line of limits is for.
#include "device/device.h"

namespace hokku::cuda {

struct PlantedParams {
    const uint32_t* in;
    uint32_t* out;
    uint32_t n;
};

HOKKU_KERNEL(unheard_of, PlantedParams, 256) {
    wait_for_primary();
    p.out[thread_id()] = p.n;
}

}  // namespace hokku::cuda
