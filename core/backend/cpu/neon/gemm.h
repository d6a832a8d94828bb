// SPDX-License-Identifier: Apache-2.0
// GEMM for many rows of x: up to 32 weight rows are unpacked to signed codes over up to 1024 values
// and meet tiles of four rows of x. `Products` says how an instruction multiplies four weight rows
// by four rows of x: gemm.cpp by dot products, gemm_i8mm.cpp by products of small matrices.
// Internal linkage on purpose.
//
// Codes of four rows, of weights and of x alike, are interleaved by groups of Products::kGroup
// values. Orders that the kernels share:
//   panel.codes  [kGemmGroup / 4][depth / kGroup][4][kGroup]
//   panel.scales [depth / 32 or / 16][kGemmGroup], panel.mins alike
//   rows.codes   of a tile: [n / kGroup][4][kGroup]
//   rows.scales, rows.sums of a tile: [n / 32][4]; rows.half_starts: [n / 16][4] sums of codes
// Eight weight rows are multiplied together: 8 accumulators of int32 and 8 of float32.
#pragma once

#include "backend/cpu/matmul_kernels.h"
#include "backend/cpu/neon/quantize.h"
#include "gguf/tensor_type.h"

namespace hokku::cpu {
namespace {

constexpr size_t kTile = 4;  // Rows of x.

// --- Packing x -----------------------------------------------------------------------------------

/// Four blocks, of four rows, as 128 interleaved codes.
template <class Products>
HOKKU_INLINE void store_codes(int8_t* out, const Codes (&rows)[4]) {
    Products::interleave(out, rows[0].front, rows[1].front, rows[2].front, rows[3].front);
    Products::interleave(out + 64, rows[0].back, rows[1].back, rows[2].back, rows[3].back);
}

/// Block b of the tile that begins at row `base`.
template <class Products>
HOKKU_INLINE void store_tile_block(const GemmRows& rows, size_t base, size_t b,
                                   const Quantized (&blocks)[kTile]) {
    Codes codes[kTile];
    const size_t place = base * (rows.n / 32) + b * kTile;
    for (size_t t = 0; t < kTile; ++t) {
        codes[t] = blocks[t].codes;
        const int32x4_t sums = sum_codes(codes[t]);
        rows.scales[place + t] = blocks[t].scale;
        rows.sums[place + t] = blocks[t].scale * static_cast<float>(vaddvq_s32(sums));
        rows.half_starts[2 * place + t] = sums[0] + sums[1];
        rows.half_starts[2 * place + kTile + t] = sums[2] + sums[3];
    }
    store_codes<Products>(rows.codes + base * rows.n + b * 32 * kTile, codes);
}

template <class Products>
void pack_tile(const float* x, size_t x_stride, uint32_t tile_index, const GemmRows& rows,
               const GemmRows* residual) {
    const size_t base = tile_index * kTile;
    for (size_t b = 0; b < rows.n / 32; ++b) {
        Quantized blocks[kTile] = {}, rests[kTile] = {};
        for (size_t t = 0; t < kTile && base + t < rows.num_rows; ++t) {
            const Values values = load_values(x + (base + t) * x_stride + b * 32);
            blocks[t] = quantize(values);
            if (residual) rests[t] = quantize(rest_of(values, blocks[t]));
        }
        store_tile_block<Products>(rows, base, b, blocks);
        if (residual) store_tile_block<Products>(*residual, base, b, rests);
    }
}

// --- Unpacking weights ---------------------------------------------------------------------------

/// Weight rows of a panel from `first` on, up to four; those that the matrix lacks are zero.
struct Quad {
    const uint8_t* row[4];  ///< Null: none.
    size_t first;
    int8_t* codes;
};

HOKKU_INLINE Quad quad_of(const GemmUnpackCall& call, size_t first, size_t byte_offset) {
    Quad quad{
        {}, first, reinterpret_cast<int8_t*>(call.panel.codes) + first * (call.end - call.begin)};
    for (size_t r = 0; r < 4 && first + r < call.num_rows; ++r)
        quad.row[r] = call.weights + (first + r) * call.row_stride + byte_offset;
    return quad;
}
/// As many rows as multiply() reads: eight together.
HOKKU_INLINE size_t padded_rows(uint32_t num_rows) {
    return (num_rows + 7) / 8 * 8;
}

template <class Products, class Block>
void unpack_32(const GemmUnpackCall& call) {
    for (size_t first = 0; first < padded_rows(call.num_rows); first += 4) {
        const Quad quad = quad_of(call, first, call.begin / 32 * Block::kBytes);
        for (size_t b = 0; b < (call.end - call.begin) / 32; ++b) {
            Codes codes[4] = {};
            for (size_t r = 0; r < 4; ++r) {
                const size_t place = b * kGemmGroup + first + r;
                const uint8_t* p = quad.row[r] ? quad.row[r] + b * Block::kBytes : nullptr;
                if (p) codes[r] = Block::codes(p);
                call.panel.scales[place] = p ? Block::scale(p) : 0.0f;
                if constexpr (Block::kHasMin) call.panel.mins[place] = p ? Block::min(p) : 0.0f;
            }
            store_codes<Products>(quad.codes + b * 128, codes);
        }
    }
}

/// Scales and minima of super-block `index` of one row.
template <class Block>
HOKKU_INLINE void store_scales(const GemmUnpackCall& call, size_t row, size_t index,
                               const uint8_t* p) {
    constexpr size_t kScales = 256 / Block::kScaleValues;
    const SuperScales s = p ? Block::scales(p) : SuperScales{};
    float scales[kScales], mins[kScales] = {};
    for (size_t i = 0; i < kScales / 4; ++i) {
        vst1q_f32(scales + 4 * i, s.scales[i]);
        if constexpr (Block::kHasMin) vst1q_f32(mins + 4 * i, s.mins[i]);
    }
    for (size_t i = 0; i < kScales; ++i) {
        const size_t place = (index * kScales + i) * kGemmGroup + row;
        call.panel.scales[place] = scales[i];
        if constexpr (Block::kHasMin) call.panel.mins[place] = mins[i];
    }
}

template <class Products, class Block>
void unpack_256(const GemmUnpackCall& call) {
    for (size_t first = 0; first < padded_rows(call.num_rows); first += 4) {
        const Quad quad = quad_of(call, first, call.begin / 256 * Block::kBytes);
        for (size_t b = 0; b < (call.end - call.begin) / 256; ++b) {
            const auto block_of = [&](size_t r) HOKKU_LAMBDA {
                return quad.row[r] ? quad.row[r] + b * Block::kBytes : nullptr;
            };
            for (size_t r = 0; r < 4; ++r) store_scales<Block>(call, first + r, b, block_of(r));
            for (int j = 0; j < 8; ++j) {
                Codes codes[4] = {};
                for (size_t r = 0; r < 4; ++r) {
                    if (const uint8_t* p = block_of(r)) codes[r] = Block::codes(p, j);
                }
                store_codes<Products>(quad.codes + b * 1024 + static_cast<size_t>(j) * 128, codes);
            }
        }
    }
}

// --- Multiplying ---------------------------------------------------------------------------------

/// Sums of four weight rows times four rows of x, in the order of Products.
struct Sums {
    float32x4_t part[4];
};

template <class Products>
HOKKU_INLINE void add_scaled(Sums& sums, const int32x4_t (&dots)[4], float32x4_t weights,
                             float32x4_t x) {
    const typename Products::Factors w = Products::of_weights(weights), f = Products::of_x(x);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
        sums.part[i] =
            vfmaq_f32(sums.part[i], vmulq_f32(vcvtq_f32_s32(dots[i]), w.part[i]), f.part[i]);
}
template <class Products>
HOKKU_INLINE void add_mins(Sums& sums, float32x4_t mins, float32x4_t x_sums) {
    const typename Products::Factors w = Products::of_weights(mins), f = Products::of_x(x_sums);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) sums.part[i] = vfmaq_f32(sums.part[i], w.part[i], f.part[i]);
}

/// Writes, or adds, up to four outputs of each of up to four rows of x.
template <class Products>
void write_out(const GemmCall& call, const Sums& sums, size_t first, size_t num_tokens) {
    if (first >= call.num_weights) return;
    const size_t count = call.num_weights - first < 4 ? call.num_weights - first : 4;
    float values[kTile][4];
    Products::store_rows(sums.part, values);
    for (size_t t = 0; t < num_tokens; ++t) {
        float* out = call.out + t * call.out_stride + first;
        for (size_t r = 0; r < count; ++r)
            out[r] = values[t][r] + (call.accumulate ? out[r] : 0.0f);
    }
}

/// Eight weight rows of the panel from `first` on; kScaleValues weights share a scale.
template <class Products, size_t kScaleValues, bool kHasMin>
HOKKU_INLINE void multiply_eight(const GemmCall& call, size_t first) {
    const GemmRows& rows = *call.rows;
    const size_t base = size_t{call.tile_index} * kTile, depth = call.end - call.begin;
    const size_t place = base * (rows.n / 32) + call.begin / 32 * kTile;
    const int8_t* x = rows.codes + base * rows.n + call.begin * kTile;
    const int8_t* w[2];
    for (size_t q = 0; q < 2; ++q)
        w[q] = reinterpret_cast<const int8_t*>(call.panel.codes) + (first + 4 * q) * depth;
    const float *scales = call.panel.scales + first, *mins = call.panel.mins + first;
    Sums sums[2] = {};
    for (size_t block = 0; block < depth / 32; ++block) {
        const float32x4_t x_scales = vld1q_f32(rows.scales + place + block * kTile);
#pragma GCC unroll 2
        for (size_t part = 0; part < 32 / kScaleValues; ++part) {
            int32x4_t dots[2][4] = {};
#pragma GCC unroll 8
            for (size_t i = 0; i < kScaleValues; i += Products::kGroup)
                Products::multiply(dots, w[0] + i * 4, w[1] + i * 4, x + i * 4);
            for (size_t q = 0; q < 2; ++q) {
                add_scaled<Products>(sums[q], dots[q], vld1q_f32(scales + 4 * q), x_scales);
                w[q] += kScaleValues * 4;
            }
            x += kScaleValues * 4;
            scales += kGemmGroup;
            if constexpr (kHasMin) {
                const size_t at = place + block * kTile;
                const float32x4_t x_sums =
                    kScaleValues == 32
                        ? vld1q_f32(rows.sums + at)
                        : vmulq_f32(x_scales, vcvtq_f32_s32(vld1q_s32(rows.half_starts + 2 * at +
                                                                      part * kTile)));
                for (size_t q = 0; q < 2; ++q)
                    add_mins<Products>(sums[q], vld1q_f32(mins + 4 * q), x_sums);
                mins += kGemmGroup;
            }
        }
    }
    const size_t left = rows.num_rows - base, num_tokens = left < kTile ? left : kTile;
    for (size_t q = 0; q < 2; ++q) write_out<Products>(call, sums[q], first + 4 * q, num_tokens);
}

template <class Products, size_t kScaleValues, bool kHasMin>
void multiply(const GemmCall& call) {
    for (size_t first = 0; first < call.num_weights; first += 8)
        multiply_eight<Products, kScaleValues, kHasMin>(call, first);
}

template <class Products>
void fill_gemm(MatmulKernels& table) {
    table.gemm_tile = kTile;
    table.pack_tile = pack_tile<Products>;
    const auto set = [&table](TensorType type, GemmKernel kernel) {
        table.gemm[static_cast<uint32_t>(type)] = kernel;
    };
    constexpr auto plain = multiply<Products, 32, false>, with_min = multiply<Products, 32, true>;
    constexpr auto halved = multiply<Products, 16, false>;
    constexpr auto halved_with_min = multiply<Products, 16, true>;
    set(TensorType::q4_0, {unpack_32<Products, BlockQ4_0>, plain});
    set(TensorType::q4_1, {unpack_32<Products, BlockQ4_1>, with_min});
    set(TensorType::q5_0, {unpack_32<Products, BlockQ5_0>, plain});
    set(TensorType::q5_1, {unpack_32<Products, BlockQ5_1>, with_min});
    set(TensorType::q8_0, {unpack_32<Products, BlockQ8_0>, plain});
    set(TensorType::iq4_nl, {unpack_32<Products, BlockIq4Nl>, plain});
    set(TensorType::mxfp4, {unpack_32<Products, BlockMxfp4>, plain});
    set(TensorType::q2_k, {unpack_256<Products, BlockQ2_K>, halved_with_min});
    set(TensorType::q3_k, {unpack_256<Products, BlockQ3_K>, halved});
    set(TensorType::q4_k, {unpack_256<Products, BlockQ4_K>, with_min});
    set(TensorType::q5_k, {unpack_256<Products, BlockQ5_K>, with_min});
    set(TensorType::q6_k, {unpack_256<Products, BlockQ6_K>, halved});
    set(TensorType::iq4_xs, {unpack_256<Products, BlockIq4Xs>, plain});
}

}  // namespace
}  // namespace hokku::cpu
