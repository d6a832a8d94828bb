// SPDX-License-Identifier: Apache-2.0
// AttentionKernels: the inner loop behind attention() for one instruction set. Plain data, so that
// kernel files need no other header of ours.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hokku/kv_type.h"

namespace hokku::cpu {

/// Up to kAttentionTile queries that read the same KV head, over positions [begin, end). Query
/// number i of a KV head is head i % group of row i / group.
struct AttentionTile {
    const float* q = nullptr;  ///< Head 0 of the group, row 0.
    size_t q_stride = 0;       ///< Floats between rows.
    uint32_t group = 1;        ///< Query heads per KV head.
    uint32_t first_query = 0, num_queries = 0;

    KvType kv_type = KvType::f32;
    const std::byte* keys = nullptr;    ///< This head's part of block 0, see kv_layout.h
    const std::byte* values = nullptr;  ///< The same.
    size_t key_block_stride = 0, value_block_stride = 0;  ///< Bytes.
    const uint32_t* blocks = nullptr;

    uint32_t key_dim = 0, value_dim = 0;
    float scale = 1.0f, logit_softcap = 0.0f;
    uint32_t window = 0;
    uint32_t first_position = 0;  ///< Of row 0.
    uint32_t begin = 0, end = 0;  ///< Positions; begin is a multiple of 64.

    float* sums = nullptr;     ///< [num_queries][value_dim]: sum of exp(s - max) v
    float* maxima = nullptr;   ///< [num_queries]: largest logit; of no meaning where weight is 0
    float* weights = nullptr;  ///< [num_queries]: sum of exp(s - max); 0: no position is visible
};
inline constexpr uint32_t kAttentionTile = 24;

struct AttentionKernels {
    void (*run_tile)(const AttentionTile& tile);
};

}  // namespace hokku::cpu
