// SPDX-License-Identifier: Apache-2.0
// Does not wait for the launch in front.
#include "device/device.h"

namespace hokku::cuda {

struct PlantedParams {
    const uint32_t* in;
    uint32_t* out;
    uint32_t n;
};

HOKKU_KERNEL(gemv_hasty_1, PlantedParams, 256) {
    const Words4 words = load16_once(p.in + 4 * thread_id());
    p.out[thread_id()] = words.w[0];
}

}  // namespace hokku::cuda
