// SPDX-License-Identifier: Apache-2.0
// GEMV by steps (gemv_steps.h): blocks are read in place, in four streams per lane (see
// avx512/gemv.cpp). Internal linkage on purpose.
#pragma once

#include "backend/cpu/avx2/floats.h"
#include "backend/cpu/matmul_kernels.h"

namespace hokku::cpu {
namespace {

constexpr uint32_t kStreams = kGemvStreams;

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
            for (size_t line = 0; kCount > 1 && call.reads_ahead && line < Step::kBytes; line += 64)
                _mm_prefetch(reinterpret_cast<const char*>(p + kGemvBytesAhead + line),
                             _MM_HINT_T0);
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
void gemv_streams(const GemvCall& call, uint32_t vector, uint32_t row) {
    run_rows<Step, kHasResidual, kVectors, kStreams>(
        call, vector, call.weights + row * call.row_stride, call.stream_rows * call.row_stride,
        call.out + vector * call.out_stride + row, call.stream_rows);
}

template <class Step, bool kHasResidual, uint32_t kMaxVectors>
void gemv_rows(const GemvCall& call) {
    for (uint32_t row = 0; row < call.num_rows; ++row) {
        uint32_t vector = 0;
        if (call.num_streams == 1) {
            for (; vector < call.num_vectors; ++vector)
                run_rows<Step, kHasResidual, 1, 1>(call, vector,
                                                   call.weights + row * call.row_stride, 0,
                                                   call.out + vector * call.out_stride + row, 1);
        }
        for (; vector + kMaxVectors <= call.num_vectors; vector += kMaxVectors)
            gemv_streams<Step, kHasResidual, kMaxVectors>(call, vector, row);
        if (vector < call.num_vectors) gemv_streams<Step, kHasResidual, 1>(call, vector, row);
    }
}

template <class Step, uint32_t kMaxVectors>
void gemv(const GemvCall& call) {
    call.residuals ? gemv_rows<Step, true, kMaxVectors>(call)
                   : gemv_rows<Step, false, kMaxVectors>(call);
}

/// Up to kMaxVectors (1 or 2) vectors share what is unpacked of a block.
template <class Step, uint32_t kMaxVectors = 2>
constexpr GemvKernel make_kernel() {
    return {
        .run = gemv<Step, kMaxVectors>, .layout = Step::kLayout, .zero_point = Step::kZeroPoint};
}

}  // namespace
}  // namespace hokku::cpu
