// SPDX-License-Identifier: Apache-2.0
// GEMM over tile registers: 16 rows of x times 32 weight rows, over as many values as share a
// scale. Panels are those of avx512/gemm.cpp; rows of x lie as they are, 16 to a tile. The class
// Tiles is the CPU's registers, or in tests plain C++. Internal linkage on purpose.
//
// Tiles(num_tokens, num_values); load_x(x, stride) takes num_values codes of each row;
// load_weights(w) takes num_values / 4 rows of kGroupBytes of a panel; multiply(dots) writes
// [num_tokens][kGemmGroup].
#pragma once

#include "backend/cpu/avx512/quantize.h"
#include "backend/cpu/matmul_kernels.h"
#include "backend/cpu/simd/codebook_codes.h"
#include "gguf/tensor_type.h"

namespace hokku::cpu {

namespace {

constexpr size_t kTileTokens = kGemmTile;       // Rows of a tile register.
constexpr size_t kGroupBytes = kGemmGroup * 4;  // Codes of the group for 4 values.
static_assert(kTileTokens == 16 && kGemmGroup == 32);

/// Block b of row t of the tile that begins at row `base`.
HOKKU_INLINE void store_row_block(const GemmRows& rows, size_t base, size_t b, size_t t,
                                  const Block& block) {
    int8_t* codes = rows.codes + (base + t) * rows.n + b * 32;
    for (size_t half = 0; half < 2; ++half) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(codes + 16 * half), block.codes[half]);
    }
    const int32_t first = sum_of(block.sums[0]), second = sum_of(block.sums[1]);
    const size_t place = base * (rows.n / 32) + b * kTileTokens + t;
    int32_t* half_starts = rows.half_starts + 2 * base * (rows.n / 32) + 2 * b * kTileTokens + t;
    half_starts[0] = -128 * first;
    half_starts[kTileTokens] = -128 * second;
    rows.starts[place] = -128 * (first + second);
    rows.scales[place] = block.scale;
    rows.sums[place] = block.scale * static_cast<float>(first + second);
}

void pack_rows(const float* x, size_t x_stride, uint32_t tile_index, const GemmRows& rows,
               const GemmRows* residual) {
    const size_t base = tile_index * kTileTokens;
    for (size_t t = 0; t < kTileTokens; ++t) {
        for (size_t b = 0; b < rows.n / 32; ++b) {
            if (base + t >= rows.num_rows) {
                store_row_block(rows, base, b, t, Block{});
                if (residual) store_row_block(*residual, base, b, t, Block{});
                continue;
            }
            const float* values = x + (base + t) * x_stride + b * 32;
            const __m512 low = _mm512_loadu_ps(values), high = _mm512_loadu_ps(values + 16);
            const Block block = quantize(low, high);
            store_row_block(rows, base, b, t, block);
            if (!residual) continue;
            store_row_block(*residual, base, b, t, quantize_rest(low, high, block));
        }
    }
}

