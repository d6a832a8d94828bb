// SPDX-License-Identifier: Apache-2.0
// The one header of kernel files: what a kernel may use of the device. device_platform.h is that
// of nvcc (device/nvcc) or that of the emulator (emulation/platform), whichever the include path
// names first; kernel files do not know which, and contain no assembly, no launches, no __shared__.
//
// HOKKU_KERNEL(name, Params, max_threads) { body }
//     A kernel that takes one struct `const Params& p` of fixed-width types by value. Blocks have
//     one dimension.
// HOKKU_KERNEL_RESIDENT(name, Params, max_threads, min_blocks) { body }
//     The same with the blocks that a multiprocessor must have registers for.
// HOKKU_DEVICE            Before every function of the device.
// HOKKU_DEVICE_TABLE      Before constant arrays that are indexed at run time.
// HOKKU_SHARED(T, name, n)   An array that the block shares; indexed as name[i], addressed
// &name[i]. dynamic_shared<T>(offset, n)   The same in the memory that the launch asked for; the
// offset is in
//                                bytes, a multiple of 16.
// HOKKU_MANY_PARTS        Defined before the first header by files with a kernel of many parts in a
//                         loop: what follows from thread_id() is computed in each part, not kept
//                         in registers for all.
// HOKKU_UNROLL, HOKKU_NO_UNROLL   Before a loop whose bounds are constants.
//
// thread_id, lane_id, warp_id, num_threads, num_warps, block_x, block_y, block_z, grid_x, grid_y,
// grid_z
//
// block_barrier()         By every thread of the block, none of which may have returned.
// warp_barrier(mask)      Lanes of a mask agree on operation, mask and place in the source.
// shuffle(mask, v, lane), shuffle_xor(mask, v, bits), shuffle_down, shuffle_up(mask, v, distance)
// ballot(mask, flag)      Bits of the lanes whose flag is set.
// dot4(a, b, c)           c + sum of four products of int8.
// mma_s8(d, a, b), mma_f16, mma_bf16 (sm_80)   d += A B, m16n8k32 or m16n8k16; fragments as in the
//                         PTX ISA (emulation/matrix.cpp has the table). By whole warps.
// mma_s8_half(d, a0, a1, b)   m16n8k16: one half of the columns of a m16n8k32, its words of A and
// B. load_matrix<1, 2 or 4>(r, row), load_matrix_transposed   Rows of 16 bytes in shared memory.
// copy_async16(shared, global), copy_async16_or_zero(shared, global, is_inside),
// copy_async8_or_zero, copy_commit(), copy_wait<n>()   What was copied is there after the wait that
//                         leaves n groups in flight, for others after the next barrier.
// load16(p), load8(p), store16(p, words)   16 or 8 aligned bytes.
// load16_once(p), load8_once(p)   Of weights, which are read once a step and never written; they
// may
//                         move before wait_for_primary().
// permute_bytes(a, b, s)  Byte i of the result is byte (s >> 4 i) % 8 of a, then b.
// prefetch(p)             Into the L2 cache.
// half_to_float, float_to_half (to infinity), float_to_half_clamped, bfloat_to_float,
// float_to_bfloat, bits_to_float, float_to_bits
// atomic_add(p, v), atomic_max(p, v), load_acquire(p), add_release(p, v), spin_until(condition)
// load_acquire_system(p), store_release_system(p, v)   Between devices, and with the host.
// kHasDependentLaunches   Whether a launch may begin before the one in front has ended.
// grid_barrier(state)     By every thread of a cooperative launch; state is one word, zero at
// first. wait_for_primary()      Before anything is read that the launch in front wrote; every
// thread. allow_dependents()      Lets the next launch begin. Says nothing about memory. exp_f,
// log_f, tanh_f, erf_f, rsqrt_f, sqrt_f, fma_f, abs_f, max_f, min_f, round_to_int
#pragma once

#include <cstddef>
#include <cstdint>

#include "device_platform.h"

namespace hokku::cuda {

inline constexpr uint32_t kWarp = 32;
inline constexpr uint32_t kAllLanes = 0xffffffffu;

HOKKU_DEVICE uint32_t lane_id() {
    return thread_id() % kWarp;
}
HOKKU_DEVICE uint32_t warp_id() {
    return thread_id() / kWarp;
}
HOKKU_DEVICE uint32_t num_warps() {
    return num_threads() / kWarp;
}

/// Which block of a grid a function works as: that of the launch, or one of many that a persistent
/// kernel's block takes one after another.
struct LaunchPlace {
    static HOKKU_DEVICE uint32_t x() { return block_x(); }
    static HOKKU_DEVICE uint32_t y() { return block_y(); }
    static HOKKU_DEVICE uint32_t z() { return block_z(); }
    static HOKKU_DEVICE uint32_t num_x() { return grid_x(); }
    static HOKKU_DEVICE uint32_t num_y() { return grid_y(); }
};
struct VirtualPlace {
    uint32_t place_x, place_y, size_x, size_y;
    [[nodiscard]] HOKKU_DEVICE uint32_t x() const { return place_x; }
    [[nodiscard]] HOKKU_DEVICE uint32_t y() const { return place_y; }
    [[nodiscard]] HOKKU_DEVICE uint32_t z() const { return 0; }
    [[nodiscard]] HOKKU_DEVICE uint32_t num_x() const { return size_x; }
    [[nodiscard]] HOKKU_DEVICE uint32_t num_y() const { return size_y; }
};

HOKKU_DEVICE float not_a_number() {
    return bits_to_float(0x7fc00000u);
}

/// Of halves beyond 65504 the largest, as the core stores keys and values.
HOKKU_DEVICE uint16_t float_to_half_clamped(float value) {
    const bool is_finite = abs_f(value) <= 3.402823466e38f;
    return float_to_half(is_finite ? min_f(max_f(value, -65504.0f), 65504.0f) : value);
}

/// All blocks are resident, so that waiting in a loop is safe. The block barriers are needed: what
/// thread 0 releases are its own writes and those it has seen. The upper bit of the state turns
/// over when the last block arrives.
HOKKU_DEVICE void grid_barrier(uint32_t* state) {
    check_cooperative();
    block_barrier();
    if (thread_id() == 0) {
        const bool is_first = block_x() + block_y() + block_z() == 0;
        const uint32_t num_blocks = grid_x() * grid_y() * grid_z();
        const uint32_t step = is_first ? 0x80000000u - (num_blocks - 1) : 1u;
        const uint32_t before = add_release(state, step);
        spin_until([&] { return ((load_acquire(state) ^ before) & 0x80000000u) != 0; });
    }
    block_barrier();
}

}  // namespace hokku::cuda
