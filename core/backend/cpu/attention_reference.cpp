// SPDX-License-Identifier: Apache-2.0
// Attention of the reference table: scalar, one query and one block at a time.
#include <algorithm>
#include <cmath>

#include "backend/cpu/attention_kernels.h"
#include "backend/cpu/kernel_tables.h"
#include "backend/cpu/kv_layout.h"
#include "backend/half.h"

namespace hokku::cpu {

namespace {

constexpr uint32_t kBlock = kKvPositions;

// One head of a block: at(i, dim, position) reads element i, which holds that dimension of that
// position.
struct Floats {
    const float* elements;
    Floats(const std::byte* head, size_t) : elements(reinterpret_cast<const float*>(head)) {}
    [[nodiscard]] float at(size_t i, size_t, size_t) const { return elements[i]; }
};

struct Halves {
    const uint16_t* elements;
    Halves(const std::byte* head, size_t) : elements(reinterpret_cast<const uint16_t*>(head)) {}
    [[nodiscard]] float at(size_t i, size_t, size_t) const { return half_to_float(elements[i]); }
};

struct Codes {
    const int8_t* elements;
    const uint16_t* scales;
    Codes(const std::byte* head, size_t row)
        : elements(reinterpret_cast<const int8_t*>(head)),
          scales(reinterpret_cast<const uint16_t*>(head + row * kBlock)) {}
    [[nodiscard]] float at(size_t i, size_t dim, size_t position) const {
        const uint16_t scale = scales[dim / kKvScaleDims * kBlock + position];
        return static_cast<float>(elements[i]) * half_to_float(scale);
    }
};

/// Two dimensions share an element.
struct Nibbles {
    const uint8_t* elements;
    const uint16_t* scales;
    Nibbles(const std::byte* head, size_t row)
        : elements(reinterpret_cast<const uint8_t*>(head)),
          scales(reinterpret_cast<const uint16_t*>(head + row * kBlock)) {}
    [[nodiscard]] float at(size_t i, size_t dim, size_t position) const {
        const uint16_t scale = scales[dim / kKvScaleDims * kBlock + position];
        const unsigned code =
            dim % kKvScaleDims < kKvNibbleBytes ? elements[i] & 15u : elements[i] >> 4u;
        return (static_cast<float>(code) - 8.0f) * half_to_float(scale);
    }
};

/// Running softmax of one query.
struct Sums {
    float* values;  // [value_dim]
    float max = 0, weight = 0;
};

/// Adds the positions [first, last] of one block.
template <class Head>
void attend_block(const AttentionTile& tile, const float* q, uint32_t block, uint32_t first,
                  uint32_t last, Sums& sums) {
    const size_t physical = tile.blocks[block];
    const size_t value_row = kv_value_row(tile.kv_type, tile.value_dim);
    const Head keys(tile.keys + physical * tile.key_block_stride,
                    kv_key_rows(tile.kv_type, tile.key_dim));
    const Head values(tile.values + physical * tile.value_block_stride, value_row);
    float logits[kBlock] = {};
    for (uint32_t d = 0; d < tile.key_dim; ++d) {
        for (uint32_t p = 0; p < kBlock; ++p) {
            logits[p] += q[d] * keys.at(kv_element_of(tile.kv_type, d) * kBlock + p, d, p);
        }
    }
    float block_max = -INFINITY;
    for (uint32_t p = first; p <= last; ++p) {
        logits[p] *= tile.scale;
        if (tile.logit_softcap > 0.0f) {
            logits[p] = tile.logit_softcap * std::tanh(logits[p] / tile.logit_softcap);
        }
        block_max = std::max(block_max, logits[p]);
    }
    if (sums.weight == 0.0f || block_max > sums.max) {
        const float correction = sums.weight == 0.0f ? 0.0f : std::exp(sums.max - block_max);
        for (uint32_t d = 0; d < tile.value_dim; ++d) sums.values[d] *= correction;
        sums.weight *= correction;
        sums.max = block_max;
    }
    for (uint32_t p = first; p <= last; ++p) {
        const float e = std::exp(logits[p] - sums.max);
        sums.weight += e;
        for (uint32_t d = 0; d < tile.value_dim; ++d) {
            sums.values[d] += e * values.at(p * value_row + kv_element_of(tile.kv_type, d), d, p);
        }
    }
}

template <class Head>
void run_tile(const AttentionTile& tile) {
    for (uint32_t i = 0; i < tile.num_queries; ++i) {
        const uint32_t query = tile.first_query + i;
        const uint32_t row = query / tile.group;
        const float* q = tile.q + row * tile.q_stride + query % tile.group * tile.key_dim;
        Sums sums{tile.sums + size_t{i} * tile.value_dim};
        std::fill_n(sums.values, tile.value_dim, 0.0f);
        const uint32_t position = tile.first_position + row;
        const uint32_t end = std::min(tile.end, position + 1);
        uint32_t begin = tile.begin;
        if (tile.window > 0 && position >= tile.window) {
            begin = std::max(begin, position - tile.window + 1);
        }
        for (uint32_t p = begin; p < end;) {
            const uint32_t block = p / kBlock, start = block * kBlock;
            const uint32_t stop = std::min(end, start + kBlock);
            attend_block<Head>(tile, q, block, p - start, stop - 1 - start, sums);
            p = stop;
        }
        tile.maxima[i] = sums.max;
        tile.weights[i] = sums.weight;
    }
}

}  // namespace

void run_reference_tile(const AttentionTile& tile) {
    switch (tile.kv_type) {
        case KvType::f32:
            return run_tile<Floats>(tile);
        case KvType::f16:
            return run_tile<Halves>(tile);
        case KvType::q8_0:
            return run_tile<Codes>(tile);
        case KvType::q4_0:
            return run_tile<Nibbles>(tile);
    }
}

}  // namespace hokku::cpu
