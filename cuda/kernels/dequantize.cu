// SPDX-License-Identifier: Apache-2.0
// Repacked matrices as halves, for the products of a library: the reference of prefill.
#include "device/device.h"
#include "kernels/codebook_formats.h"
#include "kernels/params.h"

namespace hokku::cuda {

/// A thread for each group of 32 values.
template <class Format>
HOKKU_DEVICE void dequantize(const DequantizeParams& p) {
    wait_for_primary();
    allow_dependents();
    const uint32_t group = block_y() * num_threads() + thread_id();
    if (group >= p.weight.groups) return;
    const typename Format::Load weights = Format::load(p.weight, block_x(), group);
    uint32_t codes[8];
    Format::unpack(weights, codes);
    const GroupFactors factors = Format::factors(weights);
    uint16_t* out = p.out + (uint64_t{block_x()} * p.weight.groups + group) * kGroup;
    HOKKU_UNROLL
    for (uint32_t part = 0; part < 4; ++part) {
        Words4 words;
        HOKKU_UNROLL
        for (uint32_t w = 0; w < 4; ++w) {
            uint32_t pair = 0;
            HOKKU_UNROLL
            for (uint32_t upper = 0; upper < 2; ++upper) {
                const uint32_t i = part * 8 + w * 2 + upper;
                const auto code = static_cast<int8_t>(codes[i / 4] >> (i % 4 * 8));
                float value = factors.scale[i / 16] * static_cast<float>(code);
                if (Format::kHasOffset) value += factors.offset[i / 16];
                pair |= uint32_t{float_to_half_clamped(value)} << (16 * upper);
            }
            words.w[w] = pair;
        }
        store16(out + part * 8, words);
    }
}

#define HOKKU_DEQUANTIZE(name, Format)                       \
    HOKKU_KERNEL(dequantize_##name, DequantizeParams, 128) { \
        dequantize<Format>(p);                               \
    }

HOKKU_DEQUANTIZE(q4_k, FormatQ4K)
HOKKU_DEQUANTIZE(q5_k, FormatQ5K)
HOKKU_DEQUANTIZE(q6_k, FormatQ6K)
HOKKU_DEQUANTIZE(q8_0, FormatQ8_0)
HOKKU_DEQUANTIZE(q4_0, FormatQ4_0)
HOKKU_DEQUANTIZE(q4_1, FormatQ4_1)
HOKKU_DEQUANTIZE(q5_0, FormatQ5_0)
HOKKU_DEQUANTIZE(q5_1, FormatQ5_1)
HOKKU_DEQUANTIZE(q2_k, FormatQ2K)
HOKKU_DEQUANTIZE(q3_k, FormatQ3K)
HOKKU_DEQUANTIZE(iq4_nl, FormatIQ4NL)
HOKKU_DEQUANTIZE(iq4_xs, FormatIQ4XS)
HOKKU_DEQUANTIZE(mxfp4, FormatMXFP4)
HOKKU_DEQUANTIZE(iq1, FormatIQ1)
HOKKU_DEQUANTIZE(iq2_xxs, FormatIQ2XXS)
HOKKU_DEQUANTIZE(iq2_xs, FormatIQ2XS)
HOKKU_DEQUANTIZE(iq2_s, FormatIQ2S)
HOKKU_DEQUANTIZE(iq3_xxs, FormatIQ3XXS)
HOKKU_DEQUANTIZE(iq3_s, FormatIQ3S)
HOKKU_DEQUANTIZE(nvfp4, FormatNVFP4)
HOKKU_DEQUANTIZE(tq, FormatTQ)
HOKKU_DEQUANTIZE(q2_0, FormatQ2_0)

}  // namespace hokku::cuda
