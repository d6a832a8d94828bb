// SPDX-License-Identifier: Apache-2.0
// Attention in float32 over registers of floats: blocks of 64 positions pass by while the tile's
// queries, a few at a time, keep a running softmax. Keys lie with the position as the contiguous
// dimension, so that one broadcast of q times a register of keys gives as many logits without
// horizontal sums. Internal linkage on purpose.
#pragma once

#include "backend/cpu/attention_kernels.h"
#include "backend/cpu/simd/for_lanes.h"
#include "backend/cpu/simd/kv_readers.h"
#include "backend/cpu/simd/math.h"

namespace hokku::cpu {

namespace {

constexpr uint32_t kBlock = 64;  // Positions per block (kKvBlockTokens).
// Queries whose accumulators are in registers together, and registers of positions or dimensions
// that each of them has: few queries need more of these for enough independent sums, and short
// registers for enough work on each broadcast. Of AVX-512's 32 registers, six queries with four
// each load least for what they multiply: 10 registers for 24 products.
constexpr uint32_t kQueries = kLanes == 16 ? 8 : 4;
constexpr size_t columns_of(size_t num_queries) {
    constexpr size_t kMostWithFour = kLanes == 16 ? 6 : kLanes == 8 ? 2 : kQueries;
    return num_queries <= kMostWithFour ? 4 : 2;
}
/// Queries of a part of a tile. All that share a key head at once are read for once.
uint32_t part_queries(uint32_t num_queries) {
    constexpr uint32_t kMany = kLanes == 16 ? 6 : kQueries;
    return num_queries <= kQueries ? num_queries : kMany;
}

/// Asks for the memory at `next` and what follows it, as much as one register of each of kColumns
/// holds; null: for nothing. With few queries attention waits for memory, and keys and values lie
/// in pieces too short for the core's own reads ahead. Into the L2 cache: the L1 cache has too few
/// reads under way at once.
template <class Kv, size_t kColumns>
HOKKU_INLINE void ask_ahead(const std::byte* next) {
    if (!next) return;
    for (size_t i = 0; i < kColumns * kLanes * sizeof(typename Kv::Element); i += 64)
        __builtin_prefetch(next + i, 0, 2);
}

/// Up to kQueries queries of the tile.
struct Part {
    const float* q[kQueries];
    uint32_t begin[kQueries], end[kQueries];  // Positions that each query sees.
    uint32_t first, count;                    // Of the tile.
    uint32_t last_end;                        // Largest of end.
};

/// sums[r][c] += q[r][d] * k[c]
template <size_t kRows, size_t kColumns>
HOKKU_INLINE void add_products(const Part& part, size_t d, const Floats* k,
                               Floats (*sums)[kColumns]) {
#pragma GCC unroll 8
    for (size_t r = 0; r < kRows; ++r) {
        const Floats q = splat(part.q[r][d]);
#pragma GCC unroll 4
        for (size_t c = 0; c < kColumns; ++c) sums[r][c] = mul_add(q, k[c], sums[r][c]);
    }
}

/// sums[r][c] += q[r] . keys[.][c] over the dimensions [begin, end), which share their scales if
/// they have any. Asks for as much from `next` on.
template <class Kv, size_t kRows, size_t kColumns>
HOKKU_INLINE void add_group(const Part& part, size_t begin, size_t end,
                            const typename Kv::Element* keys, Floats (*sums)[kColumns],
                            const std::byte*& next) {
    constexpr size_t kAheadBytes = kColumns * kLanes * sizeof(typename Kv::Element);
    if constexpr (Kv::kDims == 2) {
        const size_t length = end - begin;
        const size_t num_low = length < kKvNibbleBytes ? length : kKvNibbleBytes;
        const auto* bytes = keys + begin / 2 * kBlock;
        for (size_t j = 0; j < num_low; ++j) {
            Floats low[kColumns], high[kColumns];
#pragma GCC unroll 4
            for (size_t c = 0; c < kColumns; ++c)
                load_nibbles(bytes + j * kBlock + kLanes * c, low[c], high[c]);
            ask_ahead<Kv, kColumns>(next);
            if (next) next += kAheadBytes;
            add_products<kRows, kColumns>(part, begin + j, low, sums);
            if (j + kKvNibbleBytes < length)
                add_products<kRows, kColumns>(part, begin + j + kKvNibbleBytes, high, sums);
        }
    } else {
        for (size_t d = begin; d < end; ++d) {
            Floats k[kColumns];
#pragma GCC unroll 4
            for (size_t c = 0; c < kColumns; ++c) k[c] = Kv::read(keys + d * kBlock + kLanes * c);
            ask_ahead<Kv, kColumns>(next);
            if (next) next += kAheadBytes;
            add_products<kRows, kColumns>(part, d, k, sums);
        }
    }
}

/// logits[r][columns] = q[r] . keys[.][columns] for kColumns registers of positions from `column`
/// on; where keys have scales, group by group of dimensions. Asks for as much from `next` on.
template <class Kv, size_t kRows, size_t kColumns>
void score_columns(const Part& part, size_t key_dim, const std::byte* keys, size_t column,
                   float* logits, const std::byte* next) {
    const auto* elements = reinterpret_cast<const typename Kv::Element*>(keys) + column;
    for (size_t begin = 0; begin < key_dim;) {
        size_t end = key_dim;
        if (Kv::kIsScaled && key_dim - begin > kKvScaleDims) end = begin + kKvScaleDims;
        Floats sums[kRows][kColumns];
#pragma GCC unroll 8
        for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
            for (size_t c = 0; c < kColumns; ++c) sums[r][c] = zero();
        }
        add_group<Kv, kRows, kColumns>(part, begin, end, elements, sums, next);
#pragma GCC unroll 8
        for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
            for (size_t c = 0; c < kColumns; ++c) {
                float* out = logits + r * kBlock + column + kLanes * c;
                if constexpr (Kv::kIsScaled) {
                    const Floats scale =
                        load_halves(scales_of<Kv>(keys, kv_key_rows(Kv::kType, key_dim), begin) +
                                    column + kLanes * c);
                    const Floats before = begin == 0 ? zero() : load(out);
                    sums[r][c] = mul_add(scale, sums[r][c], before);
                }
                store(out, sums[r][c]);
            }
        }
        begin = end;
    }
}

