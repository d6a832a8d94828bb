// SPDX-License-Identifier: Apache-2.0
// One kernel for each primitive of device/device.h: what they compute is compared with plain code
// on the host, on the emulator and on devices alike.
#include "kernels/primitive_kernels.h"

#include "device/device.h"
#include "device/reductions.h"

namespace hokku::cuda {

/// mode: 0 place, 1 shuffle, 2 shuffle_xor, 3 shuffle_down, 4 shuffle_up, 5 ballot, 6 dot4,
/// 7 a shuffle of halves of warps that took different branches, 8 permute_bytes.
HOKKU_KERNEL(primitive_warp, WordsParams, 256) {
    const uint32_t i = block_x() * num_threads() + thread_id();
    const uint32_t value = p.in[i];
    uint32_t out = 0;
    if (p.mode == 0) {
        out = grid_x() << 24 | block_x() << 16 | num_warps() << 12 | warp_id() << 8 | lane_id();
    } else if (p.mode == 1) {
        out = shuffle(kAllLanes, value, (lane_id() * 7 + 3) % kWarp);
    } else if (p.mode == 2) {
        out = shuffle_xor(kAllLanes, value, 21);
    } else if (p.mode == 3) {
        out = shuffle_down(kAllLanes, value, 5);
    } else if (p.mode == 4) {
        out = shuffle_up(kAllLanes, value, 9);
    } else if (p.mode == 5) {
        out = ballot(kAllLanes, value % 3 == 0);
    } else if (p.mode == 6) {
        out = static_cast<uint32_t>(
            dot4(static_cast<int32_t>(value), static_cast<int32_t>(p.in[p.n - 1 - i]), -5));
    } else if (p.mode == 8) {
        out = permute_bytes(value, p.in[p.n - 1 - i], p.in[i ^ 1u]);
    } else if (lane_id() < 16) {
        out = shuffle_xor(0x0000ffffu, value, 3);
    } else {
        out = shuffle_xor(0xffff0000u, value, 4) + 1;
    }
    p.out[i] = out;
}

/// The four words of A and two of B that a lane holds, elements of 32 / K bytes a word.
HOKKU_DEVICE void load_fragments(const MmaParams& p, uint32_t (&a)[4], uint32_t (&b)[2]) {
    const uint32_t g = lane_id() / 4, t = lane_id() % 4;
    const auto* a_words = reinterpret_cast<const uint32_t*>(p.a);  // [16][8]
    const auto* b_words = reinterpret_cast<const uint32_t*>(p.b);  // [8][8]
    for (uint32_t i = 0; i < 4; ++i) a[i] = a_words[(g + 8 * (i % 2)) * 8 + t + 4 * (i / 2)];
    for (uint32_t i = 0; i < 2; ++i) b[i] = b_words[g * 8 + t + 4 * i];
}

HOKKU_DEVICE uint32_t place_of(uint32_t i) {
    return (lane_id() / 4 + 8 * (i / 2)) * 8 + lane_id() % 4 * 2 + i % 2;
}

HOKKU_KERNEL(primitive_mma_s8, MmaParams, 32) {
    uint32_t a[4], b[2];
    load_fragments(p, a, b);
    int32_t d[4];
    for (uint32_t i = 0; i < 4; ++i) d[i] = static_cast<int32_t>(p.c[place_of(i)]);
    mma_s8(d, a, b);
    for (uint32_t i = 0; i < 4; ++i) p.c[place_of(i)] = static_cast<uint32_t>(d[i]);
}

HOKKU_KERNEL(primitive_mma_f16, MmaParams, 32) {
    uint32_t a[4], b[2];
    load_fragments(p, a, b);
    auto* c = reinterpret_cast<float*>(p.c);
    float d[4];
    for (uint32_t i = 0; i < 4; ++i) d[i] = c[place_of(i)];
    mma_f16(d, a, b);
    for (uint32_t i = 0; i < 4; ++i) c[place_of(i)] = d[i];
}

HOKKU_KERNEL(primitive_mma_bf16, MmaParams, 32) {
    uint32_t a[4], b[2];
    load_fragments(p, a, b);
    auto* c = reinterpret_cast<float*>(p.c);
    float d[4];
    for (uint32_t i = 0; i < 4; ++i) d[i] = c[place_of(i)];
    mma_bf16(d, a, b);
    for (uint32_t i = 0; i < 4; ++i) c[place_of(i)] = d[i];
}

/// in: 32 rows of 16 bytes; out: registers of each lane. mode: 1, 2, 4 matrices, + 8 transposed.
HOKKU_KERNEL(primitive_load_matrix, WordsParams, 32) {
    HOKKU_SHARED(uint32_t, rows, 128);
    for (uint32_t i = 0; i < 4; ++i) rows[lane_id() * 4 + i] = p.in[lane_id() * 4 + i];
    warp_barrier(kAllLanes);
    // Rows lie in no order: lane l points to row 5 l mod 32.
    const void* row = &rows[lane_id() * 5 % 32 * 4];
    uint32_t one[1] = {0}, two[2] = {0, 0}, four[4] = {0, 0, 0, 0};
    if (p.mode == 1) load_matrix(one, row);
    if (p.mode == 9) load_matrix_transposed(one, row);
    if (p.mode == 2) load_matrix(two, row);
    if (p.mode == 10) load_matrix_transposed(two, row);
    if (p.mode == 4) load_matrix(four, row);
    if (p.mode == 12) load_matrix_transposed(four, row);
    p.out[lane_id() * 4 + 0] = one[0] | two[0] | four[0];
    p.out[lane_id() * 4 + 1] = two[1] | four[1];
    p.out[lane_id() * 4 + 2] = four[2];
    p.out[lane_id() * 4 + 3] = four[3];
}

/// Reverses tiles of 16 bytes a thread through a ring of three asynchronous copies; what lies
/// beyond n words is zero.
HOKKU_KERNEL(primitive_copies, WordsParams, 128) {
    constexpr uint32_t kStages = 3;
    const uint32_t t = thread_id(), tile = num_threads() * 4;
    const uint32_t num_tiles = (p.n + tile - 1) / tile;
    const auto ring = dynamic_shared<uint32_t>(0, kStages * tile);
    const auto begin_copy = [&](uint32_t i) {
        const uint32_t place = i * tile + t * 4;
        const bool is_inside = place < p.n;
        uint32_t* target = &ring[i % kStages * tile + t * 4];
        if (i < num_tiles) {
            copy_async16_or_zero(target, p.in + (is_inside ? place : 0), is_inside);
        }
        copy_commit();
    };
    for (uint32_t i = 0; i + 1 < kStages; ++i) begin_copy(i);
    for (uint32_t i = 0; i < num_tiles; ++i) {
        copy_wait<kStages - 2>();
        block_barrier();
        begin_copy(i + kStages - 1);
        for (uint32_t j = 0; j < 4; ++j) {
            p.out[i * tile + t * 4 + j] = ring[i % kStages * tile + tile - 1 - (t * 4 + j)];
        }
    }
    copy_wait<0>();
}

/// Halves and bfloats of both halves of a word; mode 0 widens, 1 to 3 narrow.
HOKKU_KERNEL(primitive_halves, WordsParams, 256) {
    const uint32_t i = block_x() * num_threads() + thread_id();
    if (i >= p.n) return;
    auto* floats = reinterpret_cast<float*>(p.out);
    const auto* in = reinterpret_cast<const float*>(p.in);
    if (p.mode == 0) {
        floats[i] = half_to_float(static_cast<uint16_t>(i));
    } else if (p.mode == 1) {
        p.out[i] = float_to_half(in[i]);
    } else if (p.mode == 2) {
        p.out[i] = float_to_half_clamped(in[i]);
    } else if (p.mode == 3) {
        p.out[i] = float_to_bfloat(in[i]);
    } else {
        floats[i] = bfloat_to_float(static_cast<uint16_t>(i));
    }
}

/// out[0]: sum, out[1]: maximum, out[2]: count, by atomics from all blocks.
HOKKU_KERNEL(primitive_atomics, WordsParams, 256) {
    const uint32_t i = block_x() * num_threads() + thread_id();
    if (i >= p.n) return;
    atomic_add(p.out, p.in[i]);
    atomic_max(p.out + 1, p.in[i]);
    add_release(p.out + 2, 1);
    atomic_add(reinterpret_cast<float*>(p.out) + 3, 0.5f);
}

/// Prefix sums of blocks over a grid barrier, several times.
HOKKU_KERNEL(primitive_grid, FloatsParams, 128) {
    float* sums = p.out + p.n;
    const uint32_t i = block_x() * num_threads() + thread_id();
    float value = i < p.n ? p.in[i] : 0.0f;
    for (uint32_t round = 0; round < 3; ++round) {
        const float sum = block_sum(value);
        if (thread_id() == 0) sums[round * grid_x() + block_x()] = sum;
        grid_barrier(p.state);
        for (uint32_t b = 0; b < block_x(); ++b) value += sums[round * grid_x() + b];
    }
    if (i < p.n) p.out[i] = value;
}

/// out[i] = in[i ^ 1] + 1, as one of a chain of launches that each begin before the last has ended.
HOKKU_KERNEL(primitive_chain, FloatsParams, 64) {
    allow_dependents();
    wait_for_primary();
    const uint32_t i = block_x() * num_threads() + thread_id();
    p.out[i] = p.in[i ^ 1u] + 1.0f;
}

/// mode: 0 exp, 1 log, 2 tanh, 3 erf, 4 rsqrt, 5 sqrt, 6 to an integer
HOKKU_KERNEL(primitive_maths, FloatsParams, 256) {
    const uint32_t i = block_x() * num_threads() + thread_id();
    if (i >= p.n) return;
    const float x = p.in[i];
    float y = 0;
    if (p.mode == 0) y = exp_f(x);
    if (p.mode == 1) y = log_f(x);
    if (p.mode == 2) y = tanh_f(x);
    if (p.mode == 3) y = erf_f(x);
    if (p.mode == 4) y = rsqrt_f(x);
    if (p.mode == 5) y = sqrt_f(x);
    if (p.mode == 6) y = static_cast<float>(round_to_int(x));
    p.out[i] = y;
}

}  // namespace hokku::cuda
