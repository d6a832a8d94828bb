// SPDX-License-Identifier: Apache-2.0
// The compiled kernels that are linked into the plug-in, each a fat binary; made at build.
#pragma once

#include <span>

namespace hokku::cuda {

std::span<const void* const> kernel_images();

}  // namespace hokku::cuda
