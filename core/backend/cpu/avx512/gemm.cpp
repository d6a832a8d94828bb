// SPDX-License-Identifier: Apache-2.0
// GEMM for many rows of x: 32 weight rows are unpacked to bytes over up to 1024 values, stay in
// the L1 or L2 cache, and meet tiles of up to 6 rows of x. One vpdpbusd multiplies 16 weight rows
// by one row of x over 4 values. Sources of the shape: two weight registers share each broadcast
// of x, so that loads stay below one per product; 2 x 6 int32 and 2 x 6 float32 accumulators fill
// the register file.
#include "backend/cpu/avx512/gemm_unpack.h"
#include "backend/cpu/avx512/tables.h"
#include "backend/cpu/simd/codebook_codes.h"
#include "gguf/tensor_type.h"

namespace hokku::cpu {

namespace {

constexpr size_t kHalfGroup = 16;               // Weight rows in one register.
constexpr size_t kGroupBytes = kGemmGroup * 4;  // Codes of the group for 4 values.

// --- Unpacking
// ------------------------------------------------------------------------------------

/// Writes 64 codes of each of 16 rows as 16 registers of 4 codes of each row: a transposition of
/// 16 x 16 dwords. `out` registers are kGroupBytes apart.
HOKKU_INLINE void store_transposed(const __m512i (&rows)[16], uint8_t* out, int num_columns) {
    __m512i pairs[16], quads[16];
    for (int i = 0; i < 16; i += 2) {
        pairs[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
        pairs[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        quads[i] = _mm512_unpacklo_epi64(pairs[i], pairs[i + 2]);
        quads[i + 1] = _mm512_unpackhi_epi64(pairs[i], pairs[i + 2]);
        quads[i + 2] = _mm512_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
        quads[i + 3] = _mm512_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
    }
    // quads[4 g + c] holds in 128-bit lane l column 4 l + c of rows 4 g .. 4 g + 3.
    for (size_t c = 0; c < 4; ++c) {
        const __m512i a = _mm512_shuffle_i32x4(quads[c], quads[4 + c], 0x88);
        const __m512i b = _mm512_shuffle_i32x4(quads[c], quads[4 + c], 0xdd);
        const __m512i d = _mm512_shuffle_i32x4(quads[8 + c], quads[12 + c], 0x88);
        const __m512i e = _mm512_shuffle_i32x4(quads[8 + c], quads[12 + c], 0xdd);
        _mm512_store_si512(out + c * kGroupBytes, _mm512_shuffle_i32x4(a, d, 0x88));
        _mm512_store_si512(out + (4 + c) * kGroupBytes, _mm512_shuffle_i32x4(b, e, 0x88));
        if (num_columns < 16) continue;
        _mm512_store_si512(out + (8 + c) * kGroupBytes, _mm512_shuffle_i32x4(a, d, 0xdd));
        _mm512_store_si512(out + (12 + c) * kGroupBytes, _mm512_shuffle_i32x4(b, e, 0xdd));
    }
}

/// Sixteen rows are more streams than the processor follows by itself: while a row is unpacked,
/// that of the next half group is asked for.
template <size_t kBytes>
HOKKU_INLINE void prefetch_next_half(const uint8_t* p, size_t row_stride) {
    const uint8_t* next = p + kHalfGroup * row_stride;
    for (size_t line = 0; line < kBytes; line += 64)
        _mm_prefetch(reinterpret_cast<const char*>(next + line), _MM_HINT_T1);
}

/// Half a group of rows of a type with 32 values per block.
template <class Type>
void unpack_blocks(const GemmUnpackCall& call, size_t first_row) {
    const size_t num_blocks = (call.end - call.begin) / 32;
    const size_t available = call.num_rows - first_row;
    const size_t num_rows = available < kHalfGroup ? available : kHalfGroup;
    const uint8_t* base =
        call.weights + first_row * call.row_stride + call.begin / 32 * Type::kBytes;
    uint8_t* codes = call.panel.codes + first_row * 4;
    for (size_t b = 0; b < num_blocks; b += 2) {
        const bool has_second = b + 1 < num_blocks;
        __m512i rows[16];
        for (size_t r = 0; r < kHalfGroup; ++r) {
            const uint8_t* p = base + r * call.row_stride + b * Type::kBytes;
            const size_t place = b * kGemmGroup + first_row + r;
            if (r >= num_rows) {
                rows[r] = _mm512_setzero_si512();
                for (size_t k = 0; k < 2; ++k) {
                    call.panel.scales[place + k * kGemmGroup] = 0.0f;
                    if constexpr (Type::kHasMin) call.panel.mins[place + k * kGemmGroup] = 0.0f;
                }
                continue;
            }
            prefetch_next_half<2 * Type::kBytes>(p, call.row_stride);
            const uint8_t* second = has_second ? p + Type::kBytes : p;
            rows[r] = join(Type::codes(p), Type::codes(second));
            call.panel.scales[place] = Type::scale(p);
            call.panel.scales[place + kGemmGroup] = Type::scale(second);
            if constexpr (Type::kHasMin) {
                call.panel.mins[place] = Type::min(p);
                call.panel.mins[place + kGemmGroup] = Type::min(second);
            }
        }
        store_transposed(rows, codes + b * 8 * kGroupBytes, has_second ? 16 : 8);
    }
}

/// Half a group of rows of a type with 256 values per super-block.
template <class Type>
void unpack_super_blocks(const GemmUnpackCall& call, size_t first_row) {
    constexpr size_t kScales = 256 / Type::kScaleValues;
    const size_t num_blocks = (call.end - call.begin) / 256;
    const size_t available = call.num_rows - first_row;
    const size_t num_rows = available < kHalfGroup ? available : kHalfGroup;
    const uint8_t* base =
        call.weights + first_row * call.row_stride + call.begin / 256 * Type::kBytes;
    uint8_t* codes = call.panel.codes + first_row * 4;
    for (size_t b = 0; b < num_blocks; ++b) {
        float* scales = call.panel.scales + b * kScales * kGemmGroup + first_row;
        float* mins = Type::kHasMin ? call.panel.mins + b * 8 * kGemmGroup + first_row : nullptr;
        for (size_t r = 0; r < kHalfGroup; ++r) {
            if (r < num_rows) {
                const uint8_t* p = base + r * call.row_stride + b * Type::kBytes;
                prefetch_next_half<Type::kBytes>(p, call.row_stride);
                Type::write_scales(p, scales + r, Type::kHasMin ? mins + r : nullptr);
                continue;
            }
            for (size_t i = 0; i < kScales; ++i) scales[i * kGemmGroup + r] = 0.0f;
            for (size_t i = 0; Type::kHasMin && i < 8; ++i) mins[i * kGemmGroup + r] = 0.0f;
        }
        for (int quarter = 0; quarter < 4; ++quarter) {
            __m512i rows[16];
            for (size_t r = 0; r < kHalfGroup; ++r) {
                rows[r] = r < num_rows
                              ? Type::codes(base + r * call.row_stride + b * Type::kBytes, quarter)
                              : _mm512_setzero_si512();
            }
            store_transposed(
                rows, codes + (b * 64 + static_cast<size_t>(quarter) * 16) * kGroupBytes, 16);
        }
    }
}

/// Half a group of rows of a type of simd/block_codes.h, 64 values and more per block.
template <class Type>
void unpack_codes(const GemmUnpackCall& call, size_t first_row) {
    constexpr size_t kScales = Type::kValues / Type::kScaleValues;
    const size_t num_blocks = (call.end - call.begin) / Type::kValues;
    const __m512i offset = _mm512_set1_epi8(-128);
    const uint8_t* p =
        call.weights + first_row * call.row_stride + call.begin / Type::kValues * Type::kBytes;
    for (size_t b = 0; b < num_blocks; ++b, p += Type::kBytes) {
        float* scales = call.panel.scales + b * kScales * kGemmGroup + first_row;
        float* mins = call.panel.mins + b * kScales * kGemmGroup + first_row;
        for (size_t r = 0; r < kHalfGroup; ++r) {
            if (first_row + r < call.num_rows) {
                Type::write_scales(p + r * call.row_stride, scales + r, mins + r);
                continue;
            }
            for (size_t i = 0; i < kScales; ++i) scales[i * kGemmGroup + r] = 0.0f;
            for (size_t i = 0; Type::kHasMin && i < kScales; ++i) mins[i * kGemmGroup + r] = 0.0f;
        }
        for (size_t quarter = 0; quarter < Type::kValues / 64; ++quarter) {
            __m512i rows[16];
            for (size_t r = 0; r < kHalfGroup; ++r) {
                rows[r] = _mm512_setzero_si512();
                if (first_row + r >= call.num_rows) continue;
                const uint8_t* row = p + r * call.row_stride;
                rows[r] = join(Type::codes(row, 2 * quarter), Type::codes(row, 2 * quarter + 1));
                rows[r] = _mm512_add_epi8(rows[r], offset);
            }
            const size_t column = (b * Type::kValues + quarter * 64) / 4;
            store_transposed(rows, call.panel.codes + column * kGroupBytes + first_row * 4, 16);
        }
    }
}

/// Rows of the panel from first_row on that the matrix does not have: scales of zero.
void clear_half(const GemmUnpackCall& call, size_t scale_values, bool has_min) {
    const size_t depth = call.end - call.begin;
    const __m512 zero = _mm512_setzero_ps();
    for (size_t i = 0; i < depth / 4; ++i) {
        _mm512_store_si512(call.panel.codes + i * kGroupBytes + 64, _mm512_setzero_si512());
    }
    for (size_t i = 0; i < depth / scale_values; ++i) {
        _mm512_store_ps(call.panel.scales + i * kGemmGroup + kHalfGroup, zero);
    }
    for (size_t i = 0; has_min && i < depth / scale_values; ++i) {
        _mm512_store_ps(call.panel.mins + i * kGemmGroup + kHalfGroup, zero);
    }
}

/// Codes + 128 become codes.
void make_signed(const GemmUnpackCall& call) {
    const __m512i top_bits = _mm512_set1_epi8(-128);
    uint8_t* end = call.panel.codes + (call.end - call.begin) / 4 * kGroupBytes;
    for (uint8_t* p = call.panel.codes; p < end; p += 64)
        _mm512_store_si512(p, _mm512_xor_si512(_mm512_load_si512(p), top_bits));
}

template <class Type>
void unpack_32(const GemmUnpackCall& call) {
    unpack_blocks<Type>(call, 0);
    if (call.num_rows > kHalfGroup) {
        unpack_blocks<Type>(call, kHalfGroup);
    } else {
        clear_half(call, 32, Type::kHasMin);
    }
    if (call.is_signed) make_signed(call);
}

template <class Type>
void unpack_256(const GemmUnpackCall& call) {
    unpack_super_blocks<Type>(call, 0);
    if (call.num_rows > kHalfGroup) {
        unpack_super_blocks<Type>(call, kHalfGroup);
    } else {
        clear_half(call, Type::kScaleValues, Type::kHasMin);
    }
    if (call.is_signed) make_signed(call);
}

template <class Type>
void unpack_any(const GemmUnpackCall& call) {
    unpack_codes<Type>(call, 0);
    if (call.num_rows > kHalfGroup) {
        unpack_codes<Type>(call, kHalfGroup);
    } else {
        clear_half(call, Type::kScaleValues, Type::kHasMin);
    }
    if (call.is_signed) make_signed(call);
}

// --- Multiplying
// ----------------------------------------------------------------------------------

/// Of 32 weight rows, in two registers, with each row of x of a tile.
template <size_t kTile>
using TileDots = __m512i[2][kTile];
template <size_t kTile>
using TileSums = __m512[2][kTile];

/// What the output holds so far, or zeros.
template <size_t kTile>
HOKKU_INLINE void load_sums(const GemmCall& call, const __mmask16 (&lanes)[2], size_t num_tokens,
                            TileSums<kTile>& sums) {
    for (size_t t = 0; t < kTile; ++t) {
        for (size_t h = 0; h < 2; ++h) {
            const bool has_old = call.accumulate && t < num_tokens;
            const float* old = call.out + t * call.out_stride + 16 * h;
            sums[h][t] = has_old ? _mm512_maskz_loadu_ps(lanes[h], old) : _mm512_setzero_ps();
        }
    }
}

/// Of codes that share a scale: kValues weights of each row.
template <size_t kTile, size_t kValues>
HOKKU_INLINE void multiply_codes(const uint8_t* w, const int8_t* x, const int32_t* starts,
                                 TileDots<kTile>& dots) {
#pragma GCC unroll 8
    for (size_t t = 0; t < kTile; ++t) {
        dots[0][t] = dots[1][t] = _mm512_set1_epi32(starts[t]);
    }
#pragma GCC unroll 8
    for (size_t j = 0; j < kValues / 4; ++j) {
        const __m512i w0 = _mm512_load_si512(w + j * kGroupBytes);
        const __m512i w1 = _mm512_load_si512(w + j * kGroupBytes + 64);
#pragma GCC unroll 8
        for (size_t t = 0; t < kTile; ++t) {
            int32_t group;
            std::memcpy(&group, x + (j * kTile + t) * 4, 4);
            const __m512i four = _mm512_set1_epi32(group);
            dots[0][t] = _mm512_dpbusd_epi32(dots[0][t], w0, four);
            dots[1][t] = _mm512_dpbusd_epi32(dots[1][t], w1, four);
        }
    }
}

template <size_t kTile>
HOKKU_INLINE void add_scaled(const TileDots<kTile>& dots, const float* w_scales,
                             const float* x_scales, TileSums<kTile>& sums) {
    const __m512 s0 = _mm512_load_ps(w_scales), s1 = _mm512_load_ps(w_scales + 16);
#pragma GCC unroll 8
    for (size_t t = 0; t < kTile; ++t) {
        const __m512 scale = _mm512_set1_ps(x_scales[t]);
        sums[0][t] =
            _mm512_fmadd_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(dots[0][t]), s0), scale, sums[0][t]);
        sums[1][t] =
            _mm512_fmadd_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(dots[1][t]), s1), scale, sums[1][t]);
    }
}

