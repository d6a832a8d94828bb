// SPDX-License-Identifier: Apache-2.0
// LaunchSize: how a kernel is launched.
#pragma once

#include <cstdint>

namespace hokku::cuda {

inline constexpr uint32_t kNoPersistentFormat = UINT32_MAX;

struct LaunchSize {
    uint32_t grid_x = 1, grid_y = 1, grid_z = 1, num_threads = 32, shared_bytes = 0;
    bool is_cooperative = false;
    uint32_t format = kNoPersistentFormat;  ///< PersistentFormat of the weights of a product.
};

}  // namespace hokku::cuda
