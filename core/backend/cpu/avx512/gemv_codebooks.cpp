// SPDX-License-Identifier: Apache-2.0
// GEMV for the types that take longer to unpack than to multiply with. As gemv.cpp, but each block
// is unpacked once for all vectors, and the sums wait in the L1 cache meanwhile.
#include "backend/cpu/avx512/gemv_codebooks.h"

#include <algorithm>
#include <type_traits>

#include "backend/cpu/avx512/gemv_iq2.h"
#include "backend/cpu/avx512/gemv_points.h"
#include "backend/cpu/avx512/gemv_ternary.h"
#include "backend/cpu/avx512/tables.h"
#include "gguf/tensor_type.h"

namespace hokku::cpu {

namespace {

constexpr uint32_t kStreams = kGemvStreams;

/// Whether d of the blocks of all streams is read together.
template <class Type>
constexpr bool kHasD = requires {
    Type::d_bits(nullptr);
};

/// A type of points with a way to look them up. By permutations two streams share what is loaded of
/// the table; gathers of all streams come before what waits for them, of which processors hold
/// only so much.
template <class Step, LookUp kLookUp>
struct PointType : Step {
    using Found = FoundPoints;
    static constexpr bool kGathers = kLookUp == LookUp::gather;
    static constexpr uint32_t kTogether = kGathers ? 1 : 2;

    template <uint32_t kCount>
    HOKKU_INLINE static void find(const uint8_t* first, size_t stream_bytes,
                                  Found (&found)[kCount]) {
        find_points<kLookUp, Step>(first, stream_bytes, found);
    }
    HOKKU_INLINE static Weights<4> unpack(const Found& found, __m512 d, __mmask16) {
        Weights<4> weights;
        Step::finish(found, d, weights);
        return weights;
    }
};

/// A type that looks up the points of two streams together.
template <class Step>
struct Iq2Type : Step {
    using Found = FoundIq2;
    static constexpr bool kGathers = false;
    static constexpr uint32_t kTogether = 2;

    template <uint32_t kCount>
    HOKKU_INLINE static void find(const uint8_t* first, size_t stream_bytes,
                                  Found (&found)[kCount]) {
        find_iq2<Step>(first, stream_bytes, found);
    }
    HOKKU_INLINE static Weights<4> unpack(const Found& found, __m512 d, __mmask16) {
        Weights<4> weights;
        set_iq2_codes(found, weights);
        weights.scales = Step::scales(found.p, d);
        return weights;
    }
};

/// A type without anything to find.
template <class Step>
struct SingleType : Step {
    using Found = const uint8_t*;
    static constexpr bool kGathers = false;
    static constexpr uint32_t kTogether = 1;

