// SPDX-License-Identifier: Apache-2.0
// Products of up to eight vectors with weights of the common formats.
#include "kernels/gemv.h"

namespace hokku::cuda {

#define HOKKU_GEMVS(name, Format)  \
    HOKKU_GEMV(name, Format, 1, 4) \
    HOKKU_GEMV(name, Format, 2, 3) \
    HOKKU_GEMV(name, Format, 4, 2) \
    HOKKU_GEMV(name, Format, 8, 2)

HOKKU_GEMVS(q4_k, FormatQ4K)
HOKKU_GEMVS(q5_k, FormatQ5K)
HOKKU_GEMVS(q6_k, FormatQ6K)
HOKKU_GEMVS(q8_0, FormatQ8_0)
HOKKU_GEMVS(q4_0, FormatQ4_0)
HOKKU_GEMVS(q4_1, FormatQ4_1)
HOKKU_GEMVS(q5_0, FormatQ5_0)
HOKKU_GEMVS(q5_1, FormatQ5_1)
HOKKU_GEMVS(q2_k, FormatQ2K)
HOKKU_GEMVS(q3_k, FormatQ3K)
HOKKU_GEMVS(iq4_nl, FormatIQ4NL)
HOKKU_GEMVS(iq4_xs, FormatIQ4XS)
HOKKU_GEMVS(mxfp4, FormatMXFP4)

}  // namespace hokku::cuda
