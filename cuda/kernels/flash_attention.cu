// SPDX-License-Identifier: Apache-2.0
// Stage attention of many rows: a block keeps a tile of queries and walks over the positions that
// they see, with an online softmax; sums are float32. The query heads of a KV head are rows of the
// same tile, so that any number of them shares its keys and values.
//
// Products of Qwen 2's keys and queries reach 1.5e6. Keys are halves or int8 as they lie in the
// pages; queries are split into two halves, which hold 22 bits, so that logits are as good as those
// of float32. Weights of the softmax are rounded to halves, and added up as rounded.
// Source : Dao 2023, arXiv:2307.08691.
#include "device/device.h"
#include "kernels/params.h"

namespace hokku::cuda {

constexpr uint32_t kQueries = 16;    // Of a warp.
constexpr float kLowest = -3.0e38f;  // Below any logit; finite, so that differences are.

HOKKU_DEVICE uint32_t pack_halves(float low, float high) {
    return float_to_half(low) | static_cast<uint32_t>(float_to_half(high)) << 16;
}

/// Eight codes as halves, times a scale.
HOKKU_DEVICE Words4 halves_of(const Words2& codes, float scale) {
    Words4 out;
    HOKKU_UNROLL
    for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t word = codes.w[i / 2] >> (i % 2 * 16);
        const float low = scale * static_cast<float>(static_cast<int8_t>(word));
        const float high = scale * static_cast<float>(static_cast<int8_t>(word >> 8));
        out.w[i] = float_to_half_clamped(low) | static_cast<uint32_t>(float_to_half_clamped(high))
                                                    << 16;
    }
    return out;
}

/// Positions that a tile of queries sees: some of it, none outside.
struct SeenPositions {
    uint32_t begin, end;
    [[nodiscard]] HOKKU_DEVICE bool has(uint32_t position) const {
        return position >= begin && position < end;
    }
};

/// Brings keys or values of kTile positions to shared memory as halves; what no query sees, and
/// the dimensions that fill up the last fragment, are zero. Codes of q8_0 keys stay without their
/// scales, which go to `scales`; values are multiplied.
template <bool kIsQ8, bool kIsKey, uint32_t kTile, class Halves>
HOKKU_DEVICE void load_tile(const FlashParams& p, const uint32_t* table, uint32_t first,
                            const SeenPositions& seen, Halves& tile, Halves& scales) {
    const KvPool& kv = p.kv;
    const uint32_t dim = kIsKey ? kv.key_dim : kv.value_dim, pitch = flash_pitch(dim);
    const uint32_t pieces = (dim + 15) / 16 * 2;
    const uint64_t head = uint64_t{table[first / kKvPositions]} * kv.num_kv_heads + block_y();
    const auto* pool = static_cast<const uint8_t*>(kIsKey ? kv.keys : kv.values) +
                       head * kv_head_bytes(kIsQ8 ? kKvQ8_0 : kKvF16, dim);
    const auto* pool_scales = reinterpret_cast<const uint16_t*>(pool + kKvPositions * dim);
    for (uint32_t i = thread_id(); i < kTile * pieces; i += num_threads()) {
        const uint32_t row = i / pieces, d = i % pieces * 8;
        const uint32_t slot = first % kKvPositions + row;
        const bool is_inside = d < dim && seen.has(first + row);
        const uint32_t at = is_inside ? slot * dim + d : 0;
        if constexpr (!kIsQ8) {
            copy_async16_or_zero(&tile[row * pitch + d], pool + 2 * uint64_t{at}, is_inside);
            continue;
        }
        Words4 halves = {{0, 0, 0, 0}};
        uint16_t scale = 0;
        if (is_inside) {
            scale = pool_scales[d / kGroup * kKvPositions + slot];
            halves = halves_of(load8(pool + at), kIsKey ? 1.0f : half_to_float(scale));
        }
        store16(&tile[row * pitch + d], halves);
        if (kIsKey && d % kGroup == 0) scales[d / kGroup * kTile + row] = scale;
    }
}

