// SPDX-License-Identifier: Apache-2.0
// Builds a RopeSpec from a file: the table of inverse frequencies with linear, YaRN, Llama 3.1 and
// LongRoPE scaling in it, computed in double. No rotation is done here.
#pragma once

#include <cstdint>

#include "model/hparams.h"
#include "model/model_spec.h"

namespace hokku {

struct RopeRequest {
    RopePairing pairing = RopePairing::halves;
    uint32_t num_dims = 0;  ///< Even.
    double base = 10000.0;  ///< theta
    bool is_scaled = true;  ///< false: neither scaling keys nor factor tensors (windowed layers).
};

/// Errors : kept in `keys`: bad or contradictory scaling keys, factor tensors of a wrong size.
/// Source : RoFormer arXiv:2104.09864; linear: arXiv:2306.15595; YaRN: arXiv:2309.00071;
///          LongRoPE: arXiv:2402.13753; rope_freqs.weight holds Llama 3.1's divisors.
RopeSpec make_rope(Hparams& keys, const RopeRequest& request);

}  // namespace hokku
