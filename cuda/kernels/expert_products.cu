// SPDX-License-Identifier: Apache-2.0
// Products with the experts that a router has chosen, for weights of every format.
#include "kernels/codebook_formats.h"
#include "kernels/gemv.h"

namespace hokku::cuda {

#define HOKKU_EXPERT(name, Format)                                                    \
    HOKKU_KERNEL_RESIDENT(expert_##name, ExpertGemvParams, kGemvThreads, 3) {         \
        gemv<Format, 1>(p.gemv, LaunchPlace{},                                        \
                        ChosenExperts{p.ids, p.rows_of_expert, p.outputs_of_vector}); \
    }

HOKKU_EXPERT(q4_k, FormatQ4K)
HOKKU_EXPERT(q5_k, FormatQ5K)
HOKKU_EXPERT(q6_k, FormatQ6K)
HOKKU_EXPERT(q8_0, FormatQ8_0)
HOKKU_EXPERT(q4_0, FormatQ4_0)
HOKKU_EXPERT(q4_1, FormatQ4_1)
HOKKU_EXPERT(q5_0, FormatQ5_0)
HOKKU_EXPERT(q5_1, FormatQ5_1)
HOKKU_EXPERT(q2_k, FormatQ2K)
HOKKU_EXPERT(q3_k, FormatQ3K)
HOKKU_EXPERT(iq4_nl, FormatIQ4NL)
HOKKU_EXPERT(iq4_xs, FormatIQ4XS)
HOKKU_EXPERT(mxfp4, FormatMXFP4)
HOKKU_EXPERT(iq1, FormatIQ1)
HOKKU_EXPERT(iq2_xxs, FormatIQ2XXS)
HOKKU_EXPERT(iq2_xs, FormatIQ2XS)
HOKKU_EXPERT(iq2_s, FormatIQ2S)
HOKKU_EXPERT(iq3_xxs, FormatIQ3XXS)
HOKKU_EXPERT(iq3_s, FormatIQ3S)
HOKKU_EXPERT(nvfp4, FormatNVFP4)
HOKKU_EXPERT(tq, FormatTQ)
HOKKU_EXPERT(q2_0, FormatQ2_0)

}  // namespace hokku::cuda
