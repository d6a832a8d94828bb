// SPDX-License-Identifier: Apache-2.0
// GEMV for a few rows of x: blocks are read in place, in four streams per lane (see
// avx512/gemv.cpp).
#include "backend/cpu/avx2/floats.h"
#include "backend/cpu/avx2/gemv_steps.h"
#include "backend/cpu/avx2/tables.h"
#include "gguf/tensor_type.h"

namespace hokku::cpu {

namespace {

constexpr uint32_t kStreams = 4;

/// Dot products of kCount rows that lie stream_bytes apart with kVectors vectors.
template <class Step, bool kHasResidual, uint32_t kVectors, uint32_t kCount>
HOKKU_INLINE void run_rows(const GemvCall& call, uint32_t vector, const uint8_t* first,
                           size_t stream_bytes, float* dots, size_t dots_apart) {
    GemvVector v[kVectors], residual[kVectors];
    __m256 sums[kVectors][kCount];
    for (uint32_t i = 0; i < kVectors; ++i) {
        v[i] = call.vectors[vector + i];
        if (kHasResidual) residual[i] = call.residuals[vector + i];
        for (__m256& sum : sums[i]) sum = _mm256_setzero_ps();
    }
    const size_t num_steps = call.n / Step::kValues;
    for (size_t step = 0; step < num_steps; ++step, first += Step::kBytes) {
#pragma GCC unroll 4
        for (uint32_t s = 0; s < kCount; ++s) {
            const uint8_t* p = first + s * stream_bytes;
#pragma GCC unroll 4
            for (uint32_t i = 0; i < kVectors; ++i) {
                sums[i][s] = Step::run(sums[i][s], p, v[i], step);
                if (kHasResidual) sums[i][s] = Step::run(sums[i][s], p, residual[i], step);
            }
        }
    }
    for (uint32_t i = 0; i < kVectors; ++i)
        for (uint32_t s = 0; s < kCount; ++s)
            dots[i * call.out_stride + s * dots_apart] = sum_of_lanes(sums[i][s]);
}

/// Row `row` of each stream with vectors from `vector` on.
template <class Step, bool kHasResidual, uint32_t kVectors>
void gemv_streams(const GemvCall& call, uint32_t vector, uint32_t row, uint32_t stream_rows) {
    run_rows<Step, kHasResidual, kVectors, kStreams>(
        call, vector, call.weights + row * call.row_stride, stream_rows * call.row_stride,
        call.out + vector * call.out_stride + row, stream_rows);
}

template <class Step, bool kHasResidual>
void gemv_rows(const GemvCall& call) {
    const uint32_t stream_rows = call.num_rows / kStreams;
    for (uint32_t row = 0; row < stream_rows; ++row) {
        uint32_t vector = 0;
        for (; vector + 2 <= call.num_vectors; vector += 2)
            gemv_streams<Step, kHasResidual, 2>(call, vector, row, stream_rows);
        if (vector < call.num_vectors)
            gemv_streams<Step, kHasResidual, 1>(call, vector, row, stream_rows);
    }
    for (uint32_t row = stream_rows * kStreams; row < call.num_rows; ++row) {
        for (uint32_t vector = 0; vector < call.num_vectors; ++vector)
            run_rows<Step, kHasResidual, 1, 1>(call, vector, call.weights + row * call.row_stride,
                                               0, call.out + vector * call.out_stride + row, 1);
    }
}

template <class Step>
void gemv(const GemvCall& call) {
    call.residuals ? gemv_rows<Step, true>(call) : gemv_rows<Step, false>(call);
}

template <class Step>
constexpr GemvKernel make_kernel() {
    return {.run = gemv<Step>, .layout = Step::kLayout, .zero_point = Step::kZeroPoint};
}

// --- Weights stored as floats: the vector stays float32 ------------------------------------------

struct LoadF32 {
    static constexpr size_t kBytes = 4;
    HOKKU_INLINE static __m256 eight(const uint8_t* p) {
        return _mm256_castsi256_ps(load_bytes32(p));
    }
    HOKKU_INLINE static float one(const uint8_t* p) { return float_from_bits(load_word(p)); }
};

struct LoadF16 {
    static constexpr size_t kBytes = 2;
    HOKKU_INLINE static __m256 eight(const uint8_t* p) { return _mm256_cvtph_ps(load_bytes16(p)); }
    HOKKU_INLINE static float one(const uint8_t* p) { return load_half_float(p); }
};

struct LoadBf16 {
    static constexpr size_t kBytes = 2;
    HOKKU_INLINE static __m256 eight(const uint8_t* p) {
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_bytes16(p)), 16));
    }
    HOKKU_INLINE static float one(const uint8_t* p) {
        uint16_t bits;
        std::memcpy(&bits, p, sizeof bits);
        return bfloat_to_float(bits);
    }
};

template <class Load>
float float_row(const GemvCall& call, const float* x, const uint8_t* p) {
    __m256 sums[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    size_t i = 0;
    for (; i + 16 <= call.n; i += 16) {
        for (size_t k = 0; k < 2; ++k) {
            sums[k] = _mm256_fmadd_ps(Load::eight(p + (i + 8 * k) * Load::kBytes),
                                      _mm256_loadu_ps(x + i + 8 * k), sums[k]);
        }
    }
    float sum = sum_of_lanes(_mm256_add_ps(sums[0], sums[1]));
    for (; i < call.n; ++i) sum += Load::one(p + i * Load::kBytes) * x[i];
    return sum;
}

template <class Load>
void float_gemv(const GemvCall& call) {
    for (uint32_t row = 0; row < call.num_rows; ++row) {
        for (uint32_t vector = 0; vector < call.num_vectors; ++vector)
            call.out[vector * call.out_stride + row] = float_row<Load>(
                call, call.x + vector * call.x_stride, call.weights + row * call.row_stride);
    }
}

template <class Load>
constexpr GemvKernel make_float_kernel() {
    return {.run = float_gemv<Load>, .layout = VectorLayout::floats, .zero_point = 0};
}

}  // namespace

void fill_avx2_gemv(MatmulKernels& table) {
    const auto set = [&table](TensorType type, GemvKernel kernel) {
        table.gemv[static_cast<uint32_t>(type)] = kernel;
    };
    set(TensorType::f32, make_float_kernel<LoadF32>());
    set(TensorType::f16, make_float_kernel<LoadF16>());
    set(TensorType::bf16, make_float_kernel<LoadBf16>());
    set(TensorType::q4_0, make_kernel<StepQ4_0>());
    set(TensorType::q4_1, make_kernel<StepQ4_1>());
    set(TensorType::q5_0, make_kernel<StepQ5_0>());
    set(TensorType::q5_1, make_kernel<StepQ5_1>());
    set(TensorType::q8_0, make_kernel<StepQ8_0>());
    set(TensorType::q2_k, make_kernel<StepQ2_K>());
    set(TensorType::q3_k, make_kernel<StepQ3_K>());
    set(TensorType::q4_k, make_kernel<StepQ4_K>());
    set(TensorType::q5_k, make_kernel<StepQ5_K>());
    set(TensorType::q6_k, make_kernel<StepQ6_K>());
    set(TensorType::iq4_nl, make_kernel<StepIq4Nl>());
    set(TensorType::iq4_xs, make_kernel<StepIq4Xs>());
    set(TensorType::mxfp4, make_kernel<StepMxfp4>());
}

}  // namespace hokku::cpu
