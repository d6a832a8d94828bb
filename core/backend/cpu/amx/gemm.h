// SPDX-License-Identifier: Apache-2.0
// GEMM over tile registers: 16 rows of x times 32 weight rows, over as many values as share a
// scale. Panels are those of avx512/gemm.cpp with signed codes; rows of x lie block by block, 16 to
// a tile, with plain sums of codes in half_starts and nothing in starts. The class Tiles is the
// CPU's registers, or in tests plain C++. Internal linkage on purpose.
//
// Tiles<num_values>: load_x(x) takes num_values codes of each of 16 rows, kRowBytes apart;
// load_weights(w) takes num_values / 4 rows of kGroupBytes of a panel; multiply(dots) writes
// [kTileTokens][kGemmGroup].
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

/// Codes of a tile of x for one block of 32 values: [kTileTokens][32].
constexpr size_t kRowBytes = 32;
constexpr size_t kBlockBytes = kTileTokens * kRowBytes;

/// Block b of row t of the tile that begins at row `base`.
HOKKU_INLINE void store_row_block(const GemmRows& rows, size_t base, size_t b, size_t t,
                                  const Block& block) {
    int8_t* codes = rows.codes + base * rows.n + b * kBlockBytes + t * kRowBytes;
    for (size_t half = 0; half < 2; ++half) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(codes + 16 * half), block.codes[half]);
    }
    const int32_t first = sum_of(block.sums[0]), second = sum_of(block.sums[1]);
    const size_t place = base * (rows.n / 32) + b * kTileTokens + t;
    int32_t* half_sums = rows.half_starts + 2 * base * (rows.n / 32) + 2 * b * kTileTokens + t;
    half_sums[0] = first;
    half_sums[kTileTokens] = second;
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

/// Scales and minima of the products of a call, which move along as they are used.
struct Factors {
    const float *w_scales, *w_mins;  ///< [scale][kGemmGroup]
    const float *x_scales, *x_sums;  ///< [block][kTileTokens]
    const int32_t* half_sums;        ///< [half block][kTileTokens]
};

/// Products of so many scales wait in the L1 cache, while tiles make the next ones.
constexpr size_t kBatch = 4;
using Dots = int32_t[kBatch][kTileTokens][kGemmGroup];
/// Rows of x that are scaled behind each of the next products: vectors work while tiles do.
constexpr size_t kPartTokens = kTileTokens / kBatch;

/// sums[t][w] += dots[i][t][w] * scale of w * scale of t, and minima, for kPartTokens rows.
template <size_t kScaleValues, bool kHasMin>
HOKKU_INLINE void scale_dots(const Dots& dots, size_t num_scales, size_t first_token,
                             const Factors& factors, float (&sums)[kTileTokens][kGemmGroup]) {
    __m512 acc[kPartTokens][2];
#pragma GCC unroll 8
    for (size_t t = 0; t < kPartTokens; ++t) {
        for (size_t h = 0; h < 2; ++h) acc[t][h] = _mm512_load_ps(sums[first_token + t] + 16 * h);
    }
    for (size_t i = 0; i < num_scales; ++i) {
        const size_t place = i * kScaleValues / 32 * kTileTokens + first_token;
        const float* w_scales = factors.w_scales + i * kGemmGroup;
        const __m512 scales[2] = {_mm512_load_ps(w_scales), _mm512_load_ps(w_scales + 16)};
#pragma GCC unroll 8
        for (size_t t = 0; t < kPartTokens; ++t) {
            const __m512 scale = _mm512_set1_ps(factors.x_scales[place + t]);
            const int32_t* row = dots[i][first_token + t];
            for (size_t h = 0; h < 2; ++h) {
                const __m512 dot = _mm512_cvtepi32_ps(_mm512_load_si512(row + 16 * h));
                acc[t][h] = _mm512_fmadd_ps(_mm512_mul_ps(dot, scales[h]), scale, acc[t][h]);
            }
        }
        if constexpr (kHasMin) {
            const float* w_mins = factors.w_mins + i * kGemmGroup;
            const __m512 mins[2] = {_mm512_load_ps(w_mins), _mm512_load_ps(w_mins + 16)};
            const int32_t* half_sums = factors.half_sums + i * kTileTokens + first_token;
#pragma GCC unroll 8
            for (size_t t = 0; t < kPartTokens; ++t) {
                const __m512 sum =
                    _mm512_set1_ps(kScaleValues == 32 ? factors.x_sums[place + t]
                                                      : static_cast<float>(half_sums[t]) *
                                                            factors.x_scales[place + t]);
                for (size_t h = 0; h < 2; ++h) acc[t][h] = _mm512_fmadd_ps(mins[h], sum, acc[t][h]);
            }
        }
    }
#pragma GCC unroll 8
    for (size_t t = 0; t < kPartTokens; ++t) {
        for (size_t h = 0; h < 2; ++h) _mm512_store_ps(sums[first_token + t] + 16 * h, acc[t][h]);
    }
}

