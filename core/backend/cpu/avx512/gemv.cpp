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

constexpr uint32_t kStreams = kGemvStreams;
// Several vectors keep the core so busy that its own reads ahead do not suffice: without asking
// ahead a step with four takes half as long again (Zen 5, 2026-11). For one it depends on the
// processor (GemvCall::reads_ahead). Single rows, at the end of a stream or chosen ones, have
// nothing ahead.

template <bool kFine>
HOKKU_INLINE StepVector<kFine> step_vector(const GemvCall& call, uint32_t index) {
    return {call.vectors[index].codes, kFine ? call.residuals[index].codes : nullptr};
}

template <int kBytes>
HOKKU_INLINE void prefetch(const uint8_t* p) {
    for (int line = 0; line < kBytes; line += 64)
        _mm_prefetch(reinterpret_cast<const char*>(p + line), _MM_HINT_T0);
}

/// Keeps what is loaded in registers: compilers like to load it again for each use, and loads are
/// as scarce as products.
template <size_t kCodes, bool kFine>
HOKKU_INLINE void keep_in_registers(StepValues<kCodes, kFine>& values) {
    for (__m512i& codes : values.codes) __asm__("" : "+v"(codes));
    __asm__("" : "+v"(values.start), "+v"(values.scales));
}

/// Dot products of kCount rows that lie stream_bytes apart with kVectors vectors, as 16 partial
/// sums each. Two streams share what is loaded of several vectors.
template <class Type, bool kFine, uint32_t kVectors, uint32_t kCount>
HOKKU_INLINE void run_rows(const GemvCall& call, uint32_t vector, const uint8_t* first,
                           size_t stream_bytes, __m512 (&sums)[kVectors][kCount]) {
    constexpr size_t kCodes = Type::kValues / 64;
    constexpr uint32_t kTogether = kVectors > 1 && kCount > 1 ? 2 : 1;
    const size_t num_full = call.n / Type::kValues, rest = call.n % Type::kValues;
    StepVector<kFine> v[kVectors];
    for (uint32_t i = 0; i < kVectors; ++i) {
        v[i] = step_vector<kFine>(call, vector + i);
        for (__m512& sum : sums[i]) sum = _mm512_setzero_ps();
    }
    const auto run_step = [&](size_t step, __mmask16 lanes) HOKKU_LAMBDA {
#pragma GCC unroll 4
        for (uint32_t pair = 0; pair < kCount; pair += kTogether) {
            decltype(weights_for<kFine>(Weights<kCodes>())) weights[kTogether];
            for (uint32_t s = 0; s < kTogether; ++s) {
                const uint8_t* p = first + (pair + s) * stream_bytes;
                if (kCount > 1 && (kVectors > 1 || call.reads_ahead))
                    prefetch<Type::kBytes>(p + kGemvBytesAhead);
                weights[s] = weights_for<kFine>(Type::unpack(p, lanes));
            }
#pragma GCC unroll 4
            for (uint32_t i = 0; i < kVectors; ++i) {
                auto values = load_values<kCodes, Type::kHasMins>(v[i], step);
                if constexpr (kVectors > 1) keep_in_registers(values);
                for (uint32_t s = 0; s < kTogether; ++s) {
                    __m512& sum = sums[i][pair + s];
                    sum = add_products<Type::kHasMins>(sum, weights[s], values);
                }
            }
        }
    };
    for (size_t step = 0; step < num_full; ++step, first += Type::kBytes) run_step(step, 0xffff);
    if (Type::kMaskLanes > 0 && rest > 0)
        run_step(num_full, first_lanes(rest / 32 * Type::kMaskLanes));
}

/// Dot products of two rows that follow each other, of each stream, with one vector. They are one
/// row of twice as many values: its middle step has the last two blocks of the first row, then the
/// first two of the second. The second row's sums are those of run_rows with the lanes' halves
/// exchanged, which add up to the same.
template <class Type, bool kFine>
HOKKU_INLINE void run_row_pairs(const GemvCall& call, const uint8_t* first, size_t stream_bytes,
                                __m512 (&sums)[2][kStreams]) {
    constexpr size_t kCodes = Type::kValues / 64;
    const StepVector<kFine> v = step_vector<kFine>(call, 0);
    for (auto& row : sums)
        for (__m512& sum : row) sum = _mm512_setzero_ps();
    const auto run_step = [&](size_t step, auto add) HOKKU_LAMBDA {
        const auto values = load_values<kCodes, Type::kHasMins>(v, step);
#pragma GCC unroll 4
        for (uint32_t s = 0; s < kStreams; ++s) {
            const uint8_t* p = first + s * stream_bytes;
            if (call.reads_ahead) prefetch<Type::kBytes>(p + kGemvBytesAhead);
            add(s, weights_for<kFine>(Type::unpack(p, 0xffff)), values);
        }
        first += Type::kBytes;
    };
    const auto add_to = [&sums](uint32_t row) HOKKU_LAMBDA {
        return [&sums, row](uint32_t s, const auto& w, const auto& x) HOKKU_LAMBDA {
            sums[row][s] = add_products<Type::kHasMins>(sums[row][s], w, x);
        };
    };
    const size_t num_full = call.n / Type::kValues;
    size_t step = 0;
    for (; step < num_full; ++step) run_step(step, add_to(0));
    run_step(step++, [&sums](uint32_t s, const auto& w, const auto& x) HOKKU_LAMBDA {
        const __m512 both[2] = {add_products<Type::kHasMins>(sums[0][s], w, x),
                                add_products<Type::kHasMins>(sums[1][s], w, x)};
        sums[0][s] = _mm512_mask_mov_ps(sums[0][s], 0x00ff, both[0]);
        sums[1][s] = _mm512_mask_mov_ps(sums[1][s], 0xff00, both[1]);
    });
    for (; step <= 2 * num_full; ++step) run_step(step, add_to(1));
}

