// SPDX-License-Identifier: Apache-2.0
// A whole step of a small model as one cooperative launch: the operations that would be launches
// are taken one after another, with a barrier of the grid between them. For models whose launches
// take as long as their work; whether it pays is measured on the card.
#define HOKKU_MANY_PARTS

#include "device/device.h"
#include "kernels/attention.h"
#include "kernels/fused_products.h"
#include "kernels/gated_gemv.h"
#include "kernels/gemv.h"
#include "kernels/norm.h"
#include "kernels/params.h"
#include "kernels/prefetch.h"

namespace hokku::cuda {

/// The blocks of an operation that this one takes. Each kind has a loop of its own, so that none
/// keeps registers for another.
template <class Body>
HOKKU_DEVICE void for_blocks(const PersistentOp& op, Body body) {
    HOKKU_NO_UNROLL
    for (uint32_t block = block_x(); block < op.num_x * op.num_y; block += grid_x()) {
        body(VirtualPlace{block % op.num_x, block / op.num_x, op.num_x, op.num_y});
        block_barrier();  // Shared memory serves again.
    }
}

template <class Format>
HOKKU_DEVICE void run_products(const PersistentOp& op) {
    if (op.kind == kPersistentGated) {
        const auto& params = *static_cast<const GatedGemvParams*>(op.params);
        for_blocks(op, [&](const VirtualPlace& at) { gated_gemv<Format, 1>(params, at); });
        return;
    }
    // The product is the first member of those that go on.
    const auto& product = *static_cast<const GemvParams*>(op.params);
    for_blocks(op, [&](const VirtualPlace& at) {
        gemv<Format, 1>(product, at);
        if (op.kind == kPersistentQkv) finish_heads(*static_cast<const QkvParams*>(op.params), at);
        if (op.kind == kPersistentGemvNorm) {
            finish_norm(*static_cast<const GemvNormParams*>(op.params), at);
        }
    });
}

HOKKU_DEVICE void run_op(const PersistentOp& op) {
    if (op.kind == kPersistentNorm) {
        const auto& params = *static_cast<const NormParams*>(op.params);
        for_blocks(op, [&](const VirtualPlace& at) { norm_vector(params, at.x()); });
    } else if (op.kind == kPersistentAttention) {
        const auto& params = *static_cast<const AttentionParams*>(op.params);
        for_blocks(op, [&](const VirtualPlace& at) {
            attention_split<HalfReader, kPersistentHeads>(params, at);
        });
    } else if (op.kind == kPersistentCombine) {
        const auto& params = *static_cast<const CombineParams*>(op.params);
        for_blocks(op, [&](const VirtualPlace& at) { combine_splits(params, at); });
    } else if (op.format == kPersistentQ4K) {
        run_products<FormatQ4K>(op);
    } else if (op.format == kPersistentQ6K) {
        run_products<FormatQ6K>(op);
    } else if (op.format == kPersistentQ8_0) {
        run_products<FormatQ8_0>(op);
    } else if (op.format == kPersistentQ4_0) {
        run_products<FormatQ4_0>(op);
    } else if (op.format == kPersistentQ5_0) {
        run_products<FormatQ5_0>(op);
    }
}

HOKKU_KERNEL_RESIDENT(persistent_step, PersistentParams, kPersistentThreads, 2) {
    wait_for_primary();
    HOKKU_NO_UNROLL
    for (uint32_t i = 0; i < p.num_ops; ++i) {
        run_op(p.ops[i]);
        prefetch_next(p.ops[i].next, block_x() * num_threads() + thread_id(),
                      grid_x() * num_threads());
        grid_barrier(p.barrier);
    }
}

}  // namespace hokku::cuda
