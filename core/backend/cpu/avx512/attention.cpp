// SPDX-License-Identifier: Apache-2.0
// Attention in float32: blocks of 64 positions pass by while the tile's queries, eight at a time,
// keep a running softmax. Keys lie with the position as the contiguous dimension, so that one
// broadcast of q times a register of keys gives 16 logits without horizontal sums.
#include "backend/cpu/attention_kernels.h"

#include "backend/cpu/avx512/math.h"
#include "backend/cpu/avx512/tables.h"

namespace hokku::cpu {

namespace {

constexpr uint32_t kBlock = 64;   // Positions per block (kKvBlockTokens).
constexpr uint32_t kQueries = 8;  // Queries whose accumulators are in registers together.

/// Up to kQueries queries of the tile.
struct Part {
    const float* q[kQueries];
    uint32_t begin[kQueries], end[kQueries];  // Positions that each query sees.
    uint32_t first, count;                    // Of the tile.
    uint32_t last_end;                        // Largest of end.
};

/// logits[r][columns] = q[r] . keys[.][columns] for kColumns registers of positions.
template <size_t kRows, size_t kColumns>
void score_columns(const Part& part, size_t key_dim, const float* keys, float* logits) {
    __m512 sums[kRows][kColumns];
    for (auto& row : sums) {
        for (__m512& sum : row) sum = _mm512_setzero_ps();
    }
    for (size_t d = 0; d < key_dim; ++d) {
        __m512 k[kColumns];
#pragma GCC unroll 4
        for (size_t c = 0; c < kColumns; ++c) k[c] = _mm512_loadu_ps(keys + d * kBlock + 16 * c);
#pragma GCC unroll 8
        for (size_t r = 0; r < kRows; ++r) {
            const __m512 q = _mm512_set1_ps(part.q[r][d]);
#pragma GCC unroll 4
            for (size_t c = 0; c < kColumns; ++c) sums[r][c] = _mm512_fmadd_ps(q, k[c], sums[r][c]);
        }
    }
    for (size_t r = 0; r < kRows; ++r) {
        for (size_t c = 0; c < kColumns; ++c) {
            _mm512_store_ps(logits + r * kBlock + 16 * c, sums[r][c]);
        }
    }
}

template <size_t kRows>
void score_block(const Part& part, size_t key_dim, const float* keys, uint32_t num_visible,
                 float* logits) {
    // Few rows need more columns for enough independent sums.
    constexpr size_t kColumns = kRows <= 4 ? 4 : 2;
    for (uint32_t column = 0; column < num_visible; column += 16 * kColumns) {
        score_columns<kRows, kColumns>(part, key_dim, keys + column, logits + column);
    }
}

/// sums[r][d..] += weights[r][p] * values[p][d..] over positions [first, end).
template <size_t kRows, size_t kColumns>
HOKKU_INLINE void add_columns(const float* weights, const float* values, size_t value_dim,
                              uint32_t first, uint32_t end, __mmask16 last_lanes, float* sums) {
    __m512 acc[kRows][kColumns];
    const auto lanes_of = [&](size_t c) HOKKU_LAMBDA {
        return c + 1 == kColumns ? last_lanes : static_cast<__mmask16>(0xffff);
    };
    for (size_t r = 0; r < kRows; ++r) {
        for (size_t c = 0; c < kColumns; ++c) {
            acc[r][c] = _mm512_maskz_loadu_ps(lanes_of(c), sums + r * value_dim + 16 * c);
        }
    }
    for (uint32_t p = first; p < end; ++p) {
        __m512 v[kColumns];
#pragma GCC unroll 4
        for (size_t c = 0; c < kColumns; ++c) {
            v[c] = _mm512_maskz_loadu_ps(lanes_of(c), values + p * value_dim + 16 * c);
        }
#pragma GCC unroll 8
        for (size_t r = 0; r < kRows; ++r) {
            const __m512 w = _mm512_set1_ps(weights[r * kBlock + p]);
#pragma GCC unroll 4
            for (size_t c = 0; c < kColumns; ++c) acc[r][c] = _mm512_fmadd_ps(w, v[c], acc[r][c]);
        }
    }
    for (size_t r = 0; r < kRows; ++r) {
        for (size_t c = 0; c < kColumns; ++c) {
            _mm512_mask_storeu_ps(sums + r * value_dim + 16 * c, lanes_of(c), acc[r][c]);
        }
    }
}

template <size_t kRows>
void add_values(const float* weights, const float* values, size_t value_dim, uint32_t first,
                uint32_t end, float* sums) {
    constexpr size_t kColumns = kRows <= 4 ? 4 : 2;
    size_t d = 0;
    for (; d + 16 * kColumns <= value_dim; d += 16 * kColumns) {
        add_columns<kRows, kColumns>(weights, values + d, value_dim, first, end, 0xffff, sums + d);
    }
    for (; d < value_dim; d += 16) {
        add_columns<kRows, 1>(weights, values + d, value_dim, first, end,
                              first_lanes(value_dim - d), sums + d);
    }
}

/// The lanes of a register of positions from `position` on that lie in [begin, end).
HOKKU_INLINE __mmask16 lanes_between(uint32_t position, uint32_t begin, uint32_t end) {
    const __m512i index =
        _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(position)),
                         _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    return _mm512_cmpge_epu32_mask(index, _mm512_set1_epi32(static_cast<int>(begin))) &
           _mm512_cmplt_epu32_mask(index, _mm512_set1_epi32(static_cast<int>(end)));
}

/// Turns the logits of one query and block into weights exp(logit - max); brings sums and weight
/// to the new maximum. Hidden positions get weight 0.
void soften(const AttentionTile& tile, uint32_t block_begin, uint32_t begin, uint32_t end,
            float* logits, float* sums, float& max, float& weight) {
    const __m512 scale = _mm512_set1_ps(tile.scale);
    const __m512 lowest = _mm512_set1_ps(-__builtin_inff());
    __m512 top = lowest;
    __m512 s[4];
    __mmask16 visible[4];
    for (uint32_t c = 0; c < 4; ++c) {
        visible[c] = lanes_between(block_begin + 16 * c, begin, end);
        s[c] = _mm512_mul_ps(_mm512_load_ps(logits + 16 * c), scale);
        if (tile.logit_softcap > 0.0f) {
            const __m512 cap = _mm512_set1_ps(tile.logit_softcap);
            s[c] = _mm512_mul_ps(cap, tanh_floats(_mm512_div_ps(s[c], cap)));
        }
        top = _mm512_mask_max_ps(top, visible[c], top, s[c]);
    }
    const float block_max = _mm512_reduce_max_ps(top);
    if (weight == 0.0f) {
        max = block_max;
    } else if (block_max > max) {
        const float correction = _mm512_cvtss_f32(exp_floats(_mm512_set1_ps(max - block_max)));
        max = block_max;
        weight *= correction;
        const __m512 factor = _mm512_set1_ps(correction);
        for (size_t d = 0; d < tile.value_dim; d += 16) {
            const __mmask16 lanes = first_lanes(tile.value_dim - d);
            _mm512_mask_storeu_ps(sums + d, lanes,
                                  _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, sums + d), factor));
        }
    }
    const __m512 shift = _mm512_set1_ps(max);
    __m512 total = _mm512_setzero_ps();
    for (uint32_t c = 0; c < 4; ++c) {
        const __m512 e = _mm512_maskz_mov_ps(visible[c], exp_floats(_mm512_sub_ps(s[c], shift)));
        _mm512_store_ps(logits + 16 * c, e);
        total = _mm512_add_ps(total, e);
    }
    weight += _mm512_reduce_add_ps(total);
}

