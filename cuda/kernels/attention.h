// SPDX-License-Identifier: Apache-2.0
// Stage attention of a few rows: softmax(q k^T) v over the paged KV in float32, split over the
// positions. All query heads of a KV head are computed together, so that it is read once. Then
// the splits are combined and quantised for the stage attn_out.
//
// Products of Qwen 2's keys and queries reach 1.5e6: nothing here is a half but what is stored.
#pragma once

#include "device/device.h"
#include "device/reductions.h"
#include "kernels/params.h"
#include "kernels/prefetch.h"
#include "kernels/quantize.h"

namespace hokku::cuda {

constexpr uint32_t kAttentionThreads = 128;  // And positions that are looked at together.
constexpr uint32_t kMaxHeadDim = 256;
constexpr uint32_t kPiece = 8;       // Dimensions of one load.
constexpr float kLowest = -3.0e38f;  // Below any logit; finite, so that differences are.

struct Piece {
    float values[kPiece];
};

/// kPiece values from dimension d on of a position: `head` counts heads over all blocks.
struct HalfReader {
    const uint16_t* pool;
    uint32_t dim;
    HOKKU_DEVICE HalfReader(const void* p, uint32_t size)
        : pool(static_cast<const uint16_t*>(p)), dim(size) {}
    [[nodiscard]] HOKKU_DEVICE Piece load(uint64_t head, uint32_t position, uint32_t d) const {
        const Words4 words = load16(pool + (head * kKvPositions + position) * dim + d);
        Piece out;
        HOKKU_UNROLL
        for (uint32_t i = 0; i < 4; ++i) {
            out.values[2 * i] = half_to_float(static_cast<uint16_t>(words.w[i]));
            out.values[2 * i + 1] = half_to_float(static_cast<uint16_t>(words.w[i] >> 16));
        }
        return out;
    }
};

struct FloatReader {
    const float* pool;
    uint32_t dim;
    HOKKU_DEVICE FloatReader(const void* p, uint32_t size)
        : pool(static_cast<const float*>(p)), dim(size) {}
    [[nodiscard]] HOKKU_DEVICE Piece load(uint64_t head, uint32_t position, uint32_t d) const {
        const float* from = pool + (head * kKvPositions + position) * dim + d;
        const Words4 words[2] = {load16(from), load16(from + 4)};
        Piece out;
        HOKKU_UNROLL
        for (uint32_t i = 0; i < kPiece; ++i) {
            out.values[i] = bits_to_float(words[i / 4].w[i % 4]);
        }
        return out;
    }
};

struct Q8Reader {
    const int8_t* pool;
    uint32_t dim;
    HOKKU_DEVICE Q8Reader(const void* p, uint32_t size)
        : pool(static_cast<const int8_t*>(p)), dim(size) {}
    [[nodiscard]] HOKKU_DEVICE Piece load(uint64_t head, uint32_t position, uint32_t d) const {
        const int8_t* codes = pool + head * kv_head_bytes(kKvQ8_0, dim);
        const auto* scales = reinterpret_cast<const uint16_t*>(codes + kKvPositions * dim);
        const Words2 words = load8(codes + position * dim + d);
        const float scale = half_to_float(scales[d / kGroup * kKvPositions + position]);
        Piece out;
        HOKKU_UNROLL
        for (uint32_t i = 0; i < kPiece; ++i) {
            const auto code = static_cast<int8_t>(words.w[i / 4] >> (8 * (i % 4)));
            out.values[i] = scale * static_cast<float>(code);
        }
        return out;
    }
};

/// block_x: KV head and piece of its query heads; block_y: split; block_z: row. Head sizes are
/// multiples of kPiece up to kMaxHeadDim.
template <class Reader, uint32_t kHeads, class Place = LaunchPlace>
HOKKU_DEVICE void attention_split(const AttentionParams& p, const Place& block = {}) {
    HOKKU_SHARED(float, queries, kHeads* kMaxHeadDim);
    HOKKU_SHARED(float, logits, kHeads* kAttentionThreads);
    HOKKU_SHARED(float, heads_max, kHeads);
    HOKKU_SHARED(float, heads_sum, kHeads);
    HOKKU_SHARED(float, heads_keep, kHeads);  // Of the sums of earlier positions.
    HOKKU_SHARED(float, partial, kHeads* kMaxHeadDim);
    if (block.z() == 0) {
        prefetch_next(p.next, (block.y() * block.num_x() + block.x()) * num_threads() + thread_id(),
                      block.num_x() * block.num_y() * num_threads());
    }
    wait_for_primary();
    allow_dependents();
    const KvPool& kv = p.kv;
    const uint32_t group = p.num_heads / kv.num_kv_heads;
    const uint32_t pieces = (group + kHeads - 1) / kHeads;
    const uint32_t kv_head = block.x() / pieces, first = block.x() % pieces * kHeads;
    const uint32_t num_heads = group - first < kHeads ? group - first : kHeads;
    const uint32_t row = block.z(), split = block.y(), num_splits = block.num_y();
    const uint32_t position = p.positions[row];
    uint32_t begin = split * p.split_positions, end = begin + p.split_positions;
    if (end > position + 1) end = position + 1;
    if (p.window > 0 && position >= p.window && begin < position - p.window + 1) {
        begin = position - p.window + 1;
    }
    const uint32_t head0 = kv_head * group + first;
    const uint64_t out = (uint64_t{row} * p.num_heads + head0) * num_splits + split;
    if (begin >= end) {  // Past the end, or outside the window: the whole block.
        if (thread_id() < num_heads) {
            p.weights[out + uint64_t{thread_id()} * num_splits] = 0;
            p.maxima[out + uint64_t{thread_id()} * num_splits] = kLowest;
        }
        return;
    }
    for (uint32_t i = thread_id(); i < kHeads * kv.key_dim; i += num_threads()) {
        const uint32_t h = i / kv.key_dim, d = i % kv.key_dim;
        const uint64_t place = uint64_t{row} * p.q_stride + (head0 + h) * kv.key_dim + d;
        queries[h * kMaxHeadDim + d] = h < num_heads ? p.q[place] : 0.0f;
    }
    if (thread_id() < kHeads) {
        heads_max[thread_id()] = kLowest;
        heads_sum[thread_id()] = 0;
    }
    const Reader keys(kv.keys, kv.key_dim), values(kv.values, kv.value_dim);
    const uint32_t* table = p.kv.tables + uint64_t{row} * kv.max_blocks;
    // Thread t adds up dimensions piece t % columns of the positions t / columns, + slots, ..
    const uint32_t columns = kv.value_dim / kPiece, slots = num_threads() / columns;
    const uint32_t column = thread_id() % columns, slot = thread_id() / columns;
    float sums[kHeads][kPiece] = {};
    for (uint32_t tile = begin; tile < end; tile += kAttentionThreads) {
        const uint32_t tile_end = end - tile < kAttentionThreads ? end - tile : kAttentionThreads;
        block_barrier();  // Queries are there; the logits of the tile before have been read.
        if (thread_id() < tile_end) {
            const uint32_t at = tile + thread_id();
            const uint64_t head = uint64_t{table[at / kKvPositions]} * kv.num_kv_heads + kv_head;
            float dots[kHeads] = {};
            for (uint32_t d = 0; d < kv.key_dim; d += kPiece) {
                const Piece key = keys.load(head, at % kKvPositions, d);
                HOKKU_UNROLL
                for (uint32_t h = 0; h < kHeads; ++h) {
                    const Words4 q[2] = {load16(&queries[h * kMaxHeadDim + d]),
                                         load16(&queries[h * kMaxHeadDim + d + 4])};
                    HOKKU_UNROLL
                    for (uint32_t i = 0; i < kPiece; ++i) {
                        dots[h] = fma_f(bits_to_float(q[i / 4].w[i % 4]), key.values[i], dots[h]);
                    }
                }
            }
            HOKKU_UNROLL
            for (uint32_t h = 0; h < kHeads; ++h) {
                float logit = dots[h] * p.scale;
                if (p.softcap > 0.0f) logit = p.softcap * tanh_f(logit / p.softcap);
                logits[h * kAttentionThreads + thread_id()] = logit;
            }
        }
        block_barrier();
        for (uint32_t h = warp_id(); h < kHeads; h += num_warps()) {
            float largest = heads_max[h];
            for (uint32_t i = lane_id(); i < tile_end; i += kWarp) {
                largest = max_f(largest, logits[h * kAttentionThreads + i]);
            }
            largest = warp_max(largest);
            float sum = 0;
            for (uint32_t i = lane_id(); i < tile_end; i += kWarp) {
                const float e = exp_f(logits[h * kAttentionThreads + i] - largest);
                logits[h * kAttentionThreads + i] = e;
                sum += e;
            }
            sum = warp_sum(sum);
            const float keep = exp_f(heads_max[h] - largest);
            warp_barrier(kAllLanes);  // All have read the old maximum.
            if (lane_id() == 0) {
                heads_sum[h] = heads_sum[h] * keep + sum;
                heads_max[h] = largest;
                heads_keep[h] = keep;
            }
        }
        block_barrier();
        if (slot < slots) {
            HOKKU_UNROLL
            for (uint32_t h = 0; h < kHeads; ++h) {
                const float keep = heads_keep[h];
                HOKKU_UNROLL
                for (uint32_t i = 0; i < kPiece; ++i) sums[h][i] *= keep;
            }
            for (uint32_t i = slot; i < tile_end; i += slots) {
                const uint32_t at = tile + i;
                const uint64_t head =
                    uint64_t{table[at / kKvPositions]} * kv.num_kv_heads + kv_head;
                const Piece value = values.load(head, at % kKvPositions, column * kPiece);
                HOKKU_UNROLL
                for (uint32_t h = 0; h < kHeads; ++h) {
                    const float weight = logits[h * kAttentionThreads + i];
                    HOKKU_UNROLL
                    for (uint32_t j = 0; j < kPiece; ++j) {
                        sums[h][j] = fma_f(weight, value.values[j], sums[h][j]);
                    }
                }
            }
        }
    }
    // The slots add up one after another: the same order in every run.
    for (uint32_t turn = 0; turn < slots; ++turn) {
        block_barrier();
        if (slot != turn) continue;
        HOKKU_UNROLL
        for (uint32_t h = 0; h < kHeads; ++h) {
            HOKKU_UNROLL
            for (uint32_t i = 0; i < kPiece; ++i) {
                float& place = partial[h * kMaxHeadDim + column * kPiece + i];
                place = turn == 0 ? sums[h][i] : place + sums[h][i];
            }
        }
    }
    block_barrier();
    for (uint32_t i = thread_id(); i < num_heads * kv.value_dim; i += num_threads()) {
        const uint32_t h = i / kv.value_dim, d = i % kv.value_dim;
        p.sums[(out + uint64_t{h} * num_splits) * kv.value_dim + d] = partial[h * kMaxHeadDim + d];
    }
    if (thread_id() < num_heads) {
        p.weights[out + uint64_t{thread_id()} * num_splits] = heads_sum[thread_id()];
        p.maxima[out + uint64_t{thread_id()} * num_splits] = heads_max[thread_id()];
    }
}

/// A warp for each group of 32 values of all heads; block_y is the row.
template <class Place = LaunchPlace>
HOKKU_DEVICE void combine_splits(const CombineParams& p, const Place& at = {}) {
    wait_for_primary();
    allow_dependents();
    const uint32_t group = at.x() * num_warps() + warp_id(), row = at.y();
    if (group >= p.out.groups) return;
    const uint32_t i = group * kGroup + lane_id();
    float value = 0;
    if (i < p.num_heads * p.value_dim) {
        const uint32_t head = i / p.value_dim, d = i % p.value_dim;
        const uint64_t first = (uint64_t{row} * p.num_heads + head) * p.num_splits;
        float largest = p.sinks != nullptr ? p.sinks[head] : kLowest;
        for (uint32_t s = 0; s < p.num_splits; ++s) {
            if (p.weights[first + s] > 0.0f) largest = max_f(largest, p.maxima[first + s]);
        }
        float weight = p.sinks != nullptr ? exp_f(p.sinks[head] - largest) : 0.0f;
        float sum = 0;
        for (uint32_t s = 0; s < p.num_splits; ++s) {
            if (p.weights[first + s] == 0.0f) continue;  // Its sums were never written.
            const float factor = exp_f(p.maxima[first + s] - largest);
            weight = fma_f(p.weights[first + s], factor, weight);
            sum = fma_f(p.sums[(first + s) * p.value_dim + d], factor, sum);
        }
        value = weight > 0.0f || weight != weight ? sum / weight : 0.0f;
    }
    store_group(p.out, row, group, value);
}

}  // namespace hokku::cuda
