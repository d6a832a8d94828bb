// SPDX-License-Identifier: Apache-2.0
// Dequantisation: GGUF blocks of any weight type to float32, bit for bit as the format defines
// them. The block layouts are described at each decoder; no arithmetic on whole tensors here.
#pragma once

#include <cstddef>

#include "gguf/tensor_type.h"

namespace hokku {

/// Whether dequantize_row knows the type.
bool can_dequantize(TensorType type);

/// Converts n consecutive values to float32.
///
/// Shapes : src n / block_values blocks, any alignment; dst [n].
/// Needs  : can_dequantize(type); n is a multiple of the type's block_values.
/// Threads: re-entrant.
/// Source : golden values of gguf-py 0.19.0 and ggml (tests/backend/dequantize_test.cpp).
void dequantize_row(TensorType type, const std::byte* src, size_t n, float* dst);

}  // namespace hokku
