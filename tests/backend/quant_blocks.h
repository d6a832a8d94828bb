// SPDX-License-Identifier: Apache-2.0
// Random weight tensors of every block type for kernel tests: random codes, with scales that keep
// the values near 1, or extreme blocks. A tensor ends at a page that must not be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "gguf/tensor_type.h"
#include "model/weights.h"
#include "support/system.h"

namespace hokku::testing {

enum class BlockKind {
    plain,    ///< Scales of either sign around 1e-2.
    extreme,  ///< Blocks all 0x00 or 0xff, scales of 65504 (codes permitting), subnormal, negative.
};

/// A matrix whose last byte is the last readable one: the next page is protected.
class GuardedMatrix {
  public:
    GuardedMatrix(TensorType type, uint32_t rows, uint32_t cols, BlockKind kind, uint32_t seed);

    [[nodiscard]] const WeightMatrix& weight() const { return weight_; }
    /// [rows][cols], by dequantize_row.
    [[nodiscard]] const std::vector<float>& values() const { return values_; }

  private:
    std::unique_ptr<GuardedMemory> memory_;
    WeightMatrix weight_;
    std::vector<float> values_;
};

/// Every type that a weight may have, by dequantize_row.
const std::vector<TensorType>& weight_types();

}  // namespace hokku::testing
