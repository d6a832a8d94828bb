// SPDX-License-Identifier: Apache-2.0
// GEMV for a few rows of x: blocks are read in place, in four streams per lane. Four rows far apart
// keep four linear streams for the prefetcher; four adjacent rows would defeat it (measured on
// Zen 4: 95-105 % of the read bandwidth against 26-60 %). Several vectors share what is unpacked;
// each is summed up in the same order as alone.
#include "backend/cpu/avx512/gemv_steps.h"
#include "backend/cpu/avx512/tables.h"
#include "gguf/tensor_type.h"

namespace hokku::cpu {

namespace {

constexpr uint32_t kStreams = 4;
/// Streams whose unpacked weights are kept in registers at a time for several vectors.
constexpr uint32_t kPair = 2;
/// Several vectors keep the core so busy that its own reads ahead do not suffice: without asking
/// ahead a step with four takes half as long again (Zen 5, 2026-11; 1 to 4 KiB are alike).
constexpr size_t kBytesAhead = 2048;

template <bool kFine>
HOKKU_INLINE StepVector<kFine> step_vector(const GemvCall& call, uint32_t index) {
    const GemvVector& v = call.vectors[index];
    StepVector<kFine> own{v.codes, nullptr, v.starts, v.scales, v.sums};
    if (kFine) own.rest_codes = call.residuals[index].codes;
    return own;
}

template <int kBytes>
HOKKU_INLINE void prefetch(const uint8_t* p) {
    for (int line = 0; line < kBytes; line += 64)
        _mm_prefetch(reinterpret_cast<const char*>(p + line), _MM_HINT_T0);
}

/// Dot products of kCount rows that lie stream_bytes apart with kVectors vectors, as 16 partial
/// sums each.
template <class Step, bool kFine, uint32_t kVectors, uint32_t kCount>
HOKKU_INLINE void run_rows(const GemvCall& call, uint32_t vector, const uint8_t* first,
                           size_t stream_bytes, __m512 (&sums)[kVectors][kCount]) {
    const size_t num_full = call.n / Step::kValues, rest = call.n % Step::kValues;
    StepVector<kFine> v[kVectors];
    for (uint32_t i = 0; i < kVectors; ++i) {
        v[i] = step_vector<kFine>(call, vector + i);
        for (__m512& sum : sums[i]) sum = _mm512_setzero_ps();
    }
    const auto run_steps = [&](size_t step, __mmask16 lanes) HOKKU_LAMBDA {
        constexpr uint32_t kTogether = kCount < kPair ? kCount : kPair;
#pragma GCC unroll 4
        for (uint32_t pair = 0; pair < kCount; pair += kTogether) {
            size_t own_step = step;
            if (kVectors > 1) {
                __asm__("" : "+r"(own_step));  // The vectors are read again for each pair.
                for (uint32_t s = pair; s < pair + kTogether; ++s)
                    prefetch<Step::kBytes>(first + s * stream_bytes + kBytesAhead);
            }
#pragma GCC unroll 4
            for (uint32_t i = 0; i < kVectors; ++i) {
#pragma GCC unroll 4
                for (uint32_t s = pair; s < pair + kTogether; ++s)
                    sums[i][s] =
                        Step::run(sums[i][s], first + s * stream_bytes, v[i], own_step, lanes);
            }
        }
    };
    for (size_t step = 0; step < num_full; ++step, first += Step::kBytes) run_steps(step, 0xffff);
    if (Step::kMaskLanes > 0 && rest > 0)
        run_steps(num_full, first_lanes(rest / 32 * Step::kMaskLanes));
}

/// Row `row` of each stream with vectors from `vector` on.
template <class Step, bool kFine, uint32_t kVectors>
void gemv_streams(const GemvCall& call, uint32_t vector, uint32_t row, uint32_t stream_rows) {
    __m512 sums[kVectors][kStreams];
    run_rows<Step, kFine>(call, vector, call.weights + row * call.row_stride,
                          stream_rows * call.row_stride, sums);
    for (uint32_t i = 0; i < kVectors; ++i) {
        alignas(16) float dots[kStreams];
        _mm_store_ps(dots, sum4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]));
        float* out = call.out + (vector + i) * call.out_stride + row;
        for (uint32_t s = 0; s < kStreams; ++s) out[s * stream_rows] = dots[s];
    }
}

template <class Step, bool kFine>
void gemv_rows(const GemvCall& call) {
    const uint32_t stream_rows = call.num_rows / kStreams;
    for (uint32_t row = 0; row < stream_rows; ++row) {
        // For all vectors at once the registers do not suffice; the row stays in the L1 cache.
        uint32_t vector = 0;
        for (; vector + 4 <= call.num_vectors; vector += 4)
            gemv_streams<Step, kFine, 4>(call, vector, row, stream_rows);
        for (; vector + 2 <= call.num_vectors; vector += 2)
            gemv_streams<Step, kFine, 2>(call, vector, row, stream_rows);
        if (vector < call.num_vectors) gemv_streams<Step, kFine, 1>(call, vector, row, stream_rows);
    }
    for (uint32_t row = stream_rows * kStreams; row < call.num_rows; ++row) {
        for (uint32_t vector = 0; vector < call.num_vectors; ++vector) {
            __m512 sums[1][1];
            run_rows<Step, kFine>(call, vector, call.weights + row * call.row_stride, 0, sums);
            const __m512 zero = _mm512_setzero_ps();  // Same order of addition as with streams.
            call.out[vector * call.out_stride + row] =
                _mm_cvtss_f32(sum4(sums[0][0], zero, zero, zero));
        }
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
    HOKKU_INLINE static __m512 run(const uint8_t* p) { return _mm512_loadu_ps(p); }
    HOKKU_INLINE static __m512 run_some(const uint8_t* p, __mmask16 lanes) {
        return _mm512_maskz_loadu_ps(lanes, p);
    }
};

struct LoadF16 {
    static constexpr size_t kBytes = 2;
    HOKKU_INLINE static __m512 run(const uint8_t* p) { return _mm512_cvtph_ps(load_bytes32(p)); }
    HOKKU_INLINE static __m512 run_some(const uint8_t* p, __mmask16 lanes) {
        return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lanes, p));
    }
};

struct LoadBf16 {
    static constexpr size_t kBytes = 2;
    HOKKU_INLINE static __m512 widen(__m256i x) {
        return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
    }
    HOKKU_INLINE static __m512 run(const uint8_t* p) { return widen(load_bytes32(p)); }
    HOKKU_INLINE static __m512 run_some(const uint8_t* p, __mmask16 lanes) {
        return widen(_mm256_maskz_loadu_epi16(lanes, p));
    }
};

template <class Load>
float float_row(const GemvCall& call, const float* x, const uint8_t* row) {
    __m512 sums[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    size_t i = 0;
    for (; i + 32 <= call.n; i += 32) {
        for (size_t k = 0; k < 2; ++k) {
            sums[k] = _mm512_fmadd_ps(Load::run(row + (i + 16 * k) * Load::kBytes),
                                      _mm512_loadu_ps(x + i + 16 * k), sums[k]);
        }
    }
    for (; i < call.n; i += 16) {
        const __mmask16 lanes = first_lanes(call.n - i);
        sums[0] = _mm512_fmadd_ps(Load::run_some(row + i * Load::kBytes, lanes),
                                  _mm512_maskz_loadu_ps(lanes, x + i), sums[0]);
    }
    return _mm512_reduce_add_ps(_mm512_add_ps(sums[0], sums[1]));
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

void fill_avx512_gemv(MatmulKernels& table) {
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
