// SPDX-License-Identifier: Apache-2.0
// Gated products with weights of the common formats.
#include "kernels/gated_gemv.h"

namespace hokku::cuda {

#define HOKKU_GATED_FOR(name, Format, vectors, min_blocks)                               \
    HOKKU_KERNEL_RESIDENT(gated_gemv_##name##_##vectors, GatedGemvParams, kGatedThreads, \
                          min_blocks) {                                                  \
        gated_gemv<Format, vectors>(p);                                                  \
    }
#define HOKKU_GATED(name, Format)       \
    HOKKU_GATED_FOR(name, Format, 1, 3) \
    HOKKU_GATED_FOR(name, Format, 2, 2) \
    HOKKU_GATED_FOR(name, Format, 4, 2) \
    HOKKU_GATED_FOR(name, Format, 8, 1)

HOKKU_GATED(q4_k, FormatQ4K)
HOKKU_GATED(q5_k, FormatQ5K)
HOKKU_GATED(q6_k, FormatQ6K)
HOKKU_GATED(q8_0, FormatQ8_0)
HOKKU_GATED(q4_0, FormatQ4_0)
HOKKU_GATED(q4_1, FormatQ4_1)
HOKKU_GATED(q5_0, FormatQ5_0)
HOKKU_GATED(q5_1, FormatQ5_1)
HOKKU_GATED(q2_k, FormatQ2K)
HOKKU_GATED(q3_k, FormatQ3K)
HOKKU_GATED(iq4_nl, FormatIQ4NL)
HOKKU_GATED(iq4_xs, FormatIQ4XS)
HOKKU_GATED(mxfp4, FormatMXFP4)

}  // namespace hokku::cuda
