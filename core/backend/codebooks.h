// SPDX-License-Identifier: Apache-2.0
// The grids of the IQ formats, packed as the comments of codebooks.cpp say.
#pragma once

#include <cstdint>

namespace hokku::blocks {

extern const uint16_t kIq2XxsGrid[256];
extern const uint16_t kIq2XsGrid[512];
extern const uint16_t kIq2SGrid[1024];
extern const uint16_t kIq3XxsGrid[256];
extern const uint16_t kIq3SGrid[512];
extern const uint16_t kIq1SGrid[2048];

}  // namespace hokku::blocks
