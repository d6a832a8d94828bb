// SPDX-License-Identifier: Apache-2.0
// GEMM for many rows of x with 256-bit registers, as avx512/gemm.cpp: 32 weight rows are unpacked
// to bytes, stay in the cache, and meet tiles of rows of x. Compiled twice, with AVX-VNNI and
// without: then products of bytes are added up in 16 bits as far as those hold them. Internal
// linkage on purpose.
#pragma once

#include "backend/cpu/avx2/floats.h"
#include "backend/cpu/simd/codebook_codes.h"
#include "gguf/tensor_type.h"

namespace hokku::cpu {

namespace {

constexpr size_t kPanelRows = 8;                // Weight rows in one register.
constexpr size_t kGroupBytes = kGemmGroup * 4;  // Codes of the group for 4 values.

HOKKU_INLINE __m256i load_group(const uint8_t* p) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
}

/// Four codes of a row of x, for all weight rows of a register.
HOKKU_INLINE __m256i splat_four(const int8_t* x) {
    int32_t group;
    std::memcpy(&group, x, 4);
    return _mm256_set1_epi32(group);
}

#ifdef __AVXVNNI__

constexpr uint32_t kMaxTile = 6;

/// Weights are unsigned bytes, 128 above their codes, whatever their bits.
template <int kBits, bool kHasMin>
struct Bytes {
    static constexpr int kOffset = 128;
    using Kernel = Bytes<8, kHasMin>;  // The one for all bits.
};

/// Sums of the products of kValues values.
template <class Codes, size_t kValues, size_t kTile>
HOKKU_INLINE void sum_products(const uint8_t* w, const int8_t* x, const int32_t* starts,
                               __m256i (&dots)[2][kTile]) {
#pragma GCC unroll 8
    for (size_t t = 0; t < kTile; ++t) dots[0][t] = dots[1][t] = _mm256_set1_epi32(starts[t]);
#pragma GCC unroll 8
    for (size_t j = 0; j < kValues / 4; ++j) {
        const __m256i w0 = load_group(w + j * kGroupBytes);
        const __m256i w1 = load_group(w + j * kGroupBytes + 32);
#pragma GCC unroll 8
        for (size_t t = 0; t < kTile; ++t) {
            const __m256i four = splat_four(x + (j * kTile + t) * 4);
            dots[0][t] = _mm256_dpbusd_avx_epi32(dots[0][t], w0, four);
            dots[1][t] = _mm256_dpbusd_avx_epi32(dots[1][t], w1, four);
        }
    }
}

#else

constexpr uint32_t kMaxTile = 3;

/// Weights of up to seven bits are unsigned bytes, 2^(kBits - 1) above their codes where these have
/// signs; with eight bits they are the codes themselves.
template <int kBits, bool kHasMin>
struct Bytes {
    static constexpr bool kIsSigned = kBits == 8;
    static constexpr int kOffset = kHasMin || kIsSigned ? 0 : 1 << (kBits - 1);
    /// From the starts of tiles, which are for an offset of 128.
    static constexpr int kStartShift = 8 - kBits;
    /// Products that fit 16 bits: each of two bytes with at most 127 on the other side.
    static constexpr size_t kRun = kIsSigned ? 1 : size_t{1} << (7 - kBits);
    using Kernel = Bytes;
};

/// Sums of two products each, in 16 bits.
template <bool kIsSigned>
HOKKU_INLINE __m256i multiply_bytes(__m256i w, __m256i x) {
    if constexpr (!kIsSigned) return _mm256_maddubs_epi16(w, x);
    // The signs move to the other factor, which is never -128; 2 * 128 * 127 fits.
    return _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
}

/// Keeps the compiler from adding in another order: GCC would multiply all first, and keep the
/// products in memory.
HOKKU_INLINE __m256i in_order(__m256i sum) {
    asm("" : "+x"(sum));
    return sum;
}

template <class Codes, size_t kValues, size_t kTile>
HOKKU_INLINE void sum_products(const uint8_t* w, const int8_t* x, const int32_t* starts,
                               __m256i (&dots)[2][kTile]) {
    constexpr size_t kRun = Codes::kRun < kValues / 4 ? Codes::kRun : kValues / 4;
    const __m256i ones = _mm256_set1_epi16(1);
#pragma GCC unroll 8
    for (size_t run = 0; run < kValues / 4; run += kRun) {
        __m256i sums[2][kTile];
#pragma GCC unroll 8
        for (size_t j = run; j < run + kRun; ++j) {
            const __m256i w0 = load_group(w + j * kGroupBytes);
            const __m256i w1 = load_group(w + j * kGroupBytes + 32);
#pragma GCC unroll 8
            for (size_t t = 0; t < kTile; ++t) {
                const __m256i four = splat_four(x + (j * kTile + t) * 4);
                const __m256i a = multiply_bytes<Codes::kIsSigned>(w0, four);
                const __m256i b = multiply_bytes<Codes::kIsSigned>(w1, four);
                sums[0][t] = j == run ? a : in_order(_mm256_add_epi16(sums[0][t], a));
                sums[1][t] = j == run ? b : in_order(_mm256_add_epi16(sums[1][t], b));
            }
        }
#pragma GCC unroll 8
        for (size_t t = 0; t < kTile; ++t) {
#pragma GCC unroll 2
            for (size_t h = 0; h < 2; ++h) {
                const __m256i whole = _mm256_madd_epi16(sums[h][t], ones);
                dots[h][t] = run == 0 ? whole : in_order(_mm256_add_epi32(dots[h][t], whole));
            }
        }
    }
    if constexpr (Codes::kOffset != 0) {
#pragma GCC unroll 8
        for (size_t t = 0; t < kTile; ++t) {
            const __m256i start =
                _mm256_srai_epi32(_mm256_set1_epi32(starts[t]), Codes::kStartShift);
            dots[0][t] = _mm256_add_epi32(dots[0][t], start);
            dots[1][t] = _mm256_add_epi32(dots[1][t], start);
        }
    }
}

#endif

// --- Unpacking -----------------------------------------------------------------------------------

/// Writes 32 codes of each of 8 rows as 8 registers of 4 codes of each row: a transposition of
/// 8 x 8 dwords. `out` registers are kGroupBytes apart.
HOKKU_INLINE void store_transposed(const __m256i (&rows)[kPanelRows], uint8_t* out) {
    __m256i pairs[8], quads[8];
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
        pairs[i] = _mm256_unpacklo_epi32(rows[i], rows[i + 1]);
        pairs[i + 1] = _mm256_unpackhi_epi32(rows[i], rows[i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
        quads[i] = _mm256_unpacklo_epi64(pairs[i], pairs[i + 2]);
        quads[i + 1] = _mm256_unpackhi_epi64(pairs[i], pairs[i + 2]);
        quads[i + 2] = _mm256_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
        quads[i + 3] = _mm256_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
    }
    // quads[4 g + c] holds in 128-bit lane l column 4 l + c of rows 4 g .. 4 g + 3.
#pragma GCC unroll 4
    for (size_t c = 0; c < 4; ++c) {
        const auto store = [out](size_t column, __m256i x) HOKKU_LAMBDA {
            _mm256_store_si256(reinterpret_cast<__m256i*>(out + column * kGroupBytes), x);
        };
        store(c, _mm256_permute2x128_si256(quads[c], quads[4 + c], 0x20));
        store(4 + c, _mm256_permute2x128_si256(quads[c], quads[4 + c], 0x31));
    }
}

template <class Type>
void unpack(const GemmUnpackCall& call) {
    constexpr size_t kScales = Type::kValues / Type::kScaleValues;
    const size_t num_blocks = (call.end - call.begin) / Type::kValues;
    const __m256i offset =
        _mm256_set1_epi8(static_cast<char>(Bytes<Type::kBits, Type::kHasMin>::kOffset));
    for (size_t first = 0; first < kGemmGroup; first += kPanelRows) {
        const uint8_t* base =
            call.weights + first * call.row_stride + call.begin / Type::kValues * Type::kBytes;
        for (size_t b = 0; b < num_blocks; ++b, base += Type::kBytes) {
            float* scales = call.panel.scales + b * kScales * kGemmGroup + first;
            float* mins =
                Type::kHasMin ? call.panel.mins + b * kScales * kGemmGroup + first : nullptr;
            for (size_t r = 0; r < kPanelRows; ++r) {
                if (first + r < call.num_rows) {
                    const uint8_t* p = base + r * call.row_stride;
                    // The rows are more streams than the processor follows by itself.
                    for (size_t line = 0; line < Type::kBytes; line += 64)
                        _mm_prefetch(
                            reinterpret_cast<const char*>(p + kPanelRows * call.row_stride + line),
                            _MM_HINT_T1);
                    Type::write_scales(p, scales + r, Type::kHasMin ? mins + r : nullptr);
                    continue;
                }
                for (size_t i = 0; i < kScales; ++i) scales[i * kGemmGroup + r] = 0.0f;
                for (size_t i = 0; Type::kHasMin && i < kScales; ++i)
                    mins[i * kGemmGroup + r] = 0.0f;
            }
            for (size_t group = 0; group < Type::kValues / 32; ++group) {
                __m256i rows[kPanelRows];
#pragma GCC unroll 8
                for (size_t r = 0; r < kPanelRows; ++r) {
                    rows[r] = first + r < call.num_rows
                                  ? Type::codes(base + r * call.row_stride, group)
                                  : _mm256_setzero_si256();
                    rows[r] = _mm256_add_epi8(rows[r], offset);
                }
                const size_t column = (b * Type::kValues + group * 32) / 4;
                store_transposed(rows, call.panel.codes + column * kGroupBytes + first * 4);
            }
        }
    }
}

// --- Multiplying ---------------------------------------------------------------------------------

/// Products of 16 weight rows, from `first_weight` on, with one tile.
template <class Codes, size_t kTile, size_t kScaleValues, bool kHasMin>
void multiply_tile(const GemmCall& call, size_t first_weight) {
    const GemmRows& rows = *call.rows;
    const size_t tile_base = size_t{call.tile_index} * kTile;
    const size_t place = tile_base * (rows.n / 32) + call.begin / 32 * kTile;
    const int8_t* x = rows.codes + tile_base * rows.n + call.begin * kTile;
    const int32_t* starts = kScaleValues == 32 ? rows.starts + place : rows.half_starts + 2 * place;
    const float* x_scales = rows.scales + place;
    const float* x_sums = rows.sums + place;
    const uint8_t* w = call.panel.codes + first_weight * 4;
    const float* w_scales = call.panel.scales + first_weight;
    const float* w_mins = call.panel.mins + first_weight;

    const size_t num_weights = call.num_weights - first_weight;
    const Mask lanes[2] = {first_lanes(num_weights),
                           first_lanes(num_weights > 8 ? num_weights - 8 : 0)};
    const size_t left = rows.num_rows - tile_base;
    const size_t num_tokens = left < kTile ? left : kTile;
    float* out = call.out + first_weight;
    __m256 sums[2][kTile];
    for (size_t t = 0; t < kTile; ++t) {
        for (size_t h = 0; h < 2; ++h) {
            sums[h][t] = call.accumulate && t < num_tokens
                             ? load(out + t * call.out_stride + 8 * h, lanes[h])
                             : zero();
        }
    }
    for (size_t block = 0; block < (call.end - call.begin) / 32; ++block) {
#pragma GCC unroll 2
        for (size_t part = 0; part < 32 / kScaleValues; ++part) {
            __m256i dots[2][kTile];
            sum_products<Codes, kScaleValues, kTile>(w, x, starts, dots);
            const __m256 s0 = _mm256_load_ps(w_scales), s1 = _mm256_load_ps(w_scales + 8);
#pragma GCC unroll 8
            for (size_t t = 0; t < kTile; ++t) {
                const __m256 scale = splat(x_scales[t]);
                sums[0][t] = mul_add(mul(_mm256_cvtepi32_ps(dots[0][t]), s0), scale, sums[0][t]);
                sums[1][t] = mul_add(mul(_mm256_cvtepi32_ps(dots[1][t]), s1), scale, sums[1][t]);
            }
            if constexpr (kHasMin) {
                // Halves of a block have no sums of their own: the starts are -128 times them.
                const __m256 unit = splat(kScaleValues == 32 ? 1.0f : -0x1p-7f);
                const __m256 m0 = mul(_mm256_load_ps(w_mins), unit);
                const __m256 m1 = mul(_mm256_load_ps(w_mins + 8), unit);
#pragma GCC unroll 8
                for (size_t t = 0; t < kTile; ++t) {
                    const __m256 sum = kScaleValues == 32
                                           ? splat(x_sums[t])
                                           : splat(static_cast<float>(starts[t]) * x_scales[t]);
                    sums[0][t] = mul_add(m0, sum, sums[0][t]);
                    sums[1][t] = mul_add(m1, sum, sums[1][t]);
                }
                w_mins += kGemmGroup;
            }
            w += kScaleValues / 4 * kGroupBytes;
            x += kScaleValues * kTile;
            starts += kTile;
            w_scales += kGemmGroup;
        }
        x_scales += kTile;
        x_sums += kTile;
    }
    for (size_t t = 0; t < num_tokens; ++t) {
        store(out + t * call.out_stride, lanes[0], sums[0][t]);
        store(out + t * call.out_stride + 8, lanes[1], sums[1][t]);
    }
}

template <class Codes, size_t kTile, size_t kScaleValues, bool kHasMin>
void multiply_weights(const GemmCall& call) {
    for (size_t first = 0; first < call.num_weights; first += 16)
        multiply_tile<Codes, kTile, kScaleValues, kHasMin>(call, first);
}

template <class Codes, size_t kScaleValues, bool kHasMin, size_t kTile = kMaxTile>
void multiply(const GemmCall& call) {
    if constexpr (kTile > 1) {
        if (call.rows->tile < kTile) return multiply<Codes, kScaleValues, kHasMin, kTile - 1>(call);
    }
    multiply_weights<Codes, kTile, kScaleValues, kHasMin>(call);
}

template <class Type>
constexpr GemmKernel make_kernel() {
    using Codes = typename Bytes<Type::kBits, Type::kHasMin>::Kernel;
    return {.unpack = unpack<Type>, .run = multiply<Codes, Type::kScaleValues, Type::kHasMin>};
}

void fill_gemm(MatmulKernels& table) {
    table.max_gemm_tile = kMaxTile;
    const auto set = [&table](TensorType type, GemmKernel kernel) {
        table.gemm[static_cast<uint32_t>(type)] = kernel;
    };
    set(TensorType::q4_0, make_kernel<codes::Q4_0>());
    set(TensorType::q4_1, make_kernel<codes::Q4_1>());
    set(TensorType::q5_0, make_kernel<codes::Q5_0>());
    set(TensorType::q5_1, make_kernel<codes::Q5_1>());
    set(TensorType::q8_0, make_kernel<codes::Q8_0>());
    set(TensorType::q2_k, make_kernel<codes::Q2_K>());
    set(TensorType::q3_k, make_kernel<codes::Q3_K>());
    set(TensorType::q4_k, make_kernel<codes::Q4_K>());
    set(TensorType::q5_k, make_kernel<codes::Q5_K>());
    set(TensorType::q6_k, make_kernel<codes::Q6_K>());
    set(TensorType::iq1_s, make_kernel<codes::Iq1S>());
    set(TensorType::iq1_m, make_kernel<codes::Iq1M>());
    set(TensorType::iq2_xxs, make_kernel<codes::Iq2Xxs>());
    set(TensorType::iq2_xs, make_kernel<codes::Iq2Xs>());
    set(TensorType::iq2_s, make_kernel<codes::Iq2S>());
    set(TensorType::iq3_xxs, make_kernel<codes::Iq3Xxs>());
    set(TensorType::iq3_s, make_kernel<codes::Iq3S>());
    set(TensorType::iq4_nl, make_kernel<codes::Iq4Nl>());
    set(TensorType::iq4_xs, make_kernel<codes::Iq4Xs>());
    set(TensorType::mxfp4, make_kernel<codes::Mxfp4>());
    set(TensorType::nvfp4, make_kernel<codes::Nvfp4>());
    set(TensorType::q1_0, make_kernel<codes::Q1_0>());
    set(TensorType::q2_0, make_kernel<codes::Q2_0>());
    set(TensorType::tq1_0, make_kernel<codes::Tq1_0>());
    set(TensorType::tq2_0, make_kernel<codes::Tq2_0>());
}

}  // namespace
}  // namespace hokku::cpu
