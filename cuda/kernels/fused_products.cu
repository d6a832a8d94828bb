// SPDX-License-Identifier: Apache-2.0
// Fused products of one vector, with weights of the common formats.
#include "kernels/fused_products.h"

namespace hokku::cuda {

#define HOKKU_FUSED(name, Format)                                              \
    HOKKU_KERNEL_RESIDENT(qkv_##name, QkvParams, kGemvThreads, 4) {            \
        gemv<Format, 1>(p.gemv);                                               \
        finish_heads(p, LaunchPlace{});                                        \
    }                                                                          \
    HOKKU_KERNEL_RESIDENT(gemv_norm_##name, GemvNormParams, kGemvThreads, 4) { \
        gemv<Format, 1>(p.gemv);                                               \
        finish_norm(p, LaunchPlace{});                                         \
    }

HOKKU_FUSED(q4_k, FormatQ4K)
HOKKU_FUSED(q5_k, FormatQ5K)
HOKKU_FUSED(q6_k, FormatQ6K)
HOKKU_FUSED(q8_0, FormatQ8_0)
HOKKU_FUSED(q4_0, FormatQ4_0)
HOKKU_FUSED(q4_1, FormatQ4_1)
HOKKU_FUSED(q5_0, FormatQ5_0)
HOKKU_FUSED(q5_1, FormatQ5_1)
HOKKU_FUSED(q2_k, FormatQ2K)
HOKKU_FUSED(q3_k, FormatQ3K)
HOKKU_FUSED(iq4_nl, FormatIQ4NL)
HOKKU_FUSED(iq4_xs, FormatIQ4XS)
HOKKU_FUSED(mxfp4, FormatMXFP4)

}  // namespace hokku::cuda
