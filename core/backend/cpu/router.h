// SPDX-License-Identifier: Apache-2.0
// The router of expert layers: from a token's router logits to its experts and their weights.
#pragma once

#include <cstdint>

#include "model/model_spec.h"

namespace hokku::cpu {

/// Chooses spec.num_used experts, best first; of equals the one with the lower index.
///
/// Shapes : scores [num_experts], logits on entry, overwritten; selection_bias [num_experts] or
///          null; chosen, weights [num_used].
/// Threads: re-entrant.
/// Source : Shazeer et al. 2017, arXiv:1701.06538; groups and bias: DeepSeek-V3, arXiv:2412.19437.
void choose_experts(const ExpertSpec& spec, float* scores, const float* selection_bias,
                    uint32_t* chosen, float* weights);

}  // namespace hokku::cpu
