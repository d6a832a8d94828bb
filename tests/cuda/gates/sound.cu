// SPDX-License-Identifier: Apache-2.0
// Nothing is wrong with it.
#include "device/device.h"

namespace hokku::cuda {

struct PlantedParams {
    const uint32_t* in;
    uint32_t* out;
    uint32_t n;
};

HOKKU_KERNEL(gemv_sound_1, PlantedParams, 256) {
    const Words4 words = load16_once(p.in + 4 * thread_id());
    wait_for_primary();
    p.out[thread_id()] = words.w[0] + words.w[1] + words.w[2] + words.w[3];
}

}  // namespace hokku::cuda