template <class Tiles, size_t kScaleValues, bool kHasMin>
void multiply_tiles(const GemmCall& call) {
    const GemmRows& rows = *call.rows;
    const size_t base = size_t{call.tile_index} * kTileTokens;
    const size_t place = base * (rows.n / 32) + call.begin / 32 * kTileTokens;
    const int8_t* x = rows.codes + base * rows.n + call.begin;
    const int32_t* starts = kScaleValues == 32 ? rows.starts + place : rows.half_starts + 2 * place;
    const float *x_scales = rows.scales + place, *x_sums = rows.sums + place;
    const uint8_t* w = call.panel.codes;
    const float *w_scales = call.panel.scales, *w_mins = call.panel.mins;

    const __mmask16 lanes[2] = {first_lanes(call.num_weights),
                                first_lanes(call.num_weights > 16 ? call.num_weights - 16 : 0)};
    const size_t left = rows.num_rows - base;
    const size_t num_tokens = left < kTileTokens ? left : kTileTokens;
    alignas(64) float sums[kTileTokens][kGemmGroup];
    for (size_t t = 0; t < num_tokens; ++t) {
        for (size_t h = 0; h < 2; ++h) {
            const float* old = call.out + t * call.out_stride + 16 * h;
            _mm512_store_ps(sums[t] + 16 * h, call.accumulate ? _mm512_maskz_loadu_ps(lanes[h], old)
                                                              : _mm512_setzero_ps());
        }
    }
    Tiles tiles(num_tokens, kScaleValues);
    alignas(64) int32_t dots[kTileTokens * kGemmGroup];
    for (size_t k = call.begin; k < call.end; k += kScaleValues) {
        tiles.load_x(x, rows.n);
        tiles.load_weights(w);
        tiles.multiply(dots);
        for (size_t h = 0; h < 2; ++h) {
            const __m512 scales = _mm512_load_ps(w_scales + 16 * h);
            // Halves of a block have no sums of their own: the starts are -128 times them.
            const __m512 mins =
                kHasMin ? _mm512_mul_ps(_mm512_load_ps(w_mins + 16 * h),
                                        _mm512_set1_ps(kScaleValues == 32 ? 1.0f : -0x1p-7f))
                        : _mm512_setzero_ps();
            for (size_t t = 0; t < num_tokens; ++t) {
                const __m512i whole = _mm512_add_epi32(_mm512_load_si512(dots + t * 32 + 16 * h),
                                                       _mm512_set1_epi32(starts[t]));
                __m512 sum = _mm512_load_ps(sums[t] + 16 * h);
                sum = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(whole), scales),
                                      _mm512_set1_ps(x_scales[t]), sum);
                if constexpr (kHasMin) {
                    const float x_sum = kScaleValues == 32
                                            ? x_sums[t]
                                            : static_cast<float>(starts[t]) * x_scales[t];
                    sum = _mm512_fmadd_ps(mins, _mm512_set1_ps(x_sum), sum);
                }
                _mm512_store_ps(sums[t] + 16 * h, sum);
            }
        }
        x += kScaleValues;
        w += kScaleValues / 4 * kGroupBytes;
        starts += kTileTokens;
        w_scales += kGemmGroup;
        if constexpr (kHasMin) w_mins += kGemmGroup;
        if ((k + kScaleValues) % 32 != 0) continue;
        x_scales += kTileTokens;
        x_sums += kTileTokens;
    }
    for (size_t t = 0; t < num_tokens; ++t) {
        float* out = call.out + t * call.out_stride;
        _mm512_mask_storeu_ps(out, lanes[0], _mm512_load_ps(sums[t]));
        if (lanes[1]) _mm512_mask_storeu_ps(out + 16, lanes[1], _mm512_load_ps(sums[t] + 16));
    }
}

/// Of a table with the kernels of avx512/: the same panels, other products.
template <class Tiles>
void fill_tile_gemm(MatmulKernels& table) {
    table.gemm_tile = kTileTokens;
    table.pack_tile = pack_rows;
    const auto set = [&table]<class Type>(TensorType type, Type) {
        table.gemm[static_cast<uint32_t>(type)].run =
            multiply_tiles<Tiles, Type::kScaleValues, Type::kHasMin>;
    };
    set(TensorType::q4_0, codes::Q4_0{});
    set(TensorType::q4_1, codes::Q4_1{});
    set(TensorType::q5_0, codes::Q5_0{});
    set(TensorType::q5_1, codes::Q5_1{});
    set(TensorType::q8_0, codes::Q8_0{});
    set(TensorType::q2_k, codes::Q2_K{});
    set(TensorType::q3_k, codes::Q3_K{});
    set(TensorType::q4_k, codes::Q4_K{});
    set(TensorType::q5_k, codes::Q5_K{});
    set(TensorType::q6_k, codes::Q6_K{});
    set(TensorType::iq1_s, codes::Iq1S{});
    set(TensorType::iq1_m, codes::Iq1M{});
    set(TensorType::iq2_xxs, codes::Iq2Xxs{});
    set(TensorType::iq2_xs, codes::Iq2Xs{});
    set(TensorType::iq2_s, codes::Iq2S{});
    set(TensorType::iq3_xxs, codes::Iq3Xxs{});
    set(TensorType::iq3_s, codes::Iq3S{});
    set(TensorType::iq4_nl, codes::Iq4Nl{});
    set(TensorType::iq4_xs, codes::Iq4Xs{});
    set(TensorType::mxfp4, codes::Mxfp4{});
    set(TensorType::nvfp4, codes::Nvfp4{});
    set(TensorType::q1_0, codes::Q1_0{});
    set(TensorType::q2_0, codes::Q2_0{});
    set(TensorType::tq1_0, codes::Tq1_0{});
    set(TensorType::tq2_0, codes::Tq2_0{});
}

}  // namespace
}  // namespace hokku::cpu