    HOKKU_INLINE static void find(const uint8_t* first, size_t, Found (&found)[1]) {
        found[0] = first;
    }
    HOKKU_INLINE static auto unpack(Found found, __m512 d, __mmask16 lanes) {
        if constexpr (kHasD<Step>) {
            return Step::unpack(found, d);
        } else {
            return Step::unpack(found, lanes);
        }
    }
};

template <int kBytes>
HOKKU_INLINE void prefetch(const uint8_t* p) {
    for (int line = 0; line < kBytes; line += 64)
        _mm_prefetch(reinterpret_cast<const char*>(p + line), _MM_HINT_T0);
}

template <bool kFine>
HOKKU_INLINE StepVector<kFine> vector_of(const GemvCall& call, uint32_t index) {
    return {call.vectors[index].codes, kFine ? call.residuals[index].codes : nullptr};
}

template <class Type, bool kFine>
HOKKU_INLINE auto load_for(const StepVector<kFine>& v, size_t step) {
    if constexpr (Type::kLayout == VectorLayout::ternary) {
        return load_ternary_values(v, step);
    } else {
        return load_values<Type::kValues / 64, false>(v, step);
    }
}

/// Dot products of kCount rows that lie stream_bytes apart with `num_vectors` vectors, as 16
/// partial sums each.
template <class Type, bool kFine, uint32_t kCount, size_t kMaxVectors>
HOKKU_INLINE void run_rows(const GemvCall& call, uint32_t num_vectors, const uint8_t* first,
                           size_t stream_bytes, __m512 (&sums)[kMaxVectors][kStreams]) {
    const size_t num_full = call.n / Type::kValues, rest = call.n % Type::kValues;
    // Without a branch, which would keep compilers from mixing what waits with what need not.
    const size_t ahead = call.reads_ahead ? kGemvBytesAhead : 0;
    for (uint32_t i = 0; i < num_vectors; ++i)
        for (__m512& sum : sums[i]) sum = _mm512_setzero_ps();
    const auto run_step = [&](size_t step, __mmask16 lanes) HOKKU_LAMBDA {
        constexpr uint32_t kGroup = std::min(kCount, Type::kTogether);
        RowScales<!Type::kGathers> d;
        if constexpr (kHasD<Type>) d.template load<Type, kCount>(first, stream_bytes);
        // A group is looked up before what waits for the one before it: processors hold only so
        // much that waits.
        typename Type::Found found[2][kGroup];
        Type::find(first, stream_bytes, found[0]);
#pragma GCC unroll 4
        for (uint32_t group = 0; group < kCount; group += kGroup) {
            const auto& now = found[group / kGroup % 2];
            if (group + kGroup < kCount) {
                Type::find(first + (group + kGroup) * stream_bytes, stream_bytes,
                           found[(group / kGroup + 1) % 2]);
            }
            for (uint32_t s = 0; s < kGroup; ++s) {
                prefetch<Type::kBytes>(first + (group + s) * stream_bytes + ahead);
                const auto block = weights_for<kFine>(Type::unpack(now[s], d.of(group + s), lanes));
                for (uint32_t i = 0; i < num_vectors; ++i) {
                    const auto values = load_for<Type>(vector_of<kFine>(call, i), step);
                    __m512& sum = sums[i][group + s];
                    sum = add_products<false>(sum, block, values);
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
void gemv_streams(const GemvCall& call, uint32_t num_vectors, uint32_t row) {
    __m512 sums[kMaxVectors][kStreams];
    run_rows<Type, kFine, kStreams>(call, num_vectors, call.weights + row * call.row_stride,
                                    call.stream_rows * call.row_stride, sums);
    for (uint32_t i = 0; i < num_vectors; ++i) {
        alignas(16) float dots[kStreams];
        _mm_store_ps(dots, sum4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]));
        float* out = call.out + i * call.out_stride + row;
        for (uint32_t s = 0; s < kStreams; ++s) out[s * call.stream_rows] = dots[s];
    }
}

template <class Type, bool kFine>
void gemv_rows(const GemvCall& call) {
    const bool has_streams = call.num_streams == kStreams;
    for (uint32_t row = 0; has_streams && row < call.num_rows; ++row) {
        if (call.num_vectors == 1) {  // The sums stay in registers.
            gemv_streams<Type, kFine, 1>(call, 1, row);
        } else {
            gemv_streams<Type, kFine, kMaxGemvVectors>(call, call.num_vectors, row);
        }
    }
    for (uint32_t row = 0; !has_streams && row < call.num_rows; ++row) {
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

void fill_avx512_gemv_codebooks(MatmulKernels& table, bool gathers_fast) {
    fill_byte_tables();
    fill_iq2_tables();
    fill_point_tables();
    fill_ternary_tables();
    const auto set = [&table](TensorType type, GemvKernel kernel) {
        table.gemv[static_cast<uint32_t>(type)] = kernel;
    };
    const auto set_points = [&](auto look_up) {
        constexpr LookUp kLookUp = decltype(look_up)::value;
        set(TensorType::iq1_m, make_kernel<PointType<StepIq1M, kLookUp>>());
        set(TensorType::iq1_s, make_kernel<PointType<StepIq1S, kLookUp>>());
    };
    if (gathers_fast) {
        set_points(std::integral_constant<LookUp, LookUp::gather>());
    } else {
        set_points(std::integral_constant<LookUp, LookUp::permute>());
    }
    set(TensorType::iq2_s, make_kernel<Iq2Type<StepIq2S>>());
    set(TensorType::iq2_xs, make_kernel<Iq2Type<StepIq2Xs>>());
    set(TensorType::iq2_xxs, make_kernel<Iq2Type<StepIq2Xxs>>());
    set(TensorType::iq3_s, make_kernel<SingleType<StepIq3S>>());
    set(TensorType::iq3_xxs, make_kernel<SingleType<StepIq3Xxs>>());
    set(TensorType::nvfp4, make_kernel<SingleType<StepNvfp4>>());
    set(TensorType::q1_0, make_kernel<SingleType<StepQ1_0>>());
    set(TensorType::q2_0, make_kernel<SingleType<StepQ2_0>>());
    set(TensorType::tq1_0, make_kernel<SingleType<StepTq1_0>>());
    set(TensorType::tq2_0, make_kernel<SingleType<StepTq2_0>>());
}

}  // namespace hokku::cpu