/// The minimums times unit and sum_of(t), that of the values of x.
template <size_t kTile, class SumOf>
HOKKU_INLINE void add_minimums(const float* w_mins, float unit, SumOf sum_of,
                               TileSums<kTile>& sums) {
    const __m512 m0 = _mm512_mul_ps(_mm512_load_ps(w_mins), _mm512_set1_ps(unit));
    const __m512 m1 = _mm512_mul_ps(_mm512_load_ps(w_mins + 16), _mm512_set1_ps(unit));
#pragma GCC unroll 8
    for (size_t t = 0; t < kTile; ++t) {
        const __m512 sum = _mm512_set1_ps(sum_of(t));
        sums[0][t] = _mm512_fmadd_ps(m0, sum, sums[0][t]);
        sums[1][t] = _mm512_fmadd_ps(m1, sum, sums[1][t]);
    }
}

/// Products of the group with one tile over [begin, end); kScaleValues weights share a scale.
template <size_t kTile, size_t kScaleValues, bool kHasMin>
void multiply_tile(const GemmCall& call) {
    const GemmRows& rows = *call.rows;
    const size_t tile_base = size_t{call.tile_index} * kTile;
    const size_t num_blocks = rows.n / 32, first_block = call.begin / 32;
    const int8_t* x = rows.codes + tile_base * rows.n + call.begin * kTile;
    const int32_t* starts =
        kScaleValues == 32 ? rows.starts + (tile_base * num_blocks + first_block * kTile)
                           : rows.half_starts + 2 * (tile_base * num_blocks + first_block * kTile);
    const float* x_scales = rows.scales + tile_base * num_blocks + first_block * kTile;
    const float* x_sums = rows.sums + tile_base * num_blocks + first_block * kTile;
    const uint8_t* w = call.panel.codes;
    const float* w_scales = call.panel.scales;
    const float* w_mins = call.panel.mins;

    const __mmask16 lanes[2] = {first_lanes(call.num_weights),
                                first_lanes(call.num_weights > 16 ? call.num_weights - 16 : 0)};
    const size_t left = rows.num_rows - tile_base;
    const size_t num_tokens = left < kTile ? left : kTile;
    __m512 sums[2][kTile];
    load_sums<kTile>(call, lanes, num_tokens, sums);
    for (size_t block = 0; block < (call.end - call.begin) / 32; ++block) {
#pragma GCC unroll 2
        for (size_t part = 0; part < 32 / kScaleValues; ++part) {
            __m512i dots[2][kTile];
            multiply_codes<kTile, kScaleValues>(w, x, starts, dots);
            add_scaled<kTile>(dots, w_scales, x_scales, sums);
            if constexpr (kHasMin) {
                // Halves of a block have no sums of their own: the starts are -128 times them.
                const auto sum_of = [=](size_t t) HOKKU_LAMBDA {
                    return kScaleValues == 32 ? x_sums[t]
                                              : static_cast<float>(starts[t]) * x_scales[t];
                };
                add_minimums<kTile>(w_mins, kScaleValues == 32 ? 1.0f : -0x1p-7f, sum_of, sums);
                w_mins += kGemmGroup;
            }
            w += kScaleValues / 4 * kGroupBytes;
            x += kScaleValues * kTile;
            starts += kTile;
            w_scales += kGemmGroup;
        }
        x_sums += kTile;
        x_scales += kTile;
    }
    for (size_t t = 0; t < num_tokens; ++t) {
        float* out = call.out + t * call.out_stride;
        _mm512_mask_storeu_ps(out, lanes[0], sums[0][t]);
        if (lanes[1]) _mm512_mask_storeu_ps(out + 16, lanes[1], sums[1][t]);
    }
}