template <template <size_t> class Tiles, size_t kScaleValues, bool kHasMin>
void multiply_tiles(const GemmCall& call) {
    const GemmRows& rows = *call.rows;
    const size_t base = size_t{call.tile_index} * kTileTokens;
    const size_t place = base * (rows.n / 32) + call.begin / 32 * kTileTokens;
    const int8_t* x = rows.codes + base * rows.n + call.begin * kTileTokens;
    const uint8_t* w = call.panel.codes;
    Factors factors{call.panel.scales, call.panel.mins, rows.scales + place, rows.sums + place,
                    rows.half_starts + 2 * place};

    const __mmask16 lanes[2] = {first_lanes(call.num_weights),
                                first_lanes(call.num_weights > 16 ? call.num_weights - 16 : 0)};
    const size_t left = rows.num_rows - base;
    const size_t num_tokens = left < kTileTokens ? left : kTileTokens;
    alignas(64) float sums[kTileTokens][kGemmGroup];
    for (size_t t = 0; t < kTileTokens; ++t) {
        const bool has_old = call.accumulate && t < num_tokens;
        for (size_t h = 0; h < 2; ++h) {
            const float* old = call.out + t * call.out_stride + 16 * h;
            _mm512_store_ps(sums[t] + 16 * h,
                            has_old ? _mm512_maskz_loadu_ps(lanes[h], old) : _mm512_setzero_ps());
        }
    }
    Tiles<kScaleValues> tiles;
    alignas(64) Dots dots[2];
    size_t waiting = 0;  // Products of the last batch.
    const size_t total = (call.end - call.begin) / kScaleValues;
    for (size_t first = 0; first < total + kBatch; first += kBatch) {
        const size_t left_over = total - (first < total ? first : total);
        const size_t num_scales = left_over < kBatch ? left_over : kBatch;
        Dots& next = dots[first / kBatch % 2];
        const Dots& last = dots[1 - first / kBatch % 2];
#pragma GCC unroll 4
        for (size_t i = 0; i < kBatch; ++i) {
            if (i < num_scales) {
                const size_t value = i * kScaleValues;
                tiles.load_x(x + value / 32 * kBlockBytes + value % 32);
                tiles.load_weights(w + value / 4 * kGroupBytes);
                tiles.multiply(next[i][0]);
            }
            if (waiting > 0 && i * kPartTokens < num_tokens)
                scale_dots<kScaleValues, kHasMin>(last, waiting, i * kPartTokens, factors, sums);
        }
        // Whole blocks but at the end, where nothing follows.
        const size_t num_values = num_scales * kScaleValues;
        x += num_values / 32 * kBlockBytes;
        w += num_values / 4 * kGroupBytes;
        const size_t past = waiting * kScaleValues / 32 * kTileTokens;
        factors.w_scales += waiting * kGemmGroup;
        factors.w_mins += kHasMin ? waiting * kGemmGroup : 0;
        factors.x_scales += past;
        factors.x_sums += past;
        factors.half_sums += waiting * kTileTokens;
        waiting = num_scales;
    }
    for (size_t t = 0; t < num_tokens; ++t) {
        float* out = call.out + t * call.out_stride;
        _mm512_mask_storeu_ps(out, lanes[0], _mm512_load_ps(sums[t]));
        if (lanes[1]) _mm512_mask_storeu_ps(out + 16, lanes[1], _mm512_load_ps(sums[t] + 16));
    }
}

/// Of a table with the kernels of avx512/: panels with signed codes, other products.
template <template <size_t> class Tiles>
void fill_tile_gemm(MatmulKernels& table) {
    table.gemm_tile = kTileTokens;
    table.has_signed_panels = true;
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
