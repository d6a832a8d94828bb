// SPDX-License-Identifier: Apache-2.0
// Small kernels with planted faults: what the emulator must find. Never run on a device.
#include "kernels/broken_kernels.h"

#include "device/device.h"
#include "device/reductions.h"

namespace hokku::cuda {

/// out[i] = in[n - 1 - i], through shared memory; without the barrier it reads too early.
HOKKU_KERNEL(broken_reverse, BrokenParams, 256) {
    HOKKU_SHARED(float, values, 256);
    values[thread_id()] = p.in[thread_id()];
    if (p.is_broken == 0) block_barrier();
    p.out[thread_id()] = values[num_threads() - 1 - thread_id()];
}

/// Sums four tiles; without the second barrier a tile is overwritten while it is read.
HOKKU_KERNEL(broken_tiles, BrokenParams, 256) {
    HOKKU_SHARED(float, tile, 256);
    float sum = 0;
    for (uint32_t i = 0; i < 4; ++i) {
        tile[thread_id()] = p.in[i * num_threads() + thread_id()];
        block_barrier();
        sum += tile[num_threads() - 1 - thread_id()];
        if (p.is_broken == 0) block_barrier();
    }
    p.out[thread_id()] = sum;
}

/// The same within a warp.
HOKKU_KERNEL(broken_warp_exchange, BrokenParams, 256) {
    HOKKU_SHARED(float, values, 256);
    values[thread_id()] = p.in[thread_id()];
    if (p.is_broken == 0) warp_barrier(kAllLanes);
    p.out[thread_id()] = values[thread_id() ^ 1u];
}

/// Double-buffered asynchronous copies: one group is in flight while the other is read.
/// is_broken: 1 no wait, 2 no barrier, 3 one group too many in flight, 4 ends without waiting.
HOKKU_KERNEL(broken_copies, BrokenParams, 128) {
    const uint32_t tile_floats = num_threads() * 4, t = thread_id();
    const auto tiles = dynamic_shared<float>(0, 2 * tile_floats);
    const auto begin_copy = [&](uint32_t i) {
        copy_async16(&tiles[i % 2 * tile_floats + t * 4], p.in + i * tile_floats + t * 4);
        copy_commit();
    };
    begin_copy(0);
    float sum = 0;
    for (uint32_t i = 0; i < p.n; ++i) {
        if (i + 1 < p.n) {
            begin_copy(i + 1);
            if (p.is_broken == 3) copy_wait<2>();
            if (p.is_broken != 1 && p.is_broken != 3) copy_wait<1>();
        } else if (p.is_broken != 4) {
            copy_wait<0>();
        }
        if (p.is_broken != 2) block_barrier();
        for (uint32_t j = 0; j < 4; ++j) {
            sum += tiles[i % 2 * tile_floats + (num_threads() - 1 - t) * 4 + j];
        }
        if (p.is_broken != 2) block_barrier();
    }
    p.out[t] = sum;
}

HOKKU_KERNEL(broken_divergent_barrier, BrokenParams, 256) {
    if (p.is_broken != 0 && warp_id() == 0) {
        block_barrier();
    } else {
        block_barrier();
    }
    p.out[thread_id()] = 1;
}

HOKKU_KERNEL(broken_early_return, BrokenParams, 256) {
    if (p.is_broken != 0 && thread_id() >= p.n) return;
    block_barrier();
    p.out[thread_id()] = 1;
}

/// is_broken: 1 half of the lanes have ended, 2 the masks differ, 3 a lane is read that is not in
/// the mask, 4 a lane names a mask without itself, 5 some lanes are in another operation.
HOKKU_KERNEL(broken_shuffle, BrokenParams, 256) {
    const float value = p.in[thread_id()];
    float out = 0;
    const bool is_low = lane_id() < 16;
    if (p.is_broken == 1) {
        if (!is_low) return;
        out = shuffle_xor(kAllLanes, value, 1);
    } else if (p.is_broken == 2) {
        out = shuffle_xor(is_low ? kAllLanes : 0xffff8000u, value, 1);
    } else if (p.is_broken == 3) {
        if (is_low) out = shuffle_xor(0x0000ffffu, value, 16);
    } else if (p.is_broken == 4) {
        out = shuffle_xor(0x0000ffffu, value, 1);
    } else if (p.is_broken == 5) {
        out =
            is_low ? shuffle_xor(kAllLanes, value, 1) : static_cast<float>(ballot(kAllLanes, true));
    } else {
        out = shuffle_xor(kAllLanes, value, 1);
    }
    p.out[thread_id()] = out;
}

/// is_broken: 1 an index, 2 through a pointer, 3 a slice of dynamic shared memory.
HOKKU_KERNEL(broken_bounds, BrokenParams, 32) {
    HOKKU_SHARED(float, values, 32);
    const uint32_t i = thread_id();
    values[p.is_broken == 1 ? i + 1 : i] = p.in[i];
    if (p.is_broken == 2) (&values[0])[i + 4] = 1;
    const auto slice = dynamic_shared<float>(64, p.is_broken == 3 ? 17 : 16);
    if (i < 16) slice[i] = p.in[i];
    block_barrier();
    p.out[i] = values[i] + (i < 16 ? slice[i] : 0.0f);
}

HOKKU_KERNEL(broken_alignment, BrokenParams, 32) {
    const Words4 words = load16(p.in + thread_id() * 4 + (p.is_broken != 0 ? 1 : 0));
    p.out[thread_id()] = static_cast<float>(words.w[0] & 1u);
}

/// out[i] = 2 in[n - 1 - i] by all blocks of a cooperative launch.
HOKKU_KERNEL(broken_grid, BrokenParams, 64) {
    const uint32_t first = block_x() * num_threads() + thread_id();
    const uint32_t step = grid_x() * num_threads();
    float* scratch = p.out + p.n;
    for (uint32_t i = first; i < p.n; i += step) scratch[i] = p.in[i] * 2;
    if (p.is_broken == 0) grid_barrier(p.state);
    for (uint32_t i = first; i < p.n; i += step) p.out[i] = scratch[p.n - 1 - i];
}

/// Waits for a word that only another block could set.
HOKKU_KERNEL(broken_spin, BrokenParams, 32) {
    if (p.is_broken == 0 && block_x() == 1 && thread_id() == 0) add_release(p.state, 1);
    if (block_x() == 0) spin_until([&] { return load_acquire(p.state) != 0; });
    p.out[thread_id()] = 1;
}

HOKKU_KERNEL(broken_uninitialised, BrokenParams, 32) {
    HOKKU_SHARED(float, values, 32);
    if (p.is_broken == 0) values[thread_id()] = 1;
    warp_barrier(kAllLanes);
    p.out[thread_id()] = values[thread_id()];
}

/// is_broken: asks for what lies behind the last of n values.
HOKKU_KERNEL(broken_prefetch, BrokenParams, 64) {
    prefetch(p.in + p.n - 1 + p.is_broken);
    p.out[thread_id()] = p.in[thread_id()];
}

HOKKU_KERNEL(dependent_first, BrokenParams, 64) {
    wait_for_primary();
    allow_dependents();
    const uint32_t i = block_x() * num_threads() + thread_id();
    p.out[i] = p.in[i] + 1;
}

/// is_broken: 1 never waits, 2 waits after it has read.
HOKKU_KERNEL(dependent_second, BrokenParams, 64) {
    const uint32_t i = block_x() * num_threads() + thread_id(), other = p.n - 1 - i;
    float value = p.in[other];
    if (p.is_broken != 1) wait_for_primary();
    if (p.is_broken == 0) value = p.in[other];
    p.out[i] = value * 10;
}

}  // namespace hokku::cuda
