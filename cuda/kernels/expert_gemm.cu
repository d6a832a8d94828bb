// SPDX-License-Identifier: Apache-2.0
// Products of many vectors with the experts that a router has chosen, each expert's together.
#include "kernels/codebook_formats.h"
#include "kernels/gemm.h"

namespace hokku::cuda {

template <class Format>
HOKKU_DEVICE void expert_gemm(const ExpertGemmParams& p) {
    wait_for_primary();
    allow_dependents();
    const uint32_t expert = block_z(), begin = p.bounds[expert], end = p.bounds[expert + 1];
    if (block_x() * kGemmVectors >= end - begin) return;  // The whole block.
    gemm<Format>(p.gemm, ListedVectors{p.outputs + begin, end - begin, expert * p.rows_of_expert,
                                       p.rows_of_expert, p.outputs_of_vector});
}

// Formats whose halves differ need more registers.
#define HOKKU_EXPERT_GEMM(name, Format, min_blocks)                                         \
    HOKKU_KERNEL_RESIDENT(expert_gemm_##name, ExpertGemmParams, kGemmThreads, min_blocks) { \
        expert_gemm<Format>(p);                                                             \
    }

HOKKU_EXPERT_GEMM(q4_k, FormatQ4K, 2)
HOKKU_EXPERT_GEMM(q5_k, FormatQ5K, 2)
HOKKU_EXPERT_GEMM(q6_k, FormatQ6K, 1)
HOKKU_EXPERT_GEMM(q8_0, FormatQ8_0, 2)
HOKKU_EXPERT_GEMM(q4_0, FormatQ4_0, 2)
HOKKU_EXPERT_GEMM(q4_1, FormatQ4_1, 2)
HOKKU_EXPERT_GEMM(q5_0, FormatQ5_0, 2)
HOKKU_EXPERT_GEMM(q5_1, FormatQ5_1, 2)
HOKKU_EXPERT_GEMM(q2_k, FormatQ2K, 1)
HOKKU_EXPERT_GEMM(q3_k, FormatQ3K, 1)
HOKKU_EXPERT_GEMM(iq4_nl, FormatIQ4NL, 2)
HOKKU_EXPERT_GEMM(iq4_xs, FormatIQ4XS, 2)
HOKKU_EXPERT_GEMM(mxfp4, FormatMXFP4, 2)
HOKKU_EXPERT_GEMM(iq1, FormatIQ1, 1)
HOKKU_EXPERT_GEMM(iq2_xxs, FormatIQ2XXS, 2)
HOKKU_EXPERT_GEMM(iq2_xs, FormatIQ2XS, 1)
HOKKU_EXPERT_GEMM(iq2_s, FormatIQ2S, 1)
HOKKU_EXPERT_GEMM(iq3_xxs, FormatIQ3XXS, 2)
HOKKU_EXPERT_GEMM(iq3_s, FormatIQ3S, 2)
HOKKU_EXPERT_GEMM(nvfp4, FormatNVFP4, 1)
HOKKU_EXPERT_GEMM(tq, FormatTQ, 2)
HOKKU_EXPERT_GEMM(q2_0, FormatQ2_0, 2)

}  // namespace hokku::cuda
