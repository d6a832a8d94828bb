// SPDX-License-Identifier: Apache-2.0
// Quantises rows of x to int8 with one float32 scale for each 32 values: the largest magnitude
// becomes 127. NaN and infinities end up in the scale, so that they reach the product.
//
// All layouts of vectors keep the codes in order and one scale per block of 32. The sums (scale
// times sum of codes, times minus the zero point for super-blocks) are
//   blocks       : eight per block, of four codes each
//   super_blocks : one per block
//   super_halves : two per block
#include <immintrin.h>

#include <cstring>

#include "backend/cpu/avx2/tables.h"
#include "backend/cpu/matmul_kernels.h"
#include "backend/cpu/simd/inline.h"

namespace hokku::cpu {

namespace {

struct Values {
    __m256 part[4];
};

struct Block {
    __m256i codes;
    float scale;
};

HOKKU_INLINE Values load_values(const float* x) {
    Values values;
    for (size_t i = 0; i < 4; ++i) values.part[i] = _mm256_loadu_ps(x + i * 8);
    return values;
}

HOKKU_INLINE int32_t max_lane(__m256i x) {
    __m128i max = _mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    max = _mm_max_epi32(max, _mm_unpackhi_epi64(max, max));
    return _mm_cvtsi128_si32(_mm_max_epi32(max, _mm_shuffle_epi32(max, 1)));
}

HOKKU_INLINE Block quantize(const Values& values) {
    // Magnitudes compare as integers; NaN is the largest of them.
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    __m256i bits = _mm256_setzero_si256();
    for (const __m256& x : values.part) {
        bits = _mm256_max_epi32(bits, _mm256_and_si256(_mm256_castps_si256(x), magnitude));
    }
    const int32_t max_bits = max_lane(bits);
    float max;
    std::memcpy(&max, &max_bits, sizeof max);
    constexpr float kTiny = 1e-35f;  // 127 / max would be infinite below.
    const bool is_zero = max < kTiny;
    const __m256 inverse = _mm256_set1_ps(is_zero ? 0.0f : 127.0f / max);
    __m256i whole[4];
    for (int i = 0; i < 4; ++i) {
        whole[i] = _mm256_cvtps_epi32(_mm256_mul_ps(values.part[i], inverse));
    }
    const __m256i mixed = _mm256_packs_epi16(_mm256_packs_epi32(whole[0], whole[1]),
                                             _mm256_packs_epi32(whole[2], whole[3]));
    // Packing works within 128-bit halves.
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    return {_mm256_permutevar8x32_epi32(mixed, order), is_zero ? 0.0f : max / 127.0f};
}

/// What `block` leaves of the values it was made of.
HOKKU_INLINE Values rest_of(const Values& values, const Block& block) {
    Values rest;
    alignas(32) int8_t codes[32];
    _mm256_store_si256(reinterpret_cast<__m256i*>(codes), block.codes);
    for (int i = 0; i < 4; ++i) {
        const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + 8 * i));
        const __m256 made = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(eight));
        rest.part[i] = _mm256_fnmadd_ps(made, _mm256_set1_ps(block.scale), values.part[i]);
    }
    return rest;
}

/// Sums of four codes each.
HOKKU_INLINE __m256i sums_of_four(__m256i codes) {
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), codes);
    return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

HOKKU_INLINE int32_t sum_lanes(__m128i x) {
    x = _mm_add_epi32(x, _mm_unpackhi_epi64(x, x));
    return _mm_cvtsi128_si32(_mm_add_epi32(x, _mm_shuffle_epi32(x, 1)));
}

HOKKU_INLINE void store_block(const GemvVector& v, size_t b, VectorLayout layout,
                              const Block& block, int32_t zero_point) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(v.codes + b * 32), block.codes);
    v.scales[b] = block.scale;
    const __m256i sums = sums_of_four(block.codes);
    if (layout == VectorLayout::blocks) {
        _mm256_store_ps(v.sums + b * 8,
                        _mm256_mul_ps(_mm256_cvtepi32_ps(sums), _mm256_set1_ps(block.scale)));
        return;
    }
    const int32_t first = sum_lanes(_mm256_castsi256_si128(sums));
    const int32_t second = sum_lanes(_mm256_extracti128_si256(sums, 1));
    if (layout == VectorLayout::super_blocks) {
        v.sums[b] = block.scale * static_cast<float>(-zero_point * (first + second));
    } else {
        v.sums[2 * b] = block.scale * static_cast<float>(-zero_point * first);
        v.sums[2 * b + 1] = block.scale * static_cast<float>(-zero_point * second);
    }
}

void prepare_vector(const float* x, size_t n, VectorLayout layout, int32_t zero_point,
                    const GemvVector& v, const GemvVector* residual) {
    for (size_t b = 0; b < n / 32; ++b) {
        const Values values = load_values(x + b * 32);
        const Block block = quantize(values);
        store_block(v, b, layout, block, zero_point);
        if (!residual) continue;
        store_block(*residual, b, layout, quantize(rest_of(values, block)), zero_point);
    }
}

/// Block b of row t of the tile that begins at row `base`: groups of four codes lie `tile` groups
/// apart.
HOKKU_INLINE void store_tile_block(const GemmRows& rows, size_t base, size_t b, size_t t,
                                   const Block& block) {
    const size_t tile = rows.tile, num_blocks = rows.n / 32;
    alignas(32) int32_t groups[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(groups), block.codes);
    int8_t* codes = rows.codes + base * rows.n + b * 32 * tile + t * 4;
    for (size_t j = 0; j < 8; ++j) std::memcpy(codes + j * tile * 4, &groups[j], 4);
    const __m256i sums = sums_of_four(block.codes);
    const int32_t first = sum_lanes(_mm256_castsi256_si128(sums));
    const int32_t second = sum_lanes(_mm256_extracti128_si256(sums, 1));
    const size_t place = base * num_blocks + b * tile + t;
    int32_t* half_starts = rows.half_starts + 2 * base * num_blocks + 2 * b * tile + t;
    half_starts[0] = -128 * first;
    half_starts[tile] = -128 * second;
    rows.starts[place] = -128 * (first + second);
    rows.scales[place] = block.scale;
    rows.sums[place] = block.scale * static_cast<float>(first + second);
}

void pack_tile(const float* x, size_t x_stride, uint32_t tile_index, const GemmRows& rows,
               const GemmRows* residual) {
    const size_t base = tile_index * size_t{rows.tile};
    const Block nothing = {_mm256_setzero_si256(), 0.0f};
    // Block by block: the blocks of all rows of a tile share their cache lines.
    for (size_t b = 0; b < rows.n / 32; ++b) {
        for (size_t t = 0; t < rows.tile; ++t) {
            if (base + t >= rows.num_rows) {
                store_tile_block(rows, base, b, t, nothing);
                if (residual) store_tile_block(*residual, base, b, t, nothing);
                continue;
            }
            const Values values = load_values(x + (base + t) * x_stride + b * 32);
            const Block block = quantize(values);
            store_tile_block(rows, base, b, t, block);
            if (residual) store_tile_block(*residual, base, b, t, quantize(rest_of(values, block)));
        }
    }
}

}  // namespace

void fill_avx2_activations(MatmulKernels& table) {
    table.prepare_vector = prepare_vector;
    table.pack_tile = pack_tile;
}

}  // namespace hokku::cpu