template <class Kv, size_t kRows>
void score_block(const Part& part, size_t key_dim, const std::byte* keys, uint32_t num_visible,
                 float* logits, const std::byte* next) {
    constexpr size_t kColumns = columns_of(kRows);
    for (uint32_t column = 0; column < num_visible; column += kLanes * kColumns) {
        score_columns<Kv, kRows, kColumns>(part, key_dim, keys, column, logits, next);
        if (next)
            next +=
                kv_key_rows(Kv::kType, key_dim) * kLanes * kColumns * sizeof(typename Kv::Element);
    }
}

/// Lanes of the registers of columns that are whole, and of those at the end of a row.
struct EveryLane {
    HOKKU_INLINE AllLanes operator[](size_t) const { return {}; }
};
struct LastLanes {
    Mask lanes[2];
    HOKKU_INLINE Mask operator[](size_t column) const { return lanes[column]; }
};

/// The lanes of register number `column` from dimension d on that have values.
template <class Kv>
HOKKU_INLINE Mask lanes_left(size_t d, size_t column, size_t value_dim) {
    const size_t first = d + dim_of_column<Kv>(column);
    return first_lanes(first < value_dim ? value_dim - first : 0);
}

/// sums[r][d..] += weights[r][p] * values[p][d..] over positions [0, end). Each group of kScaleRun
/// registers has weights of its own, [kRows][kBlock], one group after the other.
template <class Kv, size_t kRows, size_t kColumns, class Lanes>
HOKKU_INLINE void add_columns(const float* weights, const typename Kv::Element* values, size_t row,
                              uint32_t end, Lanes lanes, size_t value_dim, float* sums,
                              const std::byte* next) {
    constexpr size_t kScaleRun = Kv::kIsScaled ? kKvScaleDims / kLanes : kColumns;
    Floats acc[kRows][kColumns];
#pragma GCC unroll 8
    for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (size_t c = 0; c < kColumns; ++c) {
            acc[r][c] = load(sums + r * value_dim + dim_of_column<Kv>(c), lanes[c]);
        }
    }
    for (uint32_t p = 0; p < end; ++p) {
        Floats v[kColumns];
        read_columns<Kv, kColumns>(values + p * row, lanes, v);
        ask_ahead<Kv, kColumns>(next);
        if (next) next += kColumns * kLanes / Kv::kDims * sizeof(typename Kv::Element);
#pragma GCC unroll 8
        for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
            for (size_t c = 0; c < kColumns; ++c) {
                const Floats w = splat(weights[(c / kScaleRun * kRows + r) * kBlock + p]);
                acc[r][c] = mul_add(w, v[c], acc[r][c]);
            }
        }
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (size_t c = 0; c < kColumns; ++c) {
            store(sums + r * value_dim + dim_of_column<Kv>(c), lanes[c], acc[r][c]);
        }
    }
}