template <size_t kRows>
void attend_block(const AttentionTile& tile, const Part& part, uint32_t block) {
    alignas(64) float logits[kRows * kBlock];
    const size_t physical = tile.blocks[block];
    const uint32_t block_begin = block * kBlock;
    const uint32_t num_visible =
        part.last_end - block_begin < kBlock ? part.last_end - block_begin : kBlock;
    score_block<kRows>(part, tile.key_dim, tile.keys + physical * tile.key_block_stride,
                       num_visible, logits);
    for (size_t r = 0; r < kRows; ++r) {
        float* weights = logits + r * kBlock;
        const bool sees_any = part.end[r] > block_begin && part.begin[r] < block_begin + kBlock &&
                              part.begin[r] < part.end[r];
        if (!sees_any) {
            for (size_t c = 0; c < kBlock; c += 16) {
                _mm512_store_ps(weights + c, _mm512_setzero_ps());
            }
            continue;
        }
        const size_t query = part.first + r;
        soften(tile, block_begin, part.begin[r], part.end[r], weights,
               tile.sums + query * tile.value_dim, tile.maxima[query], tile.weights[query]);
    }
    add_values<kRows>(logits, tile.values + physical * tile.value_block_stride, tile.value_dim, 0,
                      num_visible, tile.sums + size_t{part.first} * tile.value_dim);
}