template <size_t kScaleValues, bool kHasMin>
void multiply(const GemmCall& call) {
    switch (call.rows->tile) {
        case 1:
            return multiply_tile<1, kScaleValues, kHasMin>(call);
        case 2:
            return multiply_tile<2, kScaleValues, kHasMin>(call);
        case 3:
            return multiply_tile<3, kScaleValues, kHasMin>(call);
        case 4:
            return multiply_tile<4, kScaleValues, kHasMin>(call);
        case 5:
            return multiply_tile<5, kScaleValues, kHasMin>(call);
        default:
            return multiply_tile<6, kScaleValues, kHasMin>(call);
    }
}

template <class Type>
constexpr GemmKernel make_32() {
    return {.unpack = unpack_32<Type>, .run = multiply<32, Type::kHasMin>};
}

template <class Type>
constexpr GemmKernel make_256() {
    return {.unpack = unpack_256<Type>, .run = multiply<Type::kScaleValues, Type::kHasMin>};
}

template <class Type>
constexpr GemmKernel make_any() {
    return {.unpack = unpack_any<Type>, .run = multiply<Type::kScaleValues, Type::kHasMin>};
}

}  // namespace

void fill_avx512_gemm(MatmulKernels& table) {
    const auto set = [&table](TensorType type, GemmKernel kernel) {
        table.gemm[static_cast<uint32_t>(type)] = kernel;
    };
    set(TensorType::q4_0, make_32<UnpackQ4_0>());
    set(TensorType::q4_1, make_32<UnpackQ4_1>());
    set(TensorType::q5_0, make_32<UnpackQ5_0>());
    set(TensorType::q5_1, make_32<UnpackQ5_1>());
    set(TensorType::q8_0, make_32<UnpackQ8_0>());
    set(TensorType::iq4_nl, make_32<UnpackIq4Nl>());
    set(TensorType::mxfp4, make_32<UnpackMxfp4>());
    set(TensorType::q3_k, make_256<UnpackQ3_K>());
    set(TensorType::q4_k, make_256<UnpackQ4_K>());
    set(TensorType::q5_k, make_256<UnpackQ5_K>());
    set(TensorType::q6_k, make_256<UnpackQ6_K>());
    set(TensorType::iq4_xs, make_256<UnpackIq4Xs>());
    set(TensorType::q2_k, make_any<codes::Q2_K>());
    set(TensorType::iq1_s, make_any<codes::Iq1S>());
    set(TensorType::iq1_m, make_any<codes::Iq1M>());
    set(TensorType::iq2_xxs, make_any<codes::Iq2Xxs>());
    set(TensorType::iq2_xs, make_any<codes::Iq2Xs>());
    set(TensorType::iq2_s, make_any<codes::Iq2S>());
    set(TensorType::iq3_xxs, make_any<codes::Iq3Xxs>());
    set(TensorType::iq3_s, make_any<codes::Iq3S>());
    set(TensorType::nvfp4, make_any<codes::Nvfp4>());
    set(TensorType::q1_0, make_any<codes::Q1_0>());
    set(TensorType::q2_0, make_any<codes::Q2_0>());
    set(TensorType::tq1_0, make_any<codes::Tq1_0>());
    set(TensorType::tq2_0, make_any<codes::Tq2_0>());
}

}  // namespace hokku::cpu