/// scaled[r][p] = weights[r][p] * scales[p]
template <size_t kRows>
HOKKU_INLINE void scale_weights(const float* weights, const uint16_t* scales, float* scaled) {
    for (size_t p = 0; p < kBlock; p += kLanes) {
        const Floats scale = load_halves(scales + p);
#pragma GCC unroll 8
        for (size_t r = 0; r < kRows; ++r) {
            store(scaled + r * kBlock + p, mul(scale, load(weights + r * kBlock + p)));
        }
    }
}

/// The weights for the registers of values whose first dimensions are d to `last`: as they are, or
/// each group's times its scales, in `scaled` [2][kRows][kBlock].
template <class Kv, size_t kRows>
HOKKU_INLINE const float* weights_for(const float* weights, const std::byte* head, size_t row,
                                      size_t d, size_t last, float* scaled) {
    if constexpr (!Kv::kIsScaled) return weights;
    scale_weights<kRows>(weights, scales_of<Kv>(head, row, d), scaled);
    if (last / kKvScaleDims != d / kKvScaleDims) {
        scale_weights<kRows>(weights, scales_of<Kv>(head, row, last), scaled + kRows * kBlock);
    }
    return scaled;
}

template <class Kv, size_t kRows>
void add_values(const float* weights, const std::byte* head, size_t value_dim, uint32_t end,
                float* sums, const std::byte* next) {
    constexpr size_t kColumns = columns_of(kRows), kDims = Kv::kDims;
    constexpr size_t kStep = kColumns * kLanes / kDims;  // Elements.
    constexpr size_t kLast = dim_of_column<Kv>(kColumns - 1);
    static_assert(!Kv::kIsScaled || kLanes * kColumns <= 2 * kKvScaleDims);
    alignas(64) float scaled[Kv::kIsScaled ? 2 * kRows * kBlock : 1];
    const auto* values = reinterpret_cast<const typename Kv::Element*>(head);
    const size_t row = kv_value_row(Kv::kType, value_dim);
    size_t i = 0, d = 0;  // Element and its first dimension.
    for (; d + kLast + kLanes <= value_dim; i += kStep, d = first_dim<Kv>(i)) {
        const float* w = weights_for<Kv, kRows>(weights, head, row, d, d + kLast, scaled);
        add_columns<Kv, kRows, kColumns>(w, values + i, row, end, EveryLane{}, value_dim, sums + d,
                                         next);
        if (next) next += kBlock * kStep * sizeof(typename Kv::Element);
    }
    for (; d < value_dim; i += kLanes, d = first_dim<Kv>(i)) {
        const float* w = weights_for<Kv, kRows>(weights, head, row, d, d, scaled);
        const LastLanes lanes{
            {lanes_left<Kv>(d, 0, value_dim), lanes_left<Kv>(d, kDims - 1, value_dim)}};
        add_columns<Kv, kRows, kDims>(w, values + i, row, end, lanes, value_dim, sums + d, nullptr);
    }
}

/// Turns the logits of one query and block into weights exp(logit - max); brings sums and weight
/// to the new maximum. Hidden positions get weight 0.
void soften(const AttentionTile& tile, uint32_t block_begin, uint32_t begin, uint32_t end,
            float* logits, float* sums, float& max, float& weight) {
    constexpr uint32_t kRegisters = kBlock / kLanes;
    const Floats scale = splat(tile.scale), lowest = splat(-__builtin_inff());
    Floats s[kRegisters], top = lowest;
    Mask visible[kRegisters];
    for (uint32_t c = 0; c < kRegisters; ++c) {
        visible[c] = lanes_between(block_begin + kLanes * c, begin, end);
        s[c] = mul(load(logits + kLanes * c), scale);
        if (tile.logit_softcap > 0.0f) {
            const Floats cap = splat(tile.logit_softcap);
            s[c] = mul(cap, tanh_floats(div(s[c], cap)));
        }
        top = at_least(top, choose(visible[c], s[c], lowest));
    }
    const float block_max = max_of_lanes(top);
    if (weight == 0.0f) {
        max = block_max;
    } else if (block_max > max) {
        const float correction = first_lane(exp_floats(splat(max - block_max)));
        max = block_max;
        weight *= correction;
        const Floats factor = splat(correction);
        for_lanes(tile.value_dim, [&](size_t d, auto lanes) HOKKU_LAMBDA {
            store(sums + d, lanes, mul(load(sums + d, lanes), factor));
        });
    }
    const Floats shift = splat(max);
    Floats total = zero();
    for (uint32_t c = 0; c < kRegisters; ++c) {
        const Floats e = choose(visible[c], exp_floats(sub(s[c], shift)), zero());
        store(logits + kLanes * c, e);
        total = add(total, e);
    }
    weight += sum_of_lanes(total);
}

