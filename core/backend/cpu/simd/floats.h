// SPDX-License-Identifier: Apache-2.0
// The register of floats of the instruction set that the including file is built for.
#pragma once

#if defined(__AVX512F__)
#include "backend/cpu/avx512/floats.h"
#elif defined(__AVX2__)
#include "backend/cpu/avx2/floats.h"
#elif defined(__aarch64__)
#include "backend/cpu/neon/floats.h"
#else
#error "this file belongs to kernels built with instruction set flags"
#endif
