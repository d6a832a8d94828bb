// SPDX-License-Identifier: Apache-2.0
// The kernels of a plug-in for the stub of a driver, which looks into none.
#include "plugin/images.h"

namespace hokku::cuda {

std::span<const void* const> kernel_images() {
    static const char image[] = "an image for the stub";
    static const void* const images[] = {image};
    return images;
}

}  // namespace hokku::cuda