/// `next_keys` are those of the block that follows, if the tile is one part.
template <class Kv, size_t kRows>
void attend_block(const AttentionTile& tile, const Part& part, uint32_t block,
                  const std::byte* next_keys) {
    alignas(64) float logits[kRows * kBlock];
    const size_t physical = tile.blocks[block];
    const uint32_t block_begin = block * kBlock;
    const uint32_t num_visible =
        part.last_end - block_begin < kBlock ? part.last_end - block_begin : kBlock;
    const std::byte* values = tile.values + physical * tile.value_block_stride;
    score_block<Kv, kRows>(part, tile.key_dim, tile.keys + physical * tile.key_block_stride,
                           num_visible, logits, next_keys ? values : nullptr);
#pragma GCC unroll 8
    for (size_t r = 0; r < kRows; ++r) {
        float* weights = logits + r * kBlock;
        const bool sees_any = part.end[r] > block_begin && part.begin[r] < block_begin + kBlock &&
                              part.begin[r] < part.end[r];
        if (!sees_any) {
            for (size_t c = 0; c < kBlock; c += kLanes) store(weights + c, zero());
            continue;
        }
        const size_t query = part.first + r;
        soften(tile, block_begin, part.begin[r], part.end[r], weights,
               tile.sums + query * tile.value_dim, tile.maxima[query], tile.weights[query]);
    }
    add_values<Kv, kRows>(logits, values, tile.value_dim, num_visible,
                          tile.sums + size_t{part.first} * tile.value_dim, next_keys);
}

template <class Kv>
void attend(const AttentionTile& tile, const Part& part, uint32_t block,
            const std::byte* next_keys) {
    switch (part.count) {
        case 1:
            return attend_block<Kv, 1>(tile, part, block, next_keys);
        case 2:
            return attend_block<Kv, 2>(tile, part, block, next_keys);
        case 3:
            return attend_block<Kv, 3>(tile, part, block, next_keys);
        case 4:
            return attend_block<Kv, 4>(tile, part, block, next_keys);
        default:
            break;
    }
    if constexpr (kQueries > 4) {
        switch (part.count) {
            case 5:
                return attend_block<Kv, 5>(tile, part, block, next_keys);
            case 6:
                return attend_block<Kv, 6>(tile, part, block, next_keys);
            case 7:
                return attend_block<Kv, 7>(tile, part, block, next_keys);
            default:
                return attend_block<Kv, 8>(tile, part, block, next_keys);
        }
    }
}

Part make_part(const AttentionTile& tile, uint32_t first, uint32_t max_queries) {
    Part part{};
    part.first = first;
    part.count = tile.num_queries - first < max_queries ? tile.num_queries - first : max_queries;
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

template <class Kv>
void run_tile_of(const AttentionTile& tile) {
    constexpr uint32_t kMaxParts = (kAttentionTile + 3) / 4;
    Part parts[kMaxParts];
    uint32_t num_parts = 0;
    const uint32_t step = part_queries(tile.num_queries);
    for (uint32_t first = 0; first < tile.num_queries; first += step) {
        parts[num_parts++] = make_part(tile, first, step);
    }
    for (uint32_t i = 0; i < tile.num_queries; ++i) {
        tile.maxima[i] = tile.weights[i] = 0.0f;
        for (uint32_t d = 0; d < tile.value_dim; ++d) tile.sums[size_t{i} * tile.value_dim + d] = 0;
    }
    // Rows ascend, so the first query sees the earliest positions and the last one the latest.
    const uint32_t begin = parts[0].begin[0], end = parts[num_parts - 1].last_end;
    for (uint32_t block = begin / kBlock; block * kBlock < end; ++block) {
        const bool is_last = (block + 1) * kBlock >= end;
        const std::byte* next_keys =
            num_parts > 1
                ? nullptr
                : tile.keys + tile.blocks[is_last ? block : block + 1] * tile.key_block_stride;
        for (uint32_t i = 0; i < num_parts; ++i) {
            const Part& part = parts[i];
            const bool sees_any =
                part.last_end > block * kBlock && part.begin[0] < (block + 1) * kBlock;
            if (sees_any) attend<Kv>(tile, part, block, next_keys);
        }
    }
}

void run_tile(const AttentionTile& tile) {
    switch (tile.kv_type) {
        case KvType::f32:
            return run_tile_of<FloatKv>(tile);
        case KvType::f16:
            return run_tile_of<HalfKv>(tile);
        case KvType::q8_0:
            return run_tile_of<CodeKv>(tile);
        case KvType::q4_0:
            return run_tile_of<NibbleKv>(tile);
    }
}

}  // namespace
}  // namespace hokku::cpu
