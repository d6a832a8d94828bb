// SPDX-License-Identifier: Apache-2.0
// What is done with a head of queries, keys or values before attention: RMSNorm (Qwen 3), rotation,
// and keys and values into their blocks.
#pragma once

#include "device/device.h"
#include "device/reductions.h"
#include "kernels/params.h"

namespace hokku::cuda {

/// The smallest half by which no code of a group is beyond 127; not a number where a value is not
/// finite.
HOKKU_DEVICE uint16_t kv_scale(float largest, bool is_finite) {
    if (!is_finite) return 0x7e00;
    const float wanted = largest / 127.0f;
    const uint16_t scale = float_to_half_clamped(wanted);
    return half_to_float(scale) < wanted && scale < 0x7bff ? scale + 1 : scale;
}

/// Stores a row of `dim` values, of which lane i of a warp brings value(i), value(i + 32), ..
template <class Value>
HOKKU_DEVICE void store_kv(const KvPool& kv, void* pool, uint32_t row, uint32_t position,
                           uint32_t head, uint32_t dim, Value value) {
    const uint32_t block = kv.tables[uint64_t{row} * kv.max_blocks + position / kKvPositions];
    const uint32_t slot = position % kKvPositions;
    auto* bytes = static_cast<uint8_t*>(pool) +
                  (uint64_t{block} * kv.num_kv_heads + head) * kv_head_bytes(kv.format, dim);
    for (uint32_t first = 0; first < dim; first += kWarp) {
        const uint32_t i = first + lane_id();
        const bool is_inside = i < dim;
        const float x = is_inside ? value(i) : 0.0f;
        if (kv.format == kKvQ8_0) {
            const float largest = warp_max(abs_f(x));
            const bool is_finite = ballot(kAllLanes, x - x == 0.0f) == kAllLanes;
            const uint16_t scale = kv_scale(largest, is_finite);
            const float step = half_to_float(scale);
            const float code =
                step > 0.0f ? min_f(max_f(x * (1.0f / step), -127.0f), 127.0f) : 0.0f;
            if (is_inside) {
                reinterpret_cast<int8_t*>(bytes)[slot * dim + i] =
                    static_cast<int8_t>(round_to_int(code));
            }
            if (lane_id() == 0) {
                reinterpret_cast<uint16_t*>(bytes + kKvPositions * dim)[first * 2 + slot] = scale;
            }
        } else if (is_inside && kv.format == kKvF16) {
            reinterpret_cast<uint16_t*>(bytes)[slot * dim + i] = float_to_half_clamped(x);
        } else if (is_inside) {
            reinterpret_cast<float*>(bytes)[slot * dim + i] = x;
        }
    }
}

constexpr uint32_t kMaxRopeDim = 512;

/// Norms the head whose values every lane reads from lane_id() on in steps of a warp.
HOKKU_DEVICE void norm_head(const RopeParams& p, float* values, uint32_t n, const float* weight,
                            const float* bias) {
    float mean = 0, square_sum = 0;
    if (p.norm_kind == kLayerNorm) {
        float sum = 0;
        for (uint32_t i = lane_id(); i < n; i += kWarp) sum += values[i];
        mean = warp_sum(sum) / static_cast<float>(n);
    }
    for (uint32_t i = lane_id(); i < n; i += kWarp) {
        const float value = values[i] - mean;
        square_sum = fma_f(value, value, square_sum);
    }
    const float factor = 1.0f / sqrt_f(warp_sum(square_sum) / static_cast<float>(n) + p.eps);
    for (uint32_t i = lane_id(); i < n; i += kWarp) {
        const float value = (values[i] - mean) * factor * weight[i];
        values[i] = bias != nullptr ? value + bias[i] : value;
    }
}

/// Head `head` of a row - queries, then keys, then values - by one warp. `values` and `rotated` are
/// shared arrays of kMaxRopeDim.
template <class Shared>
HOKKU_DEVICE void finish_head(const RopeParams& p, uint32_t row, uint32_t head, Shared& values,
                              Shared& rotated) {
    const KvPool& kv = p.kv;
    const uint32_t position = p.positions[row];
    const uint32_t q_size = p.num_heads * kv.key_dim, k_size = kv.num_kv_heads * kv.key_dim;
    const uint32_t v_size = kv.num_kv_heads * kv.value_dim;
    float* rows = p.qkv + uint64_t{row} * (q_size + k_size + v_size);
    if (head >= p.num_heads + kv.num_kv_heads) {
        head -= p.num_heads + kv.num_kv_heads;
        const float* v = rows + q_size + k_size + head * kv.value_dim;
        store_kv(kv, kv.values, row, position, head, kv.value_dim,
                 [&](uint32_t i) { return v[i]; });
        return;
    }
    const bool is_key = head >= p.num_heads;
    float* x = rows + head * kv.key_dim;  // Keys follow the queries.
    const uint32_t norm_head_of = (is_key ? head - p.num_heads : head) * p.norm_stride;
    const float* weight = is_key ? p.k_norm : p.q_norm;
    const float* bias = is_key ? p.k_norm_bias : p.q_norm_bias;
    if (weight != nullptr) weight += norm_head_of;
    if (bias != nullptr) bias += norm_head_of;
    for (uint32_t i = lane_id(); i < kv.key_dim; i += kWarp) values[i] = x[i];
    if (weight != nullptr && p.is_norm_last == 0) {
        norm_head(p, &values[0], kv.key_dim, weight, bias);
    }
    warp_barrier(kAllLanes);
    const uint32_t half = p.num_dims / 2;
    const float* cosines = p.cos_sin + uint64_t{position} * p.num_dims;
    for (uint32_t i = lane_id(); i < kv.key_dim; i += kWarp) {
        float value = values[i];
        if (i < p.num_dims) {
            const uint32_t pair = p.is_interleaved != 0 ? i / 2 : i % half;
            const bool is_second = p.is_interleaved != 0 ? i % 2 != 0 : i >= half;
            const uint32_t first = p.is_interleaved != 0 ? 2 * pair : pair;
            const uint32_t second = p.is_interleaved != 0 ? first + 1 : first + half;
            const float c = cosines[pair], s = cosines[half + pair];
            const float a = values[first], b = values[second];
            value = is_second ? a * s + b * c : a * c - b * s;
        }
        rotated[i] = value;
    }
    // From here on each lane reads what it wrote itself.
    if (weight != nullptr && p.is_norm_last != 0) {
        norm_head(p, &rotated[0], kv.key_dim, weight, bias);
    }
    float factor = 1.0f;
    if (!is_key && p.temperature_span > 0) {
        const auto spans = static_cast<float>(position / p.temperature_span);
        factor += p.temperature * log_f(1.0f + spans);
    }
    if (is_key) {
        store_kv(kv, kv.keys, row, position, head - p.num_heads, kv.key_dim,
                 [&](uint32_t i) { return rotated[i]; });
        return;
    }
    for (uint32_t i = lane_id(); i < kv.key_dim; i += kWarp) x[i] = rotated[i] * factor;
}

}  // namespace hokku::cuda
