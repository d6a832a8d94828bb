// SPDX-License-Identifier: Apache-2.0
// GEMV for a few rows of x: blocks are read in place, in four streams per lane (see
// avx512/gemv.cpp). Two vectors share what is read and unpacked: two rows of x, or one and what
// quantising it left.
#include "backend/cpu/neon/blocks.h"
#include "backend/cpu/neon/floats.h"
#include "backend/cpu/neon/tables.h"
#include "backend/cpu/neon/vector.h"
#include "gguf/tensor_type.h"

namespace hokku::cpu {

namespace {

constexpr uint32_t kStreams = kGemvStreams;

HOKKU_INLINE float32x4_t dot_16(int8x16_t weights, const int8_t* codes) {
    return vcvtq_f32_s32(vdotq_s32(vdupq_n_s32(0), weights, vld1q_s8(codes)));
}
HOKKU_INLINE float32x4_t dot_32(const Codes& weights, const int8_t* codes) {
    const int32x4_t front = vdotq_s32(vdupq_n_s32(0), weights.front, vld1q_s8(codes));
    return vcvtq_f32_s32(vdotq_s32(front, weights.back, vld1q_s8(codes + 16)));
}

/// Adds the products of one block to four partial sums.
template <class Block>
struct SmallStep {
    static constexpr size_t kValues = 32, kBytes = Block::kBytes;
    HOKKU_INLINE static Floats run(Floats sum, const uint8_t* p, const BlockVector& v, size_t b) {
        const Floats dots = dot_32(Block::codes(p), v.codes + b * 32);
        sum = vfmaq_n_f32(sum, dots, Block::scale(p) * v.scales[b]);
        if constexpr (Block::kHasMin)
            sum = vfmaq_n_f32(sum, load(v.quarter_sums + b * 4), Block::min(p));
        return sum;
    }
};

/// The same for a super-block with a scale for each 32 values.
template <class Block>
struct SuperStep {
    static constexpr size_t kValues = 256, kBytes = Block::kBytes;
    HOKKU_INLINE static Floats run(Floats sum, const uint8_t* p, const BlockVector& v,
                                   size_t step) {
        const SuperScales s = Block::scales(p);
        float scales[8];
        for (size_t i = 0; i < 2; ++i) {
            store(scales + 4 * i, mul(s.scales[i], load(v.scales + step * 8 + 4 * i)));
            if constexpr (Block::kHasMin)
                sum = mul_add(s.mins[i], load(v.sums + step * 8 + 4 * i), sum);
        }
        const int8_t* x = v.codes + step * 256;
#pragma GCC unroll 8
        for (int j = 0; j < 8; ++j)
            sum = vfmaq_n_f32(sum, dot_32(Block::codes(p, j), x + 32 * j), scales[j]);
        return sum;
    }
};

/// The same for a super-block with a scale for each 16 values.
template <class Block>
struct HalvedSuperStep {
    static constexpr size_t kValues = 256, kBytes = Block::kBytes;
    HOKKU_INLINE static Floats run(Floats sum, const uint8_t* p, const BlockVector& v,
                                   size_t step) {
        const SuperScales s = Block::scales(p);
        float scales[16];
        for (size_t i = 0; i < 4; ++i) {
            const float* x_scales = v.scales + step * 8 + 2 * i;
            const Floats both = {x_scales[0], x_scales[0], x_scales[1], x_scales[1]};
            store(scales + 4 * i, mul(s.scales[i], both));
            if constexpr (Block::kHasMin) {
                const float* sums = v.quarter_sums + step * 32 + 8 * i;
                sum = mul_add(vzip1q_f32(s.mins[i], s.mins[i]), load(sums), sum);
                sum = mul_add(vzip2q_f32(s.mins[i], s.mins[i]), load(sums + 4), sum);
            }
        }
        const int8_t* x = v.codes + step * 256;
#pragma GCC unroll 8
        for (int j = 0; j < 8; ++j) {
            const Codes codes = Block::codes(p, j);
            sum = vfmaq_n_f32(sum, dot_16(codes.front, x + 32 * j), scales[2 * j]);
            sum = vfmaq_n_f32(sum, dot_16(codes.back, x + 32 * j + 16), scales[2 * j + 1]);
        }
        return sum;
    }
};

/// Dot products of kCount rows that lie stream_bytes apart with kVectors vectors:
/// dots[vector][row].
template <class Step, uint32_t kVectors, uint32_t kCount>
void run_rows(const GemvVector* vectors, size_t n, const uint8_t* first, size_t stream_bytes,
              float (*dots)[kCount]) {
    BlockVector v[kVectors];
    Floats sums[kVectors][kCount];
    for (uint32_t i = 0; i < kVectors; ++i) {
        v[i] = block_vector(vectors[i], n);
        for (Floats& sum : sums[i]) sum = zero();
    }
    for (size_t step = 0; step < n / Step::kValues; ++step, first += Step::kBytes) {
#pragma GCC unroll 4
        for (uint32_t s = 0; s < kCount; ++s) {
#pragma GCC unroll 2
            for (uint32_t i = 0; i < kVectors; ++i)
                sums[i][s] = Step::run(sums[i][s], first + s * stream_bytes, v[i], step);
        }
    }
    for (uint32_t i = 0; i < kVectors; ++i)
        for (uint32_t s = 0; s < kCount; ++s) dots[i][s] = sum_of_lanes(sums[i][s]);
}

/// Where kCount rows of weights lie and where their products with vector 0 go.
struct RowSet {
    const uint8_t* first;
    size_t bytes_apart;
    float* out;
    size_t out_apart;
};

/// kCount rows times all vectors of the call.
template <class Step, uint32_t kCount>
void multiply_rows(const GemvCall& call, const RowSet& rows) {
    float dots[2][kCount];
    const auto write = [&](uint32_t vector, const float* values) {
        for (uint32_t s = 0; s < kCount; ++s)
            rows.out[vector * call.out_stride + s * rows.out_apart] = values[s];
    };
    uint32_t vector = 0;
    if (call.residuals) {
        for (; vector < call.num_vectors; ++vector) {
            const GemvVector pair[2] = {call.vectors[vector], call.residuals[vector]};
            run_rows<Step, 2, kCount>(pair, call.n, rows.first, rows.bytes_apart, dots);
            for (uint32_t s = 0; s < kCount; ++s) dots[0][s] += dots[1][s];
            write(vector, dots[0]);
        }
        return;
    }
    for (; vector + 2 <= call.num_vectors; vector += 2) {
        run_rows<Step, 2, kCount>(call.vectors + vector, call.n, rows.first, rows.bytes_apart,
                                  dots);
        write(vector, dots[0]);
        write(vector + 1, dots[1]);
    }
    if (vector < call.num_vectors) {
        run_rows<Step, 1, kCount>(call.vectors + vector, call.n, rows.first, rows.bytes_apart,
                                  dots);
        write(vector, dots[0]);
    }
}

template <class Step>
void gemv(const GemvCall& call) {
    for (uint32_t row = 0; row < call.num_rows; ++row) {
        const uint8_t* first = call.weights + row * call.row_stride;
        if (call.num_streams == kStreams) {
            multiply_rows<Step, kStreams>(call, {first, call.stream_rows * call.row_stride,
                                                 call.out + row, call.stream_rows});
        } else {
            multiply_rows<Step, 1>(call, {first, 0, call.out + row, 1});
        }
    }
}

// --- Weights stored as floats: the vector stays float32 ------------------------------------------

struct LoadF32 {
    static constexpr size_t kBytes = 4;
    HOKKU_INLINE static Floats four(const uint8_t* p) { return vreinterpretq_f32_u8(vld1q_u8(p)); }
    HOKKU_INLINE static float one(const uint8_t* p) { return float_from_bits(load_word(p)); }
};

HOKKU_INLINE uint16x4_t load_four_halves(const uint8_t* p) {
    return vreinterpret_u16_u8(vld1_u8(p));
}

struct LoadF16 {
    static constexpr size_t kBytes = 2;
    HOKKU_INLINE static Floats four(const uint8_t* p) {
        return vcvt_f32_f16(vreinterpret_f16_u16(load_four_halves(p)));
    }
    HOKKU_INLINE static float one(const uint8_t* p) { return load_half_float(p); }
};

struct LoadBf16 {
    static constexpr size_t kBytes = 2;
    HOKKU_INLINE static Floats four(const uint8_t* p) {
        return vreinterpretq_f32_u32(vshll_n_u16(load_four_halves(p), 16));
    }
    HOKKU_INLINE static float one(const uint8_t* p) {
        uint16_t bits;
        std::memcpy(&bits, p, sizeof bits);
        return bfloat_to_float(bits);
    }
};

template <class Load>
float float_row(size_t n, const float* x, const uint8_t* p) {
    Floats sums[4] = {zero(), zero(), zero(), zero()};
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        for (size_t k = 0; k < 4; ++k)
            sums[k] =
                mul_add(Load::four(p + (i + 4 * k) * Load::kBytes), load(x + i + 4 * k), sums[k]);
    }
    float sum = sum_of_lanes(add(add(sums[0], sums[1]), add(sums[2], sums[3])));
    for (; i < n; ++i) sum += Load::one(p + i * Load::kBytes) * x[i];
    return sum;
}

template <class Load>
void float_gemv(const GemvCall& call) {
    for_each_row(call, [&](size_t row) {
        for (uint32_t vector = 0; vector < call.num_vectors; ++vector)
            call.out[vector * call.out_stride + row] = float_row<Load>(
                call.n, call.x + vector * call.x_stride, call.weights + row * call.row_stride);
    });
}

}  // namespace

