// SPDX-License-Identifier: Apache-2.0
// GEMV for a few rows of x: types without codebooks, and weights stored as floats.
#include "backend/cpu/avx2/gemv_rows.h"
#include "backend/cpu/avx2/gemv_steps.h"
#include "backend/cpu/avx2/tables.h"
#include "gguf/tensor_type.h"

namespace hokku::cpu {

namespace {

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
