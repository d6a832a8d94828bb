// SPDX-License-Identifier: Apache-2.0
// Products of many vectors with weights of the common formats.
#include "kernels/gemm.h"

namespace hokku::cuda {

HOKKU_GEMM(q4_k, FormatQ4K, 2)
HOKKU_GEMM(q5_k, FormatQ5K, 2)
HOKKU_GEMM(q6_k, FormatQ6K, 2)
HOKKU_GEMM(q8_0, FormatQ8_0, 2)
HOKKU_GEMM(q4_0, FormatQ4_0, 2)
HOKKU_GEMM(q4_1, FormatQ4_1, 2)
HOKKU_GEMM(q5_0, FormatQ5_0, 2)
HOKKU_GEMM(q5_1, FormatQ5_1, 2)
HOKKU_GEMM(q2_k, FormatQ2K, 1)  // Two scales and two offsets would spill.
HOKKU_GEMM(q3_k, FormatQ3K, 2)
HOKKU_GEMM(iq4_nl, FormatIQ4NL, 2)
HOKKU_GEMM(iq4_xs, FormatIQ4XS, 2)
HOKKU_GEMM(mxfp4, FormatMXFP4, 2)

}  // namespace hokku::cuda
