// SPDX-License-Identifier: Apache-2.0
// Rows of the embedding, which the host looks up in the mapped file.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/model.h"

namespace hokku::cuda {

/// The row of a token at a position, [dim]: scaled, with what the model adds for the position.
/// `scratch` is the caller's to keep.
void look_up_row(const Model& model, int32_t token, uint32_t position, std::span<float> out,
                 std::vector<float>& scratch);

}  // namespace hokku::cuda
