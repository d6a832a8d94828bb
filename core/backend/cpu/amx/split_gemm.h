// SPDX-License-Identifier: Apache-2.0
// GEMM of weights stored as floats over tile registers of bfloat16: 32 rows of x times 32 weight
// rows at a time. A number is a sum of bfloat16: two of x, one of BF16 weights, two of F16 and
// three of F32, which is exact for weights. Of the products of parts those are left out that are as
// small as what is left of x, or smaller: of F16 weights both second parts, of F32 ones the second
// part of x with the third. The class Tiles is the CPU's registers, or in tests plain C++. Internal
// linkage on purpose.
//
// With u = 2^-8, half a step of bfloat16, a number less its first part is at most u of it, less two
// u^2, so that in units of |x| |w| a product is off by u^2 with BF16 weights, u^2 + u^3 with F32
// and 2 u^2 with F16. Tile registers take subnormal bfloat16 and float32 for zero: 2^-126 (1 + |x|
// + |w|) more, a few times. Sums are float32. An infinity may come out as NaN.
#pragma once

#include "backend/cpu/avx512/simd.h"
#include "backend/cpu/matmul_kernels.h"
#include "gguf/tensor_type.h"

namespace hokku::cpu {

namespace {

constexpr size_t kPartValues = kSplitTile * kSplitStep;  // Of a tile: 1 KB.
constexpr size_t kTileSums = kSplitTile * kSplitTile, kTileRowBytes = 64;
static_assert(kSplitTile == 16 && kSplitStep == 32 && kSplitGroup % 32 == 0 &&
              kSplitDepth % 32 == 0);

/// 32 values as the sums of kCount bfloat16, the largest first.
template <size_t kCount>
struct Parts {
    __m512i of[kCount];
};

/// The upper halves of 32 dwords.
HOKKU_INLINE __m512i upper_halves(__m512i a, __m512i b) {
    alignas(64) static constexpr uint16_t kOdd[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21,
                                                      23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43,
                                                      45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
    return _mm512_permutex2var_epi16(a, _mm512_load_si512(kOdd), b);
}

/// To the nearest number whose lower half is zero, ties to even; the lower half is left as it
/// comes.
HOKKU_INLINE __m512i round_to_upper(__m512i bits) {
    const __m512i is_odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    return _mm512_add_epi32(_mm512_add_epi32(bits, is_odd), _mm512_set1_epi32(0x7fff));
}

/// The high part of 16 values as float32, and the rest, which has none where x is not finite: there
/// it would be NaN.
HOKKU_INLINE __m512i split_off(__m512 x, __m512i& rest) {
    constexpr int kNanOrInfinity = 0x99;
    const __mmask16 is_bad = _mm512_fpclass_ps_mask(x, kNanOrInfinity);
    const __m512i bits = _mm512_castps_si512(x);
    // The largest numbers, and their rests, would be rounded to infinity.
    const __m512i all = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
    const __m512i magnitude = _mm512_min_epu32(all, _mm512_set1_epi32(0x7f7fff00));
    const __m512i rounded =
        _mm512_min_epu32(round_to_upper(magnitude), _mm512_set1_epi32(0x7f7fffff));
    const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
    const __m512i sign = _mm512_xor_si512(bits, all);
    const __m512 high = _mm512_castsi512_ps(or_and(sign, rounded, upper));
    const __m512 limited = _mm512_castsi512_ps(_mm512_or_si512(sign, magnitude));
    rest = _mm512_castps_si512(_mm512_maskz_sub_ps(static_cast<__mmask16>(~is_bad), limited, high));
    return _mm512_castps_si512(_mm512_mask_add_ps(high, is_bad, x, x));  // NaN that stays one.
}

template <size_t kCount>
HOKKU_INLINE Parts<kCount> split(__m512 first, __m512 second) {
    static_assert(kCount == 2 || kCount == 3);
    Parts<kCount> parts;
    __m512i rests[2];
    const __m512i a = split_off(first, rests[0]), b = split_off(second, rests[1]);
    parts.of[0] = upper_halves(a, b);
    const __m512i rounded[2] = {round_to_upper(rests[0]), round_to_upper(rests[1])};
    parts.of[1] = upper_halves(rounded[0], rounded[1]);
    if constexpr (kCount == 3) {
        for (size_t i = 0; i < 2; ++i) {
            const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
            const __m512 middle = _mm512_castsi512_ps(_mm512_and_si512(rounded[i], upper));
            rests[i] = round_to_upper(
                _mm512_castps_si512(_mm512_sub_ps(_mm512_castsi512_ps(rests[i]), middle)));
        }
        parts.of[2] = upper_halves(rests[0], rests[1]);
    }
    return parts;
}

/// The first `count` of 32 values of float32.
template <size_t kCount>
HOKKU_INLINE Parts<kCount> split_floats(const uint8_t* p, size_t count) {
    return split<kCount>(_mm512_maskz_loadu_ps(first_lanes(count), p),
                         _mm512_maskz_loadu_ps(first_lanes(count > 16 ? count - 16 : 0), p + 64));
}

// A row's x: [n / 32][part][row of the tile][32], high before low.

void pack_split_rows(const float* x, size_t x_stride, uint32_t num_rows, size_t n, uint16_t* out) {
    for (size_t begin = 0; begin < n; begin += kSplitStep, out += 2 * kPartValues) {
        for (size_t t = 0; t < kSplitTile; ++t) {
            Parts<2> parts{};
            if (t < num_rows) {
                parts = split_floats<2>(reinterpret_cast<const uint8_t*>(x + t * x_stride + begin),
                                        n - begin);
            }
            for (size_t i = 0; i < 2; ++i)
                _mm512_store_si512(out + i * kPartValues + t * kSplitStep, parts.of[i]);
        }
    }
}

// --- Weights -------------------------------------------------------------------------------------

HOKKU_INLINE __m512i load_words(const uint8_t* p, size_t count) {
    const __mmask32 words = count >= kSplitStep ? ~__mmask32{0} : (__mmask32{1} << count) - 1;
    return _mm512_maskz_loadu_epi16(words, p);
}

struct SplitF32 {
    static constexpr size_t kBytes = 4, kParts = 3;
    HOKKU_INLINE static Parts<3> load(const uint8_t* p, size_t count) {
        return split_floats<3>(p, count);
    }
};

struct SplitF16 {
    static constexpr size_t kBytes = 2, kParts = 2;
    HOKKU_INLINE static Parts<2> load(const uint8_t* p, size_t count) {
        const __m512i words = load_words(p, count);
        return split<2>(_mm512_cvtph_ps(_mm512_castsi512_si256(words)),
                        _mm512_cvtph_ps(_mm512_extracti64x4_epi64(words, 1)));
    }
};

struct SplitBf16 {
    static constexpr size_t kBytes = 2, kParts = 1;
    HOKKU_INLINE static Parts<1> load(const uint8_t* p, size_t count) {
        return {{load_words(p, count)}};
    }
};

/// 16 rows of 16 pairs of values, in place: row i becomes pair i of every row.
HOKKU_INLINE void transpose_pairs(__m512i (&rows)[kSplitTile]) {
    __m512i a[kSplitTile];
#pragma GCC unroll 16
    for (size_t i = 0; i < 8; ++i) {
        a[2 * i] = _mm512_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
        a[2 * i + 1] = _mm512_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < 4; ++i) {
        for (size_t k = 0; k < 2; ++k) {
            rows[4 * i + 2 * k] = _mm512_unpacklo_epi64(a[4 * i + k], a[4 * i + 2 + k]);
            rows[4 * i + 2 * k + 1] = _mm512_unpackhi_epi64(a[4 * i + k], a[4 * i + 2 + k]);
        }
    }
    // rows[4 i + k] has of rows 4 i .. 4 i + 3 pairs k, 4 + k, 8 + k and 12 + k.
#pragma GCC unroll 16
    for (size_t k = 0; k < 4; ++k) {
        for (size_t i = 0; i < 2; ++i) {
            const __m512i first = rows[8 * i + k], second = rows[8 * i + 4 + k];
            a[4 * k + 2 * i] = _mm512_shuffle_i32x4(first, second, 0x88);      // 0, 2 | 0, 2
            a[4 * k + 2 * i + 1] = _mm512_shuffle_i32x4(first, second, 0xdd);  // 1, 3 | 1, 3
        }
    }
#pragma GCC unroll 16
    for (size_t k = 0; k < 4; ++k) {
        rows[k] = _mm512_shuffle_i32x4(a[4 * k], a[4 * k + 2], 0x88);
        rows[8 + k] = _mm512_shuffle_i32x4(a[4 * k], a[4 * k + 2], 0xdd);
        rows[4 + k] = _mm512_shuffle_i32x4(a[4 * k + 1], a[4 * k + 3], 0x88);
        rows[12 + k] = _mm512_shuffle_i32x4(a[4 * k + 1], a[4 * k + 3], 0xdd);
    }
}

/// A step of up to 16 weight rows: [part][pair of values][weight][2], the largest part first.
template <class Type>
HOKKU_INLINE void unpack_step(const uint8_t* weights, size_t row_stride, size_t num_rows,
                              size_t count, uint16_t* out) {
    __m512i rows[kSplitTile];
#pragma GCC unroll 16
    for (size_t r = 0; r < kSplitTile; ++r) {
        Parts<Type::kParts> parts{};
        if (r < num_rows) parts = Type::load(weights + r * row_stride, count);
        rows[r] = parts.of[0];
        for (size_t i = 1; i < Type::kParts; ++i)
            _mm512_store_si512(out + i * kPartValues + r * kSplitStep, parts.of[i]);
    }
    for (size_t part = 0; part < Type::kParts; ++part, out += kPartValues) {
        if (part > 0) {
#pragma GCC unroll 16
            for (size_t r = 0; r < kSplitTile; ++r) rows[r] = _mm512_load_si512(out + r * 32);
        }
        transpose_pairs(rows);
#pragma GCC unroll 16
        for (size_t r = 0; r < kSplitTile; ++r) _mm512_store_si512(out + r * 32, rows[r]);
    }
}

/// The panel: [tile of 16 weight rows][step][part] of those.
template <class Type>
void unpack_split(const SplitUnpackCall& call) {
    uint16_t* out = call.panel;
    for (size_t first = 0; first < call.num_rows; first += kSplitTile) {
        const size_t left = call.num_rows - first;
        const uint8_t* weights = call.weights + first * call.row_stride;
        for (size_t i = call.begin; i < call.end; i += kSplitStep) {
            const uint8_t* p = weights + i * Type::kBytes;
            if (left >= kSplitTile && call.end - i >= kSplitStep) {
                unpack_step<Type>(p, call.row_stride, kSplitTile, kSplitStep, out);
            } else {
                unpack_step<Type>(p, call.row_stride, left, call.end - i, out);
            }
            out += Type::kParts * kPartValues;
        }
    }
}

// --- The product ---------------------------------------------------------------------------------

/// A tile of outputs, some of which may not exist.
struct OutTile {
    float* out;
    size_t stride, num_rows, num_weights;

    [[nodiscard]] bool is_whole() const {
        return num_rows >= kSplitTile && num_weights >= kSplitTile;
    }
};

using OutCopy = float[kSplitTile][kSplitTile];

template <class Tiles, int kTile>
HOKKU_INLINE void store_sums(const OutTile& tile) {
    if (tile.is_whole()) return Tiles::template store<kTile>(tile.out, tile.stride * sizeof(float));
    alignas(64) OutCopy copy;
    Tiles::template store<kTile>(copy, sizeof copy[0]);
    const __mmask16 lanes = first_lanes(tile.num_weights);
    for (size_t t = 0; t < kSplitTile && t < tile.num_rows; ++t)
        _mm512_mask_storeu_ps(tile.out + t * tile.stride, lanes, _mm512_load_ps(copy[t]));
}

/// Tiles 0 to 3 are sums: of the first rows of x and the first weights, of those and the second
/// weights, and then of the second rows.
template <size_t kRowTiles, size_t kWeightTiles, class Run>
HOKKU_INLINE void for_sums(Run run) {
    run.template operator()<0>();
    if constexpr (kWeightTiles == 2) run.template operator()<1>();
    if constexpr (kRowTiles == 2) run.template operator()<2>();
    if constexpr (kRowTiles == 2 && kWeightTiles == 2) run.template operator()<3>();
}

/// Tiles 4 and 5 hold x, 6 and 7 weights.
template <class Tiles, size_t kRowTiles, size_t kWeightTiles>
HOKKU_INLINE void multiply_loaded() {
    Tiles::template multiply<0, 4, 6>();
    if constexpr (kWeightTiles == 2) Tiles::template multiply<1, 4, 7>();
    if constexpr (kRowTiles == 2) Tiles::template multiply<2, 5, 6>();
    if constexpr (kRowTiles == 2 && kWeightTiles == 2) Tiles::template multiply<3, 5, 7>();
}

template <class Tiles, size_t kParts, size_t kRowTiles, size_t kWeightTiles>
void multiply_split_block(const SplitCall& call, size_t first_weight) {
    const size_t num_left = call.num_weights - first_weight;
    const auto out_tile = [&](size_t row_tile, size_t weight_tile) HOKKU_LAMBDA {
        const size_t row = row_tile * kSplitTile, weight = weight_tile * kSplitTile;
        return OutTile{call.out + row * call.out_stride + first_weight + weight, call.out_stride,
                       call.num_rows - row, num_left - weight};
    };
    float* sums = call.sums + first_weight * 2 * kSplitTile;
    for_sums<kRowTiles, kWeightTiles>([&]<int kTile>() HOKKU_LAMBDA {
        if (call.is_first) return Tiles::template zero<kTile>();
        Tiles::template load<kTile>(sums + kTile * kTileSums, kTileRowBytes);
    });
    const uint16_t* x = call.x;
    const uint16_t* w =
        call.panel + first_weight / kSplitTile * call.num_steps * kParts * kPartValues;
    const size_t x_tile = call.x_tile_stride, w_tile = call.num_steps * kParts * kPartValues;
    // The next rows of x come from behind the L2 cache the first time: every pair of weight tiles
    // asks for some.
    constexpr size_t kBlockWeights = 2 * kSplitTile;
    const size_t num_blocks = (call.num_weights + kBlockWeights - 1) / kBlockWeights;
    const size_t num_lines = 4 * kSplitTile / num_blocks;
    const uint16_t* next = call.x + 2 * x_tile +
                           first_weight / kBlockWeights * call.num_steps * num_lines * kSplitStep;
    for (size_t i = 0; i < call.num_steps; ++i) {
        const auto load_x = [&](size_t part) HOKKU_LAMBDA {
            Tiles::template load<4>(x + part * kPartValues, kTileRowBytes);
            if constexpr (kRowTiles == 2)
                Tiles::template load<5>(x + x_tile + part * kPartValues, kTileRowBytes);
        };
        const auto load_weights = [&](size_t part) HOKKU_LAMBDA {
            Tiles::template load<6>(w + part * kPartValues, kTileRowBytes);
            if constexpr (kWeightTiles == 2)
                Tiles::template load<7>(w + w_tile + part * kPartValues, kTileRowBytes);
        };
        for (size_t line = 0; line < num_lines; ++line, next += kSplitStep)
            _mm_prefetch(reinterpret_cast<const char*>(next), _MM_HINT_T1);
        const auto multiply = [] HOKKU_LAMBDA {
            multiply_loaded<Tiles, kRowTiles, kWeightTiles>();
        };
        // What is smallest first; of the parts of a weight the largest first, so that the sum of
        // theirs with a single value is exact.
        if constexpr (kParts == 3) {
            load_weights(1);
            load_x(1);
            multiply();
            load_weights(0);
        } else {
            load_weights(0);
            load_x(1);
        }
        multiply();
        load_x(0);
        multiply();
        if constexpr (kParts > 1) {
            load_weights(1);
            multiply();
        }
        if constexpr (kParts > 2) {
            load_weights(2);
            multiply();
        }
        x += 2 * kPartValues;
        w += kParts * kPartValues;
    }
    for_sums<kRowTiles, kWeightTiles>([&]<int kTile>() HOKKU_LAMBDA {
        if (call.is_last) return store_sums<Tiles, kTile>(out_tile(kTile / 2, kTile % 2));
        Tiles::template store<kTile>(sums + kTile * kTileSums, kTileRowBytes);
    });
}

template <class Tiles, size_t kParts, size_t kRowTiles>
HOKKU_INLINE void multiply_split_rows(const SplitCall& call) {
    for (size_t first = 0; first < call.num_weights; first += 2 * kSplitTile) {
        if (call.num_weights - first > kSplitTile) {
            multiply_split_block<Tiles, kParts, kRowTiles, 2>(call, first);
        } else {
            multiply_split_block<Tiles, kParts, kRowTiles, 1>(call, first);
        }
    }
}

template <class Tiles, size_t kParts>
void multiply_split(const SplitCall& call) {
    call.num_rows > kSplitTile ? multiply_split_rows<Tiles, kParts, 2>(call)
                               : multiply_split_rows<Tiles, kParts, 1>(call);
}

template <class Tiles>
void fill_split_gemm(MatmulKernels& table) {
    table.pack_split_rows = pack_split_rows;
    const auto set = [&table]<class Type>(TensorType type, Type) {
        table.split_gemm[static_cast<uint32_t>(type)] = {
            .unpack = unpack_split<Type>, .run = multiply_split<Tiles, Type::kParts>};
    };
    set(TensorType::f32, SplitF32{});
    set(TensorType::f16, SplitF16{});
    set(TensorType::bf16, SplitBf16{});
}

}  // namespace
}  // namespace hokku::cpu
