// SPDX-License-Identifier: Apache-2.0
// Quantises rows of x (quantize.h) and stores them in the layouts of the kernels.
#include "backend/cpu/avx512/quantize.h"
#include "backend/cpu/avx512/tables.h"
#include "backend/cpu/avx512/ternary_layout.h"
#include "backend/cpu/matmul_kernels.h"

namespace hokku::cpu {

namespace {

/// A step of a prepared vector: see kStepBytes128.
struct StepPlace {
    int8_t* codes;
    int32_t* starts;
    float *scales, *sums;
};

HOKKU_INLINE StepPlace step_place(const GemvVector& v, size_t step, size_t num_codes) {
    int8_t* p = v.codes + step * (num_codes + 3 * 64);
    return {p, reinterpret_cast<int32_t*>(p + num_codes),
            reinterpret_cast<float*>(p + num_codes + 64),
            reinterpret_cast<float*>(p + num_codes + 128)};
}

/// Halves: of each four blocks the first halves, then the second halves; scale, start and sum in
/// four lanes per block.
void store_halves(const GemvVector& v, size_t b, const Block& block, int32_t zero_point) {
    const StepPlace step = step_place(v, b / 4, 128);
    const size_t place = b % 4;
    store(step.codes + place * 16, block.codes[0]);
    store(step.codes + place * 16 + 64, block.codes[1]);
    const __m128i whole_sums = _mm_add_epi32(block.whole_sums[0], block.whole_sums[1]);
    const __m128 scale = _mm_set1_ps(block.scale);
    _mm_store_ps(step.scales + place * 4, scale);
    store(step.starts + place * 4, _mm_mullo_epi32(whole_sums, _mm_set1_epi32(-zero_point)));
    _mm_store_ps(step.sums + place * 4, _mm_mul_ps(scale, _mm_cvtepi32_ps(whole_sums)));
}

/// Halves of 16: as halves, but of each block the first halves of both 16 come first.
void store_halves_of_16(const GemvVector& v, size_t b, const Block& block, int32_t zero_point) {
    const auto low = [](const __m128i(&x)[2]) { return _mm_unpacklo_epi64(x[0], x[1]); };
    const auto high = [](const __m128i(&x)[2]) { return _mm_unpackhi_epi64(x[0], x[1]); };
    Block moved = block;
    moved.codes[0] = low(block.codes);
    moved.codes[1] = high(block.codes);
    // The halves' sums have one number for each four codes, so that they move in the same way.
    moved.whole_sums[0] = low(block.whole_sums);
    moved.whole_sums[1] = high(block.whole_sums);
    store_halves(v, b, moved, zero_point);
}

/// Super-blocks: of each eight blocks the first four of every 16 codes, then the second, third and
/// fourth; 16 scales, starts and sums, one for each 16 codes. `lanes` says the order of the 16s.
void store_super(const GemvVector& v, size_t b, const uint8_t (&lanes)[16], const Block& block,
                 int32_t zero_point) {
    const StepPlace step = step_place(v, b / 8, 256);
    for (size_t half = 0; half < 2; ++half) {
        const size_t lane = lanes[b % 8 * 2 + half];
        alignas(16) int32_t fours[4];
        store(fours, block.codes[half]);
        for (size_t j = 0; j < 4; ++j) std::memcpy(step.codes + lane * 4 + 64 * j, &fours[j], 4);
        const int32_t sum = sum_of(block.whole_sums[half]);
        step.scales[lane] = block.scale;
        step.starts[lane] = -zero_point * sum;
        step.sums[lane] = static_cast<float>(-sum) * block.scale;
    }
}

// Which lane the k-th 16 values of a super-block come to, by their place in its codes.
constexpr uint8_t kSuperPlain[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr uint8_t kSuperLinear[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
constexpr uint8_t kSuperTwo[16] = {0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15};
constexpr uint8_t kSuperPairs[16] = {0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15};
constexpr uint8_t kSuperNibbles[16] = {0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15};

/// Quads: of each eight blocks the codes of values 4 i, then those of 4 i + 1, 4 i + 2, 4 i + 3;
/// two scales and starts per block.
void store_quads(const GemvVector& v, size_t b, const Block& block, int32_t zero_point) {
    const __m128i by_four = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m128i first = _mm_shuffle_epi8(block.codes[0], by_four);
    const __m128i second = _mm_shuffle_epi8(block.codes[1], by_four);
    alignas(16) int64_t parts[4];
    store(parts, _mm_unpacklo_epi32(first, second));
    store(parts + 2, _mm_unpackhi_epi32(first, second));
    const StepPlace step = step_place(v, b / 8, 256);
    for (size_t s = 0; s < 4; ++s) std::memcpy(step.codes + b % 8 * 8 + 64 * s, parts + s, 8);
    for (size_t half = 0; half < 2; ++half) {
        step.scales[b % 8 * 2 + half] = block.scale;
        step.starts[b % 8 * 2 + half] = -zero_point * sum_of(block.whole_sums[half]);
    }
}

/// Super-points: as super_plain, but of each 16 codes value s of both halves of two points comes to
/// byte 0 to 3: of the first halves, then of the second.
void store_super_points(const GemvVector& v, size_t b, const Block& block, int32_t zero_point) {
    const __m128i order = _mm_setr_epi8(0, 8, 4, 12, 1, 9, 5, 13, 2, 10, 6, 14, 3, 11, 7, 15);
    Block moved = block;
    for (__m128i& codes : moved.codes) codes = _mm_shuffle_epi8(codes, order);
    store_super(v, b, kSuperPlain, moved, zero_point);
}

/// Ternary: digit n of every byte of a block of TQ1_0 meets register n, where its code counts 4^n
/// (the fifth one: 1) as much; 16 starts and scales for each register.
void store_ternary(const GemvVector& v, size_t b, const Block& block, int32_t zero_point) {
    int8_t* codes = v.codes + b / 8 * kTernaryStepBytes;
    int8_t* starts = codes + kTernaryRegisters * 64;
    int8_t* scales = starts + kTernaryRegisters * 64;
    if (b % 8 == 0) std::memset(codes, 0, kTernaryStepBytes);  // Some lanes stay empty.
    alignas(16) int32_t fours[8], sums[8];
    for (size_t half = 0; half < 2; ++half) {
        store(fours + 4 * half, block.codes[half]);
        store(sums + 4 * half, block.whole_sums[half]);
    }
    for (size_t i = 0; i < 8; ++i) {
        const TernaryPlace place = ternary_place(b % 8 * 32 + 4 * i);
        const int32_t unit = ternary_unit(place.digit);
        const size_t offset = place.digit * 64 + place.byte;
        const int32_t start = -zero_point * unit * sums[i];
        const float scale = block.scale / static_cast<float>(unit);
        std::memcpy(codes + offset, &fours[i], 4);
        std::memcpy(starts + offset, &start, 4);
        std::memcpy(scales + offset, &scale, 4);
    }
}

bool has_steps_of_128(VectorLayout layout) {
    return layout == VectorLayout::halves || layout == VectorLayout::halves_of_16;
}

/// Steps over the end of a row multiply by zeros.
void clear_tail(const GemvVector& v, size_t n, VectorLayout layout) {
    if (has_steps_of_128(layout)) {
        std::memset(v.codes + n / 128 * kStepBytes128, 0, kStepBytes128);
    } else {
        std::memset(v.codes + n / 256 * kStepBytes256, 0, kStepBytes256);
    }
}

/// Makes 16-bit codes of those of a vector and of its rest: the vector's are those of even places,
/// those of odd places take the rest's place.
void join_fine_codes(const GemvVector& v, const GemvVector& rest, size_t n, VectorLayout layout) {
    const size_t num_values = has_steps_of_128(layout) ? 128 : 256;
    const bool is_ternary = layout == VectorLayout::ternary;
    const size_t num_codes = is_ternary ? kTernaryRegisters * 64 : num_values;
    const size_t step_bytes = is_ternary ? kTernaryStepBytes : num_values + 3 * 64;
    if (layout == VectorLayout::halves && has_pair_steps(n)) n *= 2;
    for (size_t step = 0; step * num_values < n; ++step) {
        int8_t *p = v.codes + step * step_bytes, *q = rest.codes + step * step_bytes;
        for (size_t i = 0; i < num_codes; i += 64) {
            const __m512i codes = _mm512_load_si512(p + i), small = _mm512_load_si512(q + i);
            const __m512i small_even = _mm512_srai_epi16(_mm512_slli_epi16(small, 8), 8);
            const __m512i odd = _mm512_and_si512(codes, _mm512_set1_epi16(-256));
            _mm512_store_si512(p + i, _mm512_add_epi16(_mm512_slli_epi16(codes, 8), small_even));
            _mm512_store_si512(q + i, _mm512_add_epi16(odd, _mm512_srai_epi16(small, 8)));
        }
    }
}

void store_block(const GemvVector& v, size_t b, size_t n, VectorLayout layout, const Block& block,
                 int32_t zero_point) {
    switch (layout) {
        default:
            return;
        case VectorLayout::halves:
            if (has_pair_steps(n)) store_halves(v, n / 32 + b, block, zero_point);
            return store_halves(v, b, block, zero_point);
        case VectorLayout::halves_of_16:
            return store_halves_of_16(v, b, block, zero_point);
        case VectorLayout::super_pairs:
            return store_super(v, b, kSuperPairs, block, zero_point);
        case VectorLayout::super_plain:
            return store_super(v, b, kSuperPlain, block, zero_point);
        case VectorLayout::super_points:
            return store_super_points(v, b, block, zero_point);
        case VectorLayout::super_linear:
            return store_super(v, b, kSuperLinear, block, zero_point);
        case VectorLayout::super_two:
            return store_super(v, b, kSuperTwo, block, zero_point);
        case VectorLayout::super_nibbles:
            return store_super(v, b, kSuperNibbles, block, zero_point);
        case VectorLayout::quads:
            return store_quads(v, b, block, zero_point);
        case VectorLayout::ternary:
            return store_ternary(v, b, block, zero_point);
    }
}

void prepare_vector(const float* x, size_t n, VectorLayout layout, int32_t zero_point,
                    const GemvVector& v, const GemvVector* residual) {
    if (n % 256 != 0) {
        clear_tail(v, n, layout);
        if (residual) clear_tail(*residual, n, layout);
    }
    for (size_t block = 0; block < n / 32; ++block) {
        const __m512 a = _mm512_loadu_ps(x + block * 32), b = _mm512_loadu_ps(x + block * 32 + 16);
        if (!residual) {
            store_block(v, block, n, layout, quantize(a, b), zero_point);
            continue;
        }
        const FineBlock fine = quantize_fine(a, b);
        store_block(v, block, n, layout, fine.main, zero_point);
        store_block(*residual, block, n, layout, fine.rest, zero_point);
    }
    if (residual) join_fine_codes(v, *residual, n, layout);
}

/// Codes of row t of the tile: groups of four values lie `tile` groups apart.
HOKKU_INLINE void store_column(const GemmRows& rows, size_t tile_base, size_t b, size_t t,
                               const Block& block) {
    const size_t tile = rows.tile;
    int8_t* codes = rows.codes + tile_base * rows.n + b * 32 * tile + t * 4;
    for (size_t half = 0; half < 2; ++half) {
        alignas(16) int32_t groups[4];
        store(groups, block.codes[half]);
        for (size_t j = 0; j < 4; ++j) {
            std::memcpy(codes + (half * 4 + j) * tile * 4, &groups[j], 4);
        }
    }
}

/// Block b of row t of the tile that begins at row `base`.
HOKKU_INLINE void store_tile_block(const GemmRows& rows, size_t base, size_t b, size_t t,
                                   const Block& block) {
    const size_t tile = rows.tile, num_blocks = rows.n / 32;
    const size_t place = base * num_blocks + b * tile + t;
    store_column(rows, base, b, t, block);
    const int32_t first = sum_of(block.sums[0]), second = sum_of(block.sums[1]);
    int32_t* half_starts = rows.half_starts + 2 * base * num_blocks + 2 * b * tile + t;
    half_starts[0] = -128 * first;
    half_starts[tile] = -128 * second;
    rows.starts[place] = -128 * (first + second);
    rows.scales[place] = block.scale;
    rows.sums[place] = block.scale * static_cast<float>(first + second);
}

void pack_tile(const float* x, size_t x_stride, uint32_t tile_index, const GemmRows& rows,
               const GemmRows* residual) {
    const size_t base = tile_index * size_t{rows.tile};
    // Block by block: the blocks of all rows of a tile share their cache lines.
    for (size_t b = 0; b < rows.n / 32; ++b) {
        for (size_t t = 0; t < rows.tile; ++t) {
            if (base + t >= rows.num_rows) {
                store_tile_block(rows, base, b, t, Block{});
                if (residual) store_tile_block(*residual, base, b, t, Block{});
                continue;
            }
            const float* values = x + (base + t) * x_stride + b * 32;
            const __m512 low = _mm512_loadu_ps(values), high = _mm512_loadu_ps(values + 16);
            const Block block = quantize(low, high);
            store_tile_block(rows, base, b, t, block);
            if (!residual) continue;
            store_tile_block(*residual, base, b, t, quantize_rest(low, high, block));
        }
    }
}

}  // namespace

void fill_avx512_activations(MatmulKernels& table) {
    table.prepare_vector = prepare_vector;
    table.pack_tile = pack_tile;
}

}  // namespace hokku::cpu