template <bool kIsQ8, uint32_t kMaxDim>
HOKKU_DEVICE void flash_attention(const FlashParams& p) {
    constexpr uint32_t kTile = flash_positions(kMaxDim);
    const KvPool& kv = p.kv;
    const uint32_t rows = kQueries * num_warps();
    const uint32_t key_pitch = flash_pitch(kv.key_dim), value_pitch = flash_pitch(kv.value_dim);
    uint32_t offset = 0;
    auto q_high = dynamic_shared<uint16_t>(offset, rows * key_pitch);
    offset += 2 * rows * key_pitch;
    auto q_low = dynamic_shared<uint16_t>(offset, rows * key_pitch);
    offset += 2 * rows * key_pitch;
    auto keys = dynamic_shared<uint16_t>(offset, kTile * key_pitch);
    offset += 2 * kTile * key_pitch;
    auto values = dynamic_shared<uint16_t>(offset, kTile * value_pitch);
    offset += 2 * kTile * value_pitch;
    auto scales = dynamic_shared<uint16_t>(offset, kTile * (kMaxDim / kGroup));
    wait_for_primary();
    allow_dependents();

    // Tiles at the end of a sequence take longest: they begin first.
    const uint32_t begin_row = p.row_bounds[block_z()], end_row = p.row_bounds[block_z() + 1];
    const uint32_t group = p.num_heads / kv.num_kv_heads;
    const uint32_t num_queries = (end_row - begin_row) * group;
    const uint32_t first_query = (grid_x() - 1 - block_x()) * rows;
    if (first_query >= num_queries) return;  // The whole block.
    const uint32_t last_query =
        first_query + rows < num_queries ? first_query + rows - 1 : num_queries - 1;
    const uint32_t first_position = p.positions[begin_row + first_query / group];
    SeenPositions seen{0, p.positions[begin_row + last_query / group] + 1};
    if (p.window > 0 && first_position >= p.window) seen.begin = first_position - p.window + 1;
    const uint32_t* table = kv.tables + uint64_t{begin_row} * kv.max_blocks;
    const uint32_t first_tile = seen.begin / kTile * kTile;
    load_tile<kIsQ8, true, kTile>(p, table, first_tile, seen, keys, scales);
    copy_commit();
    load_tile<kIsQ8, false, kTile>(p, table, first_tile, seen, values, scales);
    copy_commit();
    for (uint32_t i = thread_id(); i < rows * key_pitch; i += num_threads()) {
        const uint32_t query = first_query + i / key_pitch, d = i % key_pitch;
        float q = 0;
        if (query < num_queries && d < kv.key_dim) {
            const uint32_t head = block_y() * group + query % group;
            q = p.q[uint64_t{begin_row + query / group} * p.q_stride + head * kv.key_dim + d];
        }
        const uint16_t high = float_to_half_clamped(q);
        q_high[i] = high;
        q_low[i] = float_to_half_clamped(q - half_to_float(high));
    }

    const uint32_t lane = lane_id(), g = lane / 4, t = lane % 4;
    uint32_t query[2], position[2];  // Of this lane's two rows.
    HOKKU_UNROLL
    for (uint32_t r = 0; r < 2; ++r) {
        query[r] = first_query + kQueries * warp_id() + 8 * r + g;
        const uint32_t inside = query[r] < num_queries ? query[r] : num_queries - 1;
        position[r] = p.positions[begin_row + inside / group];
    }
    float sums[kMaxDim / 8][4] = {};
    float largest[2] = {kLowest, kLowest}, weights[2] = {};
    for (uint32_t tile = first_tile; tile < seen.end; tile += kTile) {
        const bool is_last = tile + kTile >= seen.end;
        copy_wait<1>();
        block_barrier();  // Keys are there.
        float logits[kTile / 8][4] = {};
        float parts[kTile / 8][4] = {};  // Of q8_0: of the dimensions that share a scale.
        HOKKU_NO_UNROLL
        for (uint32_t d = 0; d < kv.key_dim; d += 16) {
            uint32_t high[4], low[4];
            const uint32_t q_place = (kQueries * warp_id() + lane % 16) * key_pitch + d;
            load_matrix(high, &q_high[q_place + lane / 16 * 8]);
            load_matrix(low, &q_low[q_place + lane / 16 * 8]);
            HOKKU_UNROLL
            for (uint32_t j = 0; j < kTile / 8; j += 2) {
                uint32_t b[4];
                const uint32_t row = 8 * j + lane / 16 * 8 + lane % 8;
                load_matrix(b, &keys[row * key_pitch + d + lane / 8 % 2 * 8]);
                const uint32_t b0[2] = {b[0], b[1]}, b1[2] = {b[2], b[3]};
                float(&to0)[4] = kIsQ8 ? parts[j] : logits[j];
                float(&to1)[4] = kIsQ8 ? parts[j + 1] : logits[j + 1];
                mma_f16(to0, low, b0);
                mma_f16(to1, low, b1);
                mma_f16(to0, high, b0);
                mma_f16(to1, high, b1);
            }
            if constexpr (kIsQ8) {
                if (d % kGroup == 0 && d + 16 < kv.key_dim) continue;
                HOKKU_UNROLL
                for (uint32_t i = 0; i < kTile / 2; ++i) {
                    const uint32_t place = d / kGroup * kTile + i / 4 * 8 + 2 * t + i % 2;
                    float& part = parts[i / 4][i % 4];
                    logits[i / 4][i % 4] =
                        fma_f(half_to_float(scales[place]), part, logits[i / 4][i % 4]);
                    part = 0;
                }
            }
        }
        block_barrier();  // Keys have been read.
        if (!is_last) {
            load_tile<kIsQ8, true, kTile>(p, table, tile + kTile, seen, keys, scales);
        }
        copy_commit();

        const auto sees = [&](uint32_t i, uint32_t r) {
            const uint32_t at = tile + i / 4 * 8 + 2 * t + i % 2;
            return at <= position[r] && (p.window == 0 || at + p.window > position[r]);
        };
        float now[2] = {largest[0], largest[1]};
        HOKKU_UNROLL
        for (uint32_t i = 0; i < kTile / 2; ++i) {
            float& logit = logits[i / 4][i % 4];
            const uint32_t r = i % 4 / 2;
            logit *= p.scale;
            if (p.softcap > 0.0f) logit = p.softcap * tanh_f(logit / p.softcap);
            if (sees(i, r)) now[r] = max_f(now[r], logit);
        }
        HOKKU_UNROLL
        for (uint32_t r = 0; r < 2; ++r) {
            now[r] = max_f(now[r], shuffle_xor(kAllLanes, now[r], 1));
            now[r] = max_f(now[r], shuffle_xor(kAllLanes, now[r], 2));
            const float keep = exp_f(largest[r] - now[r]);
            largest[r] = now[r];
            weights[r] *= keep;
            HOKKU_UNROLL
            for (uint32_t j = 0; j < kMaxDim / 8; ++j) {
                sums[j][2 * r] *= keep;
                sums[j][2 * r + 1] *= keep;
            }
        }
        HOKKU_UNROLL
        for (uint32_t i = 0; i < kTile / 2; ++i) {
            float& logit = logits[i / 4][i % 4];
            const uint32_t r = i % 4 / 2;
            logit = sees(i, r) ? half_to_float(float_to_half(exp_f(logit - largest[r]))) : 0.0f;
            weights[r] += logit;
        }

        copy_wait<1>();
        block_barrier();  // Values are there.
        HOKKU_UNROLL
        for (uint32_t j = 0; j < kTile / 16; ++j) {
            const float(&low)[4] = logits[2 * j], (&high)[4] = logits[2 * j + 1];
            const uint32_t a[4] = {pack_halves(low[0], low[1]), pack_halves(low[2], low[3]),
                                   pack_halves(high[0], high[1]), pack_halves(high[2], high[3])};
            HOKKU_UNROLL
            for (uint32_t d = 0; d < kMaxDim; d += 16) {
                if (d >= kv.value_dim) continue;
                uint32_t b[4];
                const uint32_t row = 16 * j + lane / 8 % 2 * 8 + lane % 8;
                load_matrix_transposed(b, &values[row * value_pitch + d + lane / 16 * 8]);
                const uint32_t b0[2] = {b[0], b[1]}, b1[2] = {b[2], b[3]};
                mma_f16(sums[d / 8], a, b0);
                mma_f16(sums[d / 8 + 1], a, b1);
            }
        }
        block_barrier();  // Values have been read.
        if (!is_last) {
            load_tile<kIsQ8, false, kTile>(p, table, tile + kTile, seen, values, scales);
        }
        copy_commit();
    }
    copy_wait<0>();

    HOKKU_UNROLL
    for (uint32_t r = 0; r < 2; ++r) {
        weights[r] += shuffle_xor(kAllLanes, weights[r], 1);
        weights[r] += shuffle_xor(kAllLanes, weights[r], 2);
        if (query[r] >= num_queries) continue;
        const uint32_t head = block_y() * group + query[r] % group;
        float factor = 1.0f, weight = weights[r];
        if (p.sinks != nullptr) {
            const float sink = p.sinks[head], most = max_f(largest[r], sink);
            factor = exp_f(largest[r] - most);
            weight = weight * factor + exp_f(sink - most);
        }
        factor /= weight;
        const uint64_t place = uint64_t{begin_row + query[r] / group} * p.out_stride +
                               uint64_t{head} * kv.value_dim + 2 * t;
        HOKKU_UNROLL
        for (uint32_t j = 0; j < kMaxDim / 8; ++j) {
            if (8 * j >= kv.value_dim) continue;
            p.out[place + 8 * j] = sums[j][2 * r] * factor;
            p.out[place + 8 * j + 1] = sums[j][2 * r + 1] * factor;
        }
    }
}

#define HOKKU_FLASH(dim, min_blocks)                                        \
    HOKKU_KERNEL_RESIDENT(flash_f16_##dim, FlashParams, 128, min_blocks) {  \
        flash_attention<false, dim>(p);                                     \
    }                                                                       \
    HOKKU_KERNEL_RESIDENT(flash_q8_0_##dim, FlashParams, 128, min_blocks) { \
        flash_attention<true, dim>(p);                                      \
    }

HOKKU_FLASH(64, 3)
HOKKU_FLASH(128, 2)
HOKKU_FLASH(256, 2)

}  // namespace hokku::cuda
