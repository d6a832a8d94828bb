// SPDX-License-Identifier: Apache-2.0
// Products with weights of the rare formats: one vector, up to eight, or many.
#include "kernels/codebook_formats.h"
#include "kernels/gemm.h"
#include "kernels/gemv.h"

namespace hokku::cuda {

#define HOKKU_PRODUCTS(name, Format) \
    HOKKU_GEMV(name, Format, 1, 3)   \
    HOKKU_GEMV(name, Format, 8, 2)   \
    HOKKU_GEMM(name, Format, 2)

HOKKU_PRODUCTS(iq1, FormatIQ1)
HOKKU_PRODUCTS(iq2_xxs, FormatIQ2XXS)
HOKKU_PRODUCTS(iq2_xs, FormatIQ2XS)
HOKKU_PRODUCTS(iq2_s, FormatIQ2S)
HOKKU_PRODUCTS(iq3_xxs, FormatIQ3XXS)
HOKKU_PRODUCTS(iq3_s, FormatIQ3S)
HOKKU_PRODUCTS(nvfp4, FormatNVFP4)
HOKKU_PRODUCTS(tq, FormatTQ)
HOKKU_PRODUCTS(q2_0, FormatQ2_0)

}  // namespace hokku::cuda
