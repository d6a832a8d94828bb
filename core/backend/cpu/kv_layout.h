// SPDX-License-Identifier: Apache-2.0
// Where the keys and values of one KV head lie in a block of 64 positions, for each KvType:
//   f32   keys [key_dim][64] f32     values [64][value_dim] f32
//   f16   keys [key_dim][64] f16     values [64][row] f16
//   q8_0  keys [key_dim][64] int8,   values [64][row] int8,   each followed by
//         scales [ceil(dim / 32)][64] f16, one for 32 dimensions of a position; value = code *
//         scale
// row is value_dim rounded up to 16, so that whole registers can be loaded. Internal linkage on
// purpose: files built with extra instruction set flags include this header too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hokku/kv_type.h"

namespace hokku::cpu {

inline constexpr size_t kKvScaleDims = 32;    ///< Dimensions that share a scale.
inline constexpr size_t kKvPositions = 64;    ///< Of a block: kKvBlockTokens.
inline constexpr size_t kKvRowMultiple = 16;  ///< Of the rows of values that are not f32.

/// Elements from one position's values to the next one's.
[[maybe_unused]] static inline size_t kv_value_row(KvType type, size_t value_dim) {
    if (type == KvType::f32) return value_dim;
    return (value_dim + kKvRowMultiple - 1) / kKvRowMultiple * kKvRowMultiple;
}

/// Bytes of the elements, before the scales.
[[maybe_unused]] static inline size_t kv_element_bytes(KvType type, size_t row) {
    const size_t element = type == KvType::f32 ? 4 : (type == KvType::f16 ? 2 : 1);
    return row * kKvPositions * element;
}
[[maybe_unused]] static inline size_t kv_scale_bytes(KvType type, size_t dim) {
    if (type != KvType::q8_0) return 0;
    return (dim + kKvScaleDims - 1) / kKvScaleDims * kKvPositions * sizeof(uint16_t);
}

/// Bytes of one head in a block; multiples of 64.
[[maybe_unused]] static inline size_t kv_key_head_bytes(KvType type, size_t key_dim) {
    return kv_element_bytes(type, key_dim) + kv_scale_bytes(type, key_dim);
}
[[maybe_unused]] static inline size_t kv_value_head_bytes(KvType type, size_t value_dim) {
    return kv_element_bytes(type, kv_value_row(type, value_dim)) + kv_scale_bytes(type, value_dim);
}

}  // namespace hokku::cpu