void attend(const AttentionTile& tile, const Part& part, uint32_t block) {
    switch (part.count) {
        case 1:
            return attend_block<1>(tile, part, block);
        case 2:
            return attend_block<2>(tile, part, block);
        case 3:
            return attend_block<3>(tile, part, block);
        case 4:
            return attend_block<4>(tile, part, block);
        case 5:
            return attend_block<5>(tile, part, block);
        case 6:
            return attend_block<6>(tile, part, block);
        case 7:
            return attend_block<7>(tile, part, block);
        default:
            return attend_block<8>(tile, part, block);
    }
}

Part make_part(const AttentionTile& tile, uint32_t first) {
    Part part{};
    part.first = first;
    part.count = tile.num_queries - first < kQueries ? tile.num_queries - first : kQueries;
    for (uint32_t i = 0; i < part.count; ++i) {
        const uint32_t query = tile.first_query + first + i, row = query / tile.group;
        const uint32_t position = tile.first_position + row;
        part.q[i] = tile.q + row * tile.q_stride + query % tile.group * tile.key_dim;
        part.begin[i] = tile.begin;
        if (tile.window > 0 && position >= tile.window && position - tile.window + 1 > tile.begin) {
            part.begin[i] = position - tile.window + 1;
        }
        part.end[i] = position + 1 < tile.end ? position + 1 : tile.end;
        if (part.end[i] > part.last_end) part.last_end = part.end[i];
    }
    return part;
}

void run_tile(const AttentionTile& tile) {
    constexpr uint32_t kMaxParts = (kAttentionTile + kQueries - 1) / kQueries;
    Part parts[kMaxParts];
    uint32_t num_parts = 0;
    for (uint32_t first = 0; first < tile.num_queries; first += kQueries) {
        parts[num_parts++] = make_part(tile, first);
    }
    for (uint32_t i = 0; i < tile.num_queries; ++i) {
        tile.maxima[i] = tile.weights[i] = 0.0f;
        for (uint32_t d = 0; d < tile.value_dim; ++d) tile.sums[size_t{i} * tile.value_dim + d] = 0;
    }
    // Rows ascend, so the first query sees the earliest positions and the last one the latest.
    const uint32_t begin = parts[0].begin[0], end = parts[num_parts - 1].last_end;
    for (uint32_t block = begin / kBlock; block * kBlock < end; ++block) {
        for (uint32_t i = 0; i < num_parts; ++i) {
            const Part& part = parts[i];
            const bool sees_any =
                part.last_end > block * kBlock && part.begin[0] < (block + 1) * kBlock;
            if (sees_any) attend(tile, part, block);
        }
    }
}

}  // namespace

void fill_avx512_attention(AttentionKernels& table) {
    table.run_tile = run_tile;
}

}  // namespace hokku::cpu
