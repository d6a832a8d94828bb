// SPDX-License-Identifier: Apache-2.0
// Pages of keys and values in every format, and attention over them in double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "backend/half.h"
#include "kernels/params.h"

namespace hokku::testing {

/// What a pool holds at dimension d of a position; `head` counts heads over all blocks.
inline double kv_value(uint32_t format, const std::vector<uint8_t>& pool, size_t head,
                       uint32_t slot, uint32_t dim, uint32_t d) {
    const uint8_t* bytes = pool.data() + head * cuda::kv_head_bytes(format, dim);
    const size_t at = size_t{slot} * dim + d;
    uint16_t half = 0;
    if (format == cuda::kKvF32) {
        float value = 0;
        std::memcpy(&value, bytes + 4 * at, 4);
        return double{value};
    }
    if (format == cuda::kKvF16) {
        std::memcpy(&half, bytes + 2 * at, 2);
        return double{half_to_float(half)};
    }
    std::memcpy(&half, bytes + size_t{64} * dim + 2 * (size_t{d} / 32 * 64 + slot), 2);
    return double{half_to_float(half)} * static_cast<int8_t>(bytes[at]);
}

/// Stores one head's row of `dim` values.
inline void store_kv_row(uint32_t format, std::vector<uint8_t>& pool, size_t head, uint32_t slot,
                         const std::vector<float>& row) {
    const auto dim = static_cast<uint32_t>(row.size());
    uint8_t* bytes = pool.data() + head * cuda::kv_head_bytes(format, dim);
    for (uint32_t d = 0; d < dim; ++d) {
        const size_t at = size_t{slot} * dim + d;
        const uint16_t half = float_to_half(row[d]);
        if (format == cuda::kKvF32) std::memcpy(bytes + 4 * at, &row[d], 4);
        if (format == cuda::kKvF16) std::memcpy(bytes + 2 * at, &half, 2);
        if (format != cuda::kKvQ8_0) continue;
        float largest = 0;
        const uint32_t first = d / 32 * 32;
        for (uint32_t i = first; i < std::min(dim, first + 32); ++i) {
            largest = std::max(largest, std::abs(row[i]));
        }
        // A little more than a 127th, whichever way it is rounded.
        const uint16_t scale = float_to_half(largest / 126.5f);
        std::memcpy(bytes + size_t{64} * dim + 2 * (size_t{d} / 32 * 64 + slot), &scale, 2);
        const float step = half_to_float(scale);
        bytes[at] = static_cast<uint8_t>(static_cast<int8_t>(std::lround(row[d] / step)));
    }
}

struct AttentionCase {
    uint32_t group = 1, num_kv_heads = 2, key_dim = 64, value_dim = 64;
    uint32_t format = cuda::kKvF32;
    std::vector<uint32_t> lengths = {1, 64, 100, 130};  ///< Of each sequence.
    uint32_t split_positions = 64;
    uint32_t window = 0;
    float softcap = 0, q_scale = 2.0f, k_scale = 1.0f;
    bool has_sinks = false;
    float huge = 0;             ///< Of the keys' channel 37, on top.
    uint32_t spare_splits = 1;  ///< Beyond the longest row: a graph is planned by capacity.
};

/// Pages with random keys and values, blocks in no order, stale values elsewhere.
struct Pages {
    explicit Pages(const AttentionCase& case_) : c(case_) {
        uint32_t longest = 0;
        for (const uint32_t length : c.lengths) longest = std::max(longest, length);
        max_blocks = (longest + 63) / 64;
        const auto num_sequences = static_cast<uint32_t>(c.lengths.size());
        num_blocks = num_sequences * max_blocks;
        for (uint32_t i = 0; i < num_blocks; ++i) tables.push_back((i * 5 + 2) % num_blocks);
        if (num_blocks % 5 == 0) std::iota(tables.rbegin(), tables.rend(), 0u);
        // Not a number, where no sequence has written.
        const size_t num_heads = size_t{num_blocks} * c.num_kv_heads;
        keys.assign(num_heads * cuda::kv_head_bytes(c.format, c.key_dim), 0xff);
        values.assign(num_heads * cuda::kv_head_bytes(c.format, c.value_dim), 0xff);
        std::mt19937 random(c.key_dim + c.group);
        std::normal_distribution<float> normal;
        std::vector<float> key(c.key_dim), value(c.value_dim);
        for (uint32_t s = 0; s < num_sequences; ++s) {
            for (uint32_t p = 0; p < c.lengths[s]; ++p) {
                for (uint32_t h = 0; h < c.num_kv_heads; ++h) {
                    for (uint32_t d = 0; d < c.key_dim; ++d) {
                        // A few channels are large, as with biases.
                        const float bias = d % 16 == 5 ? 2.5f * c.k_scale : 0.0f;
                        key[d] = c.k_scale * normal(random) + bias + (d == 37 ? c.huge : 0.0f);
                    }
                    for (float& v : value) v = normal(random);
                    store_kv_row(c.format, keys, head(s, p, h), p % 64, key);
                    store_kv_row(c.format, values, head(s, p, h), p % 64, value);
                }
            }
        }
    }
    /// Over all blocks.
    [[nodiscard]] size_t head(uint32_t sequence, uint32_t position, uint32_t kv_head) const {
        return size_t{tables[sequence * max_blocks + position / 64]} * c.num_kv_heads + kv_head;
    }
    [[nodiscard]] double key(uint32_t sequence, uint32_t position, uint32_t kv_head,
                             uint32_t d) const {
        return kv_value(c.format, keys, head(sequence, position, kv_head), position % 64, c.key_dim,
                        d);
    }
    [[nodiscard]] double value(uint32_t sequence, uint32_t position, uint32_t kv_head,
                               uint32_t d) const {
        return kv_value(c.format, values, head(sequence, position, kv_head), position % 64,
                        c.value_dim, d);
    }
    AttentionCase c;
    uint32_t max_blocks = 0, num_blocks = 0;
    std::vector<uint32_t> tables;
    std::vector<uint8_t> keys, values;
};

/// One head of one row, and a bound of how far float32 may be off.
struct Exact {
    std::vector<double> out;
    double tolerance;
};

/// Of a row that sees `length` positions.
inline Exact exact_head(const Pages& pages, const float* q, uint32_t sequence, uint32_t length,
                        uint32_t head, float scale, const float* sink) {
    const AttentionCase& c = pages.c;
    const uint32_t kv_head = head / c.group;
    const uint32_t begin = c.window > 0 && length > c.window ? length - c.window : 0;
    std::vector<double> logits;
    double max = -1e300, magnitude = 0;
    for (uint32_t p = begin; p < length; ++p) {
        double dot = 0, sum = 0;
        for (uint32_t d = 0; d < c.key_dim; ++d) {
            const double product = double{q[d]} * pages.key(sequence, p, kv_head, d);
            dot += product;
            sum += std::abs(product);
        }
        magnitude = std::max(magnitude, sum * double{scale});
        dot *= double{scale};
        if (c.softcap > 0) dot = double{c.softcap} * std::tanh(dot / double{c.softcap});
        logits.push_back(dot);
        max = std::max(max, dot);
    }
    if (sink != nullptr) max = std::max(max, double{*sink});
    double weight = sink != nullptr ? std::exp(double{*sink} - max) : 0.0;
    Exact exact{std::vector<double>(c.value_dim), 0};
    for (double& logit : logits) weight += logit = std::exp(logit - max);
    for (uint32_t d = 0; d < c.value_dim; ++d) {
        for (uint32_t p = begin; p < length; ++p) {
            exact.out[d] += logits[p - begin] / weight * pages.value(sequence, p, kv_head, d);
        }
    }
    // An error of a logit is one of its weight; values are a few units.
    exact.tolerance = 5.0 * (1e-6 + magnitude * 0x1p-23);
    return exact;
}

}  // namespace hokku::testing
