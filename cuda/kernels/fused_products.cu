// SPDX-License-Identifier: Apache-2.0
// Products of one vector with what follows them, so that a layer is fewer launches: the block that
// computes the last row of a head finishes it, the one that comes last of all norms the vector.
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

template <class Format>
HOKKU_DEVICE void qkv(const QkvParams& p) {
    HOKKU_SHARED(float, values, kMaxHeadDim);
    HOKKU_SHARED(float, rotated, kMaxHeadDim);
    gemv<Format, 1>(p.gemv);
    const uint32_t rows_of_block = num_warps() / p.gemv.warps_per_row * kGemvRows;
    const uint32_t end_row = p.first_row + p.gemv.weight.rows;
    uint32_t row = p.first_row + block_x() * rows_of_block;
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

template <class Format>
HOKKU_DEVICE void gemv_norm(const GemvNormParams& p) {
    gemv<Format, 1>(p.gemv);
    if (is_last_to_arrive(p.counter, 1, grid_x())) norm_vector(p.norm, 0);
}

#define HOKKU_FUSED(name, Format)                                              \
    HOKKU_KERNEL_RESIDENT(qkv_##name, QkvParams, kGemvThreads, 4) {            \
        qkv<Format>(p);                                                        \
    }                                                                          \
    HOKKU_KERNEL_RESIDENT(gemv_norm_##name, GemvNormParams, kGemvThreads, 4) { \
        gemv_norm<Format>(p);                                                  \
    }

HOKKU_FUSED(q4_k, FormatQ4K)
HOKKU_FUSED(q5_k, FormatQ5K)
HOKKU_FUSED(q6_k, FormatQ6K)
HOKKU_FUSED(q8_0, FormatQ8_0)
HOKKU_FUSED(q4_0, FormatQ4_0)
HOKKU_FUSED(q4_1, FormatQ4_1)
HOKKU_FUSED(q5_0, FormatQ5_0)
HOKKU_FUSED(q5_1, FormatQ5_1)
HOKKU_FUSED(q2_k, FormatQ2K)
HOKKU_FUSED(q3_k, FormatQ3K)
HOKKU_FUSED(iq4_nl, FormatIQ4NL)
HOKKU_FUSED(iq4_xs, FormatIQ4XS)
HOKKU_FUSED(mxfp4, FormatMXFP4)

}  // namespace hokku::cuda
