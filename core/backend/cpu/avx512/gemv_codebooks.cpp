// SPDX-License-Identifier: Apache-2.0
// GEMV for the types that take longer to unpack than to multiply with. As gemv.cpp, but each block
// is unpacked once for all vectors, and the sums wait in the L1 cache meanwhile.
#include "backend/cpu/avx512/gemv_codebooks.h"

#include <algorithm>
#include <iterator>

#include "backend/cpu/avx512/tables.h"
#include "gguf/tensor_type.h"

namespace hokku::cpu {

namespace {

constexpr uint32_t kStreams = 4;

/// Whether a type has a table for look_up_words.
template <class Type>
concept HasTable = requires {
    Type::kTable;
};

/// Streams whose blocks are unpacked together.
template <class Type>
constexpr uint32_t kTogether = HasTable<Type> ? 2 : 1;

template <class Type, class Block, uint32_t kCount>
HOKKU_INLINE void unpack_blocks(const uint8_t* first, size_t stream_bytes, __mmask16 lanes,
                                Block (&blocks)[kCount]) {
    if constexpr (HasTable<Type>) {
        __m512i points[kCount];
        for (uint32_t s = 0; s < kCount; ++s) points[s] = Type::index(first + s * stream_bytes);
        look_up_words<std::size(Type::kTable)>(Type::kTable, points);
        for (uint32_t s = 0; s < kCount; ++s)
            blocks[s] = Type::finish(first + s * stream_bytes, points[s]);
    } else {
        for (uint32_t s = 0; s < kCount; ++s)
            blocks[s] = Type::unpack(first + s * stream_bytes, lanes);
    }
}

template <bool kFine>
HOKKU_INLINE StepVector<kFine> vector_of(const GemvCall& call, uint32_t index) {
    return {call.vectors[index].codes, kFine ? call.residuals[index].codes : nullptr};
}

/// Dot products of kCount rows that lie stream_bytes apart with `num_vectors` vectors, as 16
/// partial sums each.
template <class Type, bool kFine, uint32_t kCount, size_t kMaxVectors>
HOKKU_INLINE void run_rows(const GemvCall& call, uint32_t num_vectors, const uint8_t* first,
                           size_t stream_bytes, __m512 (&sums)[kMaxVectors][kStreams]) {
    const size_t num_full = call.n / Type::kValues, rest = call.n % Type::kValues;
    for (uint32_t i = 0; i < num_vectors; ++i)
        for (__m512& sum : sums[i]) sum = _mm512_setzero_ps();
    const auto run_step = [&](size_t step, __mmask16 lanes) HOKKU_LAMBDA {
        constexpr uint32_t kGroup = std::min(kCount, kTogether<Type>);
#pragma GCC unroll 4
        for (uint32_t group = 0; group < kCount; group += kGroup) {
            Weights<Type::kValues / 64> blocks[kGroup];
            unpack_blocks<Type>(first + group * stream_bytes, stream_bytes, lanes, blocks);
            for (uint32_t i = 0; i < num_vectors; ++i) {
                const StepVector<kFine> v = vector_of<kFine>(call, i);
                const auto values = load_values<Type::kValues / 64, false>(v, step);
                for (uint32_t s = 0; s < kGroup; ++s) {
                    __m512& sum = sums[i][group + s];
                    sum = add_products<false>(sum, weights_for<kFine>(blocks[s]), values);
                }
            }
        }
    };
    for (size_t step = 0; step < num_full; ++step, first += Type::kBytes) run_step(step, 0xffff);
    if (Type::kMaskLanes > 0 && rest > 0)
        run_step(num_full, first_lanes(rest / 32 * Type::kMaskLanes));
}

/// Row `row` of each stream.
template <class Type, bool kFine, size_t kMaxVectors>
void gemv_streams(const GemvCall& call, uint32_t num_vectors, uint32_t row, uint32_t stream_rows) {
    __m512 sums[kMaxVectors][kStreams];
    run_rows<Type, kFine, kStreams>(call, num_vectors, call.weights + row * call.row_stride,
                                    stream_rows * call.row_stride, sums);
    for (uint32_t i = 0; i < num_vectors; ++i) {
        alignas(16) float dots[kStreams];
        _mm_store_ps(dots, sum4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]));
        float* out = call.out + i * call.out_stride + row;
        for (uint32_t s = 0; s < kStreams; ++s) out[s * stream_rows] = dots[s];
    }
}

template <class Type, bool kFine>
void gemv_rows(const GemvCall& call) {
    const uint32_t stream_rows = call.num_rows / kStreams;
    for (uint32_t row = 0; row < stream_rows; ++row) {
        if (call.num_vectors == 1) {  // The sums stay in registers.
            gemv_streams<Type, kFine, 1>(call, 1, row, stream_rows);
        } else {
            gemv_streams<Type, kFine, kMaxGemvVectors>(call, call.num_vectors, row, stream_rows);
        }
    }
    for (uint32_t row = stream_rows * kStreams; row < call.num_rows; ++row) {
        __m512 sums[kMaxGemvVectors][kStreams];
        run_rows<Type, kFine, 1>(call, call.num_vectors, call.weights + row * call.row_stride, 0,
                                 sums);
        for (uint32_t i = 0; i < call.num_vectors; ++i)  // Same order of addition as with streams.
            call.out[i * call.out_stride + row] =
                _mm_cvtss_f32(sum4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]));
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

}  // namespace

void fill_avx512_gemv_codebooks(MatmulKernels& table) {
    fill_byte_tables();
    const auto set = [&table](TensorType type, GemvKernel kernel) {
        table.gemv[static_cast<uint32_t>(type)] = kernel;
    };
    set(TensorType::iq1_m, make_kernel<StepIq1M>());
    set(TensorType::iq1_s, make_kernel<StepIq1S>());
    set(TensorType::iq2_s, make_kernel<StepIq2S>());
    set(TensorType::iq2_xs, make_kernel<StepIq2Xs>());
    set(TensorType::iq2_xxs, make_kernel<StepIq2Xxs>());
    set(TensorType::iq3_s, make_kernel<StepIq3S>());
    set(TensorType::iq3_xxs, make_kernel<StepIq3Xxs>());
    set(TensorType::nvfp4, make_kernel<StepNvfp4>());
    set(TensorType::q1_0, make_kernel<StepQ1_0>());
    set(TensorType::q2_0, make_kernel<StepQ2_0>());
    set(TensorType::tq1_0, make_kernel<StepTq1_0>());
    set(TensorType::tq2_0, make_kernel<StepTq2_0>());
}

}  // namespace hokku::cpu
