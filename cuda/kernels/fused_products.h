// SPDX-License-Identifier: Apache-2.0
// Products of one vector with what follows them, so that a layer is fewer launches: the block that
// computes the last row of a head finishes it, the one that comes last of all norms the vector.
#pragma once

#include "device/device.h"
#include "device/reductions.h"
#include "kernels/gemv.h"
#include "kernels/norm.h"
#include "kernels/params.h"
#include "kernels/rope_append.h"

namespace hokku::cuda {

/// A head of q, k, v: which one, and its rows.
struct HeadRows {
    uint32_t index, begin, end;
};
HOKKU_DEVICE HeadRows head_of_row(const RopeParams& p, uint32_t row) {
    const uint32_t num_rotated = p.num_heads + p.kv.num_kv_heads;
    const uint32_t rotated = num_rotated * p.kv.key_dim;
    HeadRows out{};
    if (row < rotated) {
        out.index = row / p.kv.key_dim;
        out.begin = out.index * p.kv.key_dim;
        out.end = out.begin + p.kv.key_dim;
    } else {
        const uint32_t head = (row - rotated) / p.kv.value_dim;
        out.index = num_rotated + head;
        out.begin = rotated + head * p.kv.value_dim;
        out.end = out.begin + p.kv.value_dim;
    }
    return out;
}

/// Behind the product: the heads of which this block computed the last row.
template <class Place>
HOKKU_DEVICE void finish_heads(const QkvParams& p, const Place& at) {
    HOKKU_SHARED(float, values, kMaxRopeDim);
    HOKKU_SHARED(float, rotated, kMaxRopeDim);
    const uint32_t rows_of_block = num_warps() / p.gemv.warps_per_row * kGemvRows;
    const uint32_t end_row = p.first_row + p.gemv.weight.rows;
    uint32_t row = p.first_row + at.x() * rows_of_block;
    const uint32_t end = row + rows_of_block < end_row ? row + rows_of_block : end_row;
    while (row < end) {
        const HeadRows head = head_of_row(p.rope, row);
        const uint32_t next = head.end < end ? head.end : end;
        if (is_last_to_arrive(p.counters + head.index, next - row, head.end - head.begin) &&
            warp_id() == 0) {
            finish_head(p.rope, 0, head.index, values, rotated);
        }
        row = next;
    }
}

/// Behind the product: the norm, by the block that comes last.
template <class Place>
HOKKU_DEVICE void finish_norm(const GemvNormParams& p, const Place& at) {
    if (!is_last_to_arrive(p.counter, 1, at.num_x())) return;
    if (p.has_add != 0) {
        add_normed(p.add, 0);
        block_barrier();  // x is there.
    }
    norm_vector(p.norm, 0);
}

}  // namespace hokku::cuda