void fill_neon_gemv(MatmulKernels& table) {
    const auto set = [&table](TensorType type, void (*run)(const GemvCall&), VectorLayout layout) {
        table.gemv[static_cast<uint32_t>(type)] = {run, layout, 0};
    };
    set(TensorType::f32, float_gemv<LoadF32>, VectorLayout::floats);
    set(TensorType::f16, float_gemv<LoadF16>, VectorLayout::floats);
    set(TensorType::bf16, float_gemv<LoadBf16>, VectorLayout::floats);
    constexpr VectorLayout kBlocks = VectorLayout::neon_blocks;
    set(TensorType::q4_0, gemv<SmallStep<BlockQ4_0>>, kBlocks);
    set(TensorType::q4_1, gemv<SmallStep<BlockQ4_1>>, kBlocks);
    set(TensorType::q5_0, gemv<SmallStep<BlockQ5_0>>, kBlocks);
    set(TensorType::q5_1, gemv<SmallStep<BlockQ5_1>>, kBlocks);
    set(TensorType::q8_0, gemv<SmallStep<BlockQ8_0>>, kBlocks);
    set(TensorType::iq4_nl, gemv<SmallStep<BlockIq4Nl>>, kBlocks);
    set(TensorType::mxfp4, gemv<SmallStep<BlockMxfp4>>, kBlocks);
    set(TensorType::q2_k, gemv<HalvedSuperStep<BlockQ2_K>>, kBlocks);
    set(TensorType::q3_k, gemv<HalvedSuperStep<BlockQ3_K>>, kBlocks);
    set(TensorType::q6_k, gemv<HalvedSuperStep<BlockQ6_K>>, kBlocks);
    set(TensorType::q4_k, gemv<SuperStep<BlockQ4_K>>, kBlocks);
    set(TensorType::q5_k, gemv<SuperStep<BlockQ5_K>>, kBlocks);
    set(TensorType::iq4_xs, gemv<SuperStep<BlockIq4Xs>>, kBlocks);
}

}  // namespace hokku::cpu