/// Adds up the partial sums: out[vector * out_stride + stream * stream_rows], four at a time.
template <uint32_t kVectors, uint32_t kCount>
HOKKU_INLINE void store_dots(const __m512 (&sums)[kVectors][kCount], float* out, size_t out_stride,
                             size_t stream_rows) {
    static_assert(kVectors == 4 || kCount == 4);
    constexpr uint32_t kRounds = kVectors == 4 ? kCount : kVectors;
    for (uint32_t i = 0; i < kRounds; ++i) {
        alignas(16) float dots[4];
        if constexpr (kVectors == 4) {
            _mm_store_ps(dots, sum4(sums[0][i], sums[1][i], sums[2][i], sums[3][i]));
            for (uint32_t k = 0; k < 4; ++k) out[k * out_stride + i * stream_rows] = dots[k];
        } else {
            _mm_store_ps(dots, sum4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]));
            for (uint32_t k = 0; k < 4; ++k) out[i * out_stride + k * stream_rows] = dots[k];
        }
    }
}

/// Row `row` of each stream with vectors from `vector` on.
template <class Type, bool kFine, uint32_t kVectors>
void gemv_streams(const GemvCall& call, uint32_t vector, uint32_t row) {
    // The sums of two streams and four vectors fit in registers besides the rest.
    constexpr uint32_t kCount = kVectors > 2 ? 2 : kStreams;
    const size_t stream_bytes = call.stream_rows * call.row_stride;
    const uint8_t* weights = call.weights + row * call.row_stride;
    for (uint32_t first = 0; first < kStreams; first += kCount) {
        __m512 sums[kVectors][kCount];
        run_rows<Type, kFine>(call, vector, weights + first * stream_bytes, stream_bytes, sums);
        store_dots(sums, call.out + vector * call.out_stride + row + first * call.stream_rows,
                   call.out_stride, call.stream_rows);
    }
}

/// A pair of rows of each stream; rows that follow each other.
template <class Type, bool kFine>
void gemv_pairs(const GemvCall& call, uint32_t row) {
    __m512 sums[2][kStreams];
    run_row_pairs<Type, kFine>(call, call.weights + row * call.row_stride,
                               call.stream_rows * call.row_stride, sums);
    store_dots(sums, call.out + row, 1, call.stream_rows);
}

/// Whether rows of a type lie so that two make whole steps, and vectors are prepared for that.
template <class Type>
bool is_run_in_pairs(const GemvCall& call) {
    return has_pair_steps(call.n) && call.num_vectors == 1 &&
           call.row_stride == call.n / 32 * (Type::kBytes / 4);
}

template <class Type, bool kFine>
void gemv_all_streams(const GemvCall& call) {
    uint32_t row = 0;
    if constexpr (Type::kLayout == VectorLayout::halves) {
        if (is_run_in_pairs<Type>(call)) {
            for (; row + 2 <= call.num_rows; row += 2) gemv_pairs<Type, kFine>(call, row);
        }
    }
    for (; row < call.num_rows; ++row) {
        // For all vectors at once the registers do not suffice; the row stays in the L1 cache.
        uint32_t vector = 0;
        for (; vector + 4 <= call.num_vectors; vector += 4)
            gemv_streams<Type, kFine, 4>(call, vector, row);
        for (; vector + 2 <= call.num_vectors; vector += 2)
            gemv_streams<Type, kFine, 2>(call, vector, row);
        if (vector < call.num_vectors) gemv_streams<Type, kFine, 1>(call, vector, row);
    }
}

template <class Type, bool kFine>
void gemv_rows(const GemvCall& call) {
    if (call.num_streams == kStreams) return gemv_all_streams<Type, kFine>(call);
    for (uint32_t row = 0; row < call.num_rows; ++row) {
        for (uint32_t vector = 0; vector < call.num_vectors; ++vector) {
            __m512 sums[1][1];
            run_rows<Type, kFine>(call, vector, call.weights + row * call.row_stride, 0, sums);
            const __m512 zero = _mm512_setzero_ps();  // Same order of addition as with streams.
            call.out[vector * call.out_stride + row] =
                _mm_cvtss_f32(sum4(sums[0][0], zero, zero, zero));
        }
    }
}

template <class Type>
void gemv(const GemvCall& call) {
    call.residuals ? gemv_rows<Type, true>(call) : gemv_rows<Type, false>(call);
}

template <class Type>
constexpr GemvKernel make_kernel() {
    return {.run = gemv<Type>, .layout = Type::kLayout, .zero_point = Type::kZeroPoint};
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
        if (call.reads_ahead) prefetch<32 * Load::kBytes>(row + i * Load::kBytes + kGemvBytesAhead);
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
    for_each_row(call, [&](size_t row) {
        for (uint32_t vector = 0; vector < call.num_vectors; ++vector)
            call.out[vector * call.out_stride + row] = float_row<Load>(
                call, call.x + vector * call.x_stride, call.weights + row * call.row_stride);
    });
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
