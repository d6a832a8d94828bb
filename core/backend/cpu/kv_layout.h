// SPDX-License-Identifier: Apache-2.0
// Where the keys and values of one KV head lie in a block of 64 positions, for each KvType:
//   f32   keys [key_dim][64] f32       values [64][value_dim] f32
//   f16   keys [key_dim][64] f16       values [64][row] f16
//   q8_0  keys [key_dim][64] int8      values [64][row] int8
//   q4_0  keys [groups][16][64] bytes  values [64][groups][16] bytes
// A group is 32 dimensions, the last one what is left of them. Codes (q8_0, q4_0) are followed by
// scales [groups][64] f16, one for a group of a position; value = code * scale. Byte j of a group
// of q4_0 has code + 8 of dimension j in its low half and of dimension 16 + j in its high one, as
// in a block of that type in a GGUF file. row is value_dim rounded up to 16, so that whole
// registers can be loaded. Internal linkage on purpose: files built with extra instruction set
// flags include this header too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hokku/kv_type.h"

namespace hokku::cpu {

inline constexpr size_t kKvScaleDims = 32;    ///< Dimensions that share a scale.
inline constexpr size_t kKvNibbleBytes = 16;  ///< That hold the codes of a group of q4_0.
inline constexpr size_t kKvPositions = 64;    ///< Of a block: kKvBlockTokens.
inline constexpr size_t kKvRowMultiple = 16;  ///< Of the rows of values that are not f32.

[[maybe_unused]] static inline size_t kv_num_groups(size_t dim) {
    return (dim + kKvScaleDims - 1) / kKvScaleDims;
}
[[maybe_unused]] static inline bool kv_has_scales(KvType type) {
    return type == KvType::q8_0 || type == KvType::q4_0;
}

/// The element of a key or value that holds dimension d.
[[maybe_unused]] static inline size_t kv_element_of(KvType type, size_t d) {
    if (type != KvType::q4_0) return d;
    return d / kKvScaleDims * kKvNibbleBytes + d % kKvNibbleBytes;
}
/// Elements that a position's key has, one below the other; of q4_0 an element is a byte.
[[maybe_unused]] static inline size_t kv_key_rows(KvType type, size_t key_dim) {
    return type == KvType::q4_0 ? kv_num_groups(key_dim) * kKvNibbleBytes : key_dim;
}
/// Elements from one position's values to the next one's.
[[maybe_unused]] static inline size_t kv_value_row(KvType type, size_t value_dim) {
    if (type == KvType::f32) return value_dim;
    if (type == KvType::q4_0) return kv_num_groups(value_dim) * kKvNibbleBytes;
    return (value_dim + kKvRowMultiple - 1) / kKvRowMultiple * kKvRowMultiple;
}

[[maybe_unused]] static inline size_t kv_element_size(KvType type) {
    return type == KvType::f32 ? 4 : (type == KvType::f16 ? 2 : 1);
}
/// Bytes of the elements, before the scales.
[[maybe_unused]] static inline size_t kv_element_bytes(KvType type, size_t elements) {
    return elements * kKvPositions * kv_element_size(type);
}
[[maybe_unused]] static inline size_t kv_scale_bytes(KvType type, size_t dim) {
    return kv_has_scales(type) ? kv_num_groups(dim) * kKvPositions * sizeof(uint16_t) : 0;
}

/// Bytes of one head in a block; multiples of 64.
[[maybe_unused]] static inline size_t kv_key_head_bytes(KvType type, size_t key_dim) {
    return kv_element_bytes(type, kv_key_rows(type, key_dim)) + kv_scale_bytes(type, key_dim);
}
[[maybe_unused]] static inline size_t kv_value_head_bytes(KvType type, size_t value_dim) {
    return kv_element_bytes(type, kv_value_row(type, value_dim)) + kv_scale_bytes(type, value_dim);
}

}  // namespace hokku::cpu
