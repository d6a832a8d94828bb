// SPDX-License-Identifier: Apache-2.0
// Quantises vectors for the GEMV kernels: see vector.h.
#include "backend/cpu/neon/quantize.h"
#include "backend/cpu/neon/tables.h"
#include "backend/cpu/neon/vector.h"

namespace hokku::cpu {

namespace {

HOKKU_INLINE void store_block(const BlockVector& v, size_t b, const Quantized& block) {
    vst1q_s8(v.codes + b * 32, block.codes.front);
    vst1q_s8(v.codes + b * 32 + 16, block.codes.back);
    v.scales[b] = block.scale;
    const int32x4_t sums = sum_codes(block.codes);
    vst1q_f32(v.quarter_sums + b * 4, vmulq_n_f32(vcvtq_f32_s32(sums), block.scale));
    v.sums[b] = block.scale * static_cast<float>(vaddvq_s32(sums));
}

void prepare_vector(const float* x, size_t n, VectorLayout, int32_t, const GemvVector& vector,
                    const GemvVector* residual) {
    for (size_t b = 0; b < n / 32; ++b) {
        const Values values = load_values(x + b * 32);
        const Quantized block = quantize(values);
        store_block(block_vector(vector, n), b, block);
        if (residual) store_block(block_vector(*residual, n), b, quantize(rest_of(values, block)));
    }
}

}  // namespace

void fill_neon_activations(MatmulKernels& table) {
    table.prepare_vector = prepare_vector;
}

}  // namespace hokku::cpu
