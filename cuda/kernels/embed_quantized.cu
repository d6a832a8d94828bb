// SPDX-License-Identifier: Apache-2.0
// Stage embed from a table that is quantised, as it is repacked for the product of a tied head.
#include "device/device.h"
#include "kernels/codebook_formats.h"
#include "kernels/params.h"

namespace hokku::cuda {

/// A thread for each group of 32 values; block_y is the row.
template <class Format>
HOKKU_DEVICE void embed(const EmbedQuantizedParams& p) {
    wait_for_primary();
    allow_dependents();
    const uint32_t group = block_x() * num_threads() + thread_id();
    if (group >= p.table.groups) return;
    const typename Format::Load weights = Format::load(p.table, p.tokens[block_y()], group);
    uint32_t codes[8];
    Format::unpack(weights, codes);
    const GroupFactors factors = Format::factors(weights);
    float* out = p.out + (uint64_t{block_y()} * p.table.groups + group) * kGroup;
    HOKKU_UNROLL
    for (uint32_t i = 0; i < kGroup; ++i) {
        const auto code = static_cast<float>(static_cast<int8_t>(codes[i / 4] >> (i % 4 * 8)));
        const float value = factors.scale[i / 16] * code;
        out[i] = (Format::kHasOffset ? value + factors.offset[i / 16] : value) * p.scale;
    }
}

#define HOKKU_EMBED(name, Format)                           \
    HOKKU_KERNEL(embed_##name, EmbedQuantizedParams, 128) { \
        embed<Format>(p);                                   \
    }

HOKKU_EMBED(q4_k, FormatQ4K)
HOKKU_EMBED(q5_k, FormatQ5K)
HOKKU_EMBED(q6_k, FormatQ6K)
HOKKU_EMBED(q8_0, FormatQ8_0)
HOKKU_EMBED(q4_0, FormatQ4_0)
HOKKU_EMBED(q4_1, FormatQ4_1)
HOKKU_EMBED(q5_0, FormatQ5_0)
HOKKU_EMBED(q5_1, FormatQ5_1)
HOKKU_EMBED(q2_k, FormatQ2K)
HOKKU_EMBED(q3_k, FormatQ3K)
HOKKU_EMBED(iq4_nl, FormatIQ4NL)
HOKKU_EMBED(iq4_xs, FormatIQ4XS)
HOKKU_EMBED(mxfp4, FormatMXFP4)
HOKKU_EMBED(iq1, FormatIQ1)
HOKKU_EMBED(iq2_xxs, FormatIQ2XXS)
HOKKU_EMBED(iq2_xs, FormatIQ2XS)
HOKKU_EMBED(iq2_s, FormatIQ2S)
HOKKU_EMBED(iq3_xxs, FormatIQ3XXS)
HOKKU_EMBED(iq3_s, FormatIQ3S)
HOKKU_EMBED(nvfp4, FormatNVFP4)
HOKKU_EMBED(tq, FormatTQ)
HOKKU_EMBED(q2_0, FormatQ2_0)

}  // namespace hokku::cuda
