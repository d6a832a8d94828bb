// SPDX-License-Identifier: Apache-2.0
// Products of prefill: Y = X W^T + b (+ residual) for many vectors, on int8 tensor cores. A block
// unpacks a tile of weights to int8 in shared memory, two groups at a time; each matrix operation
// is one group, whose sums of int32 are scaled in float32, as those of a GEMV.
#pragma once

#include "device/device.h"
#include "kernels/gemv_formats.h"
#include "kernels/params.h"

namespace hokku::cuda {

constexpr uint32_t kGemmThreads = 256, kStageGroups = 2;
constexpr uint32_t kWarpRows = 32, kWarpVectors = 32;  // Warps lie 4 x 2 on a tile.
constexpr uint32_t kPitch = 2 * kStageGroups + 1;      // 16 bytes each: rows begin at other banks.
constexpr uint32_t kLoads = kGemmRows * kStageGroups / kGemmThreads;

/// Floats of a group of weights in shared memory.
template <class Format>
inline constexpr uint32_t kFactors = (Format::kHasHalves ? 2 : 1) * (Format::kHasOffset ? 2 : 1);

/// The weights that a thread unpacks in one stage. Outside it is the last row or group again: what
/// such rows give is not written, and such groups are multiplied by zeros.
template <class Format>
struct StageWeights {
    typename Format::Load loads[kLoads];
    HOKKU_DEVICE void load(const WeightPlanes& w, uint32_t first_row, uint32_t num_rows,
                           uint32_t first_group) {
        HOKKU_UNROLL
        for (uint32_t i = 0; i < kLoads; ++i) {
            const uint32_t item = thread_id() + i * kGemmThreads;
            const uint32_t row = block_y() * kGemmRows + item / kStageGroups;
            const uint32_t group = first_group + item % kStageGroups;
            loads[i] = Format::load(w, first_row + (row < num_rows ? row : num_rows - 1),
                                    group < w.groups ? group : w.groups - 1);
        }
    }
};

/// The vectors of a launch: all that there are.
struct AllVectors {
    static constexpr bool kAreListed = false;
};
/// Those that an expert was chosen for: output i of the list is of vector outputs[i] / of_vector.
struct ListedVectors {
    static constexpr bool kAreListed = true;
    const uint32_t* outputs;
    uint32_t count, first_row, num_rows, of_vector;
};

/// Begins to copy the activations of a stage to one of two buffers.
template <class Vectors, class Codes, class Scales>
HOKKU_DEVICE void copy_activations(const QuantizedVectors& x, const Vectors& vectors, Codes& codes,
                                   Scales& scales, uint32_t buffer, uint32_t first_group) {
    constexpr uint32_t kHalves = 2 * kStageGroups;
    HOKKU_UNROLL
    for (uint32_t i = 0; i < kGemmVectors * kHalves / kGemmThreads; ++i) {
        const uint32_t item = thread_id() + i * kGemmThreads;
        const uint32_t in_tile = item / kHalves;
        uint32_t vector = block_x() * kGemmVectors + in_tile;
        bool has_vector = vector < x.num_vectors;
        if constexpr (Vectors::kAreListed) {
            has_vector = vector < vectors.count;
            if (has_vector) vector = vectors.outputs[vector] / vectors.of_vector;
        }
        const uint32_t group = item % kHalves / 2;
        const bool is_inside = has_vector && first_group + group < x.groups;
        const uint64_t at = is_inside ? uint64_t{vector} * x.groups + first_group + group : 0;
        copy_async16_or_zero(&codes[(buffer * kGemmVectors + in_tile) * kPitch + item % kHalves],
                             x.codes + at * kGroup + item % 2 * 16, is_inside);
        if (item % 2 == 0) {
            copy_async8_or_zero(&scales[(buffer * kStageGroups + group) * kGemmVectors + in_tile],
                                x.scales + at, is_inside);
        }
    }
    copy_commit();
}

/// Adds what one matrix operation of a group gives to the sums of its 16 rows and 8 vectors.
/// `factors` are those of this lane's two rows, `scales` of its two vectors.
template <class Format>
HOKKU_DEVICE void add_product(float (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                              const float (&factors)[2][kFactors<Format>],
                              const GroupScale (&scales)[2]) {
    // An int32 below 2^22 added to these bits is that number added to the float.
    constexpr int32_t kZeroBits = 0x4b400000;
    constexpr float kZero = 12582912.0f;
    constexpr uint32_t kScales = Format::kHasHalves ? 2 : 1;
    float parts[4] = {};
    HOKKU_UNROLL
    for (uint32_t h = 0; h < kScales; ++h) {
        int32_t dots[4] = {kZeroBits, kZeroBits, kZeroBits, kZeroBits};
        if (Format::kHasHalves) {
            mma_s8_half(dots, a[2 * h], a[2 * h + 1], b[h]);
        } else {
            mma_s8(dots, a, b);
        }
        HOKKU_UNROLL
        for (uint32_t i = 0; i < 4; ++i) {
            const float dot = bits_to_float(static_cast<uint32_t>(dots[i])) - kZero;
            parts[i] = fma_f(factors[i / 2][h], dot, parts[i]);
            if (Format::kHasOffset) {
                const GroupScale& scale = scales[i % 2];
                const int32_t sum =
                    Format::kHasHalves ? scale.sums[h] : scale.sums[0] + scale.sums[1];
                parts[i] = fma_f(factors[i / 2][kScales + h], static_cast<float>(sum), parts[i]);
            }
        }
    }
    HOKKU_UNROLL
    for (uint32_t i = 0; i < 4; ++i) sums[i] = fma_f(scales[i % 2].scale, parts[i], sums[i]);
}

template <class Format, class Vectors = AllVectors>
HOKKU_DEVICE void gemm(const GemmParams& p, const Vectors& vectors = {}) {
    HOKKU_SHARED(Words4, w_codes, kGemmRows * kPitch);
    HOKKU_SHARED(Words4, x_codes, 2 * kGemmVectors * kPitch);
    HOKKU_SHARED(float, w_factors, kStageGroups* kGemmRows* kFactors<Format>);
    HOKKU_SHARED(GroupScale, x_scales, 2 * kStageGroups * kGemmVectors);
    const uint32_t first_row = warp_id() / 2 * kWarpRows;
    const uint32_t first_vector = warp_id() % 2 * kWarpVectors;
    const uint32_t lane = lane_id(), g = lane / 4, t = lane % 4;
    uint32_t num_rows = p.weight.rows, row_of_expert = 0, count = p.x.num_vectors;
    if constexpr (Vectors::kAreListed) {
        num_rows = vectors.num_rows;
        row_of_expert = vectors.first_row;
        count = vectors.count;
    }
    StageWeights<Format> next;
    next.load(p.weight, row_of_expert, num_rows,
              0);  // Under way before the launch in front has ended.
    wait_for_primary();
    allow_dependents();
    copy_activations(p.x, vectors, x_codes, x_scales, 0, 0);
    float sums[2][4][4] = {};
    uint32_t buffer = 0;
    for (uint32_t first = 0; first < p.weight.groups; first += kStageGroups) {
        block_barrier();  // What the stage before has used may be overwritten.
        HOKKU_UNROLL
        for (uint32_t i = 0; i < kLoads; ++i) {
            const uint32_t item = thread_id() + i * kGemmThreads;
            const uint32_t row = item / kStageGroups, group = item % kStageGroups;
            uint32_t codes[8];
            Format::unpack(next.loads[i], codes);
            w_codes[row * kPitch + 2 * group] = {{codes[0], codes[1], codes[2], codes[3]}};
            w_codes[row * kPitch + 2 * group + 1] = {{codes[4], codes[5], codes[6], codes[7]}};
            const GroupFactors factors = Format::factors(next.loads[i]);
            const uint32_t place = (group * kGemmRows + row) * kFactors<Format>;
            w_factors[place] = factors.scale[0];
            if (Format::kHasHalves) w_factors[place + 1] = factors.scale[1];
            if (Format::kHasOffset) w_factors[place + kFactors<Format> / 2] = factors.offset[0];
            if (Format::kHasOffset && Format::kHasHalves) {
                w_factors[place + 3] = factors.offset[1];
            }
        }
        copy_wait<0>();
        block_barrier();
        const uint32_t now = buffer;
        buffer ^= 1;
        if (first + kStageGroups < p.weight.groups) {
            next.load(p.weight, row_of_expert, num_rows, first + kStageGroups);
            copy_activations(p.x, vectors, x_codes, x_scales, buffer, first + kStageGroups);
        }
        HOKKU_NO_UNROLL
        for (uint32_t group = 0; group < kStageGroups; ++group) {
            uint32_t a[2][4];
            float factors[2][2][kFactors<Format>];
            HOKKU_UNROLL
            for (uint32_t i = 0; i < 2; ++i) {
                const uint32_t row = first_row + 16 * i;
                load_matrix(a[i], &w_codes[(row + lane % 16) * kPitch + 2 * group + lane / 16]);
                HOKKU_UNROLL
                for (uint32_t f = 0; f < 2 * kFactors<Format>; ++f) {
                    const uint32_t upper = f / kFactors<Format>, factor = f % kFactors<Format>;
                    const uint32_t place = group * kGemmRows + row + 8 * upper + g;
                    factors[i][upper][factor] = w_factors[place * kFactors<Format> + factor];
                }
            }
            HOKKU_UNROLL
            for (uint32_t j = 0; j < 4; ++j) {
                uint32_t b[2];
                load_matrix(
                    b, &x_codes[(now * kGemmVectors + first_vector + 8 * j + lane % 8) * kPitch +
                                2 * group + lane / 8 % 2]);
                const uint32_t vector =
                    (now * kStageGroups + group) * kGemmVectors + first_vector + 8 * j + 2 * t;
                const GroupScale scales[2] = {x_scales[vector], x_scales[vector + 1]};
                HOKKU_UNROLL
                for (uint32_t i = 0; i < 2; ++i) {
                    add_product<Format>(sums[i][j], a[i], b, factors[i], scales);
                }
            }
        }
    }
    HOKKU_UNROLL
    for (uint32_t i = 0; i < 32; ++i) {
        const uint32_t part = i % 4;
        const uint32_t row = block_y() * kGemmRows + first_row + i / 16 * 16 + part / 2 * 8 + g;
        const uint32_t vector =
            block_x() * kGemmVectors + first_vector + i / 4 % 4 * 8 + 2 * t + part % 2;
        if (row >= num_rows || vector >= count) continue;
        float sum = sums[i / 16][i / 4 % 4][part];
        if (p.bias != nullptr) sum += p.bias[row_of_expert + row];
        uint32_t output = vector;
        if constexpr (Vectors::kAreListed) output = vectors.outputs[vector];
        const uint64_t place = uint64_t{output} * p.out_stride + row;
        if (p.residual != nullptr) sum += p.residual[place];
        p.out[place] = sum;
    }
}

#define HOKKU_GEMM(name, Format, min_blocks)                                   \
    HOKKU_KERNEL_RESIDENT(gemm_##name, GemmParams, kGemmThreads, min_blocks) { \
        gemm<Format>(p);                                                       \
    }

}  // namespace hokku::cuda
