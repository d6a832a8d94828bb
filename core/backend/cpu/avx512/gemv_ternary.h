// SPDX-License-Identifier: Apache-2.0
// Steps super-blocks of TQ1_0. Layout as in backend/dequantize_codebooks.h. Internal linkage on
// purpose.
#pragma once

#include "backend/cpu/avx512/gemv_codebooks.h"
#include "backend/cpu/avx512/gemv_points.h"
#include "backend/cpu/avx512/ternary_layout.h"

namespace hokku::cpu {
namespace {

/// Digit n of every byte in register n, in units of ternary_unit(n).
struct TernaryWeights {
    __m512i codes[kTernaryRegisters];
    __m512 scales;
};
struct WideTernaryWeights {
    __m512i even[kTernaryRegisters], odd[kTernaryRegisters];
    __m512 scales;
};

template <bool kFine>
HOKKU_INLINE auto weights_for(const TernaryWeights& w) {
    if constexpr (kFine) {
        WideTernaryWeights wide;
        for (size_t i = 0; i < kTernaryRegisters; ++i) {
            wide.even[i] = _mm512_and_si512(w.codes[i], _mm512_set1_epi16(255));
            wide.odd[i] = _mm512_srli_epi16(w.codes[i], 8);
        }
        wide.scales = w.scales;
        return wide;
    } else {
        return w;
    }
}

/// Read where they are used: they are more than registers can hold.
struct TernaryValues {
    const int8_t *codes, *rest_codes;
    [[nodiscard]] HOKKU_INLINE __m512i start(size_t i) const {
        return _mm512_load_si512(codes + 64 * (kTernaryRegisters + i));
    }
    [[nodiscard]] HOKKU_INLINE __m512 scales(size_t i) const {
        return _mm512_load_ps(codes + 64 * (2 * kTernaryRegisters + i));
    }
};

template <bool kFine>
HOKKU_INLINE TernaryValues load_ternary_values(const StepVector<kFine>& v, size_t step) {
    const size_t place = step * kTernaryStepBytes;
    return {v.steps + place, kFine ? v.rest_steps + place : nullptr};
}

HOKKU_INLINE __m512i ternary_dot(const TernaryWeights& w, const TernaryValues& x, size_t i) {
    return _mm512_dpbusd_epi32(x.start(i), w.codes[i], _mm512_load_si512(x.codes + 64 * i));
}
HOKKU_INLINE __m512i ternary_dot(const WideTernaryWeights& w, const TernaryValues& x, size_t i) {
    const __m512i dots =
        _mm512_dpwssd_epi32(x.start(i), w.even[i], _mm512_load_si512(x.codes + 64 * i));
    return _mm512_dpwssd_epi32(dots, w.odd[i], _mm512_load_si512(x.rest_codes + 64 * i));
}

template <bool kHasMins, class W>
HOKKU_INLINE __m512 add_products(__m512 sum, const W& w, const TernaryValues& x) {
    __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(ternary_dot(w, x, 0)), x.scales(0));
    for (size_t i = 1; i < kTernaryRegisters; ++i)
        scaled = _mm512_fmadd_ps(_mm512_cvtepi32_ps(ternary_dot(w, x, i)), x.scales(i), scaled);
    return _mm512_fmadd_ps(scaled, w.scales, sum);
}

/// By byte: its first four digits, two bits each, and its fifth.
struct TernaryTables {
    alignas(64) uint8_t four[256], fifth[256];
};
TernaryTables ternary_tables;  // Filled once, before any kernel can be called.

/// Multiplying by three modulo 256 moves the next digit to the front.
void fill_ternary_tables() {
    for (uint32_t byte = 0; byte < 256; ++byte) {
        uint32_t four = 0, rest = byte;
        for (uint32_t n = 0; n < 4; ++n, rest = rest * 3 & 255) four |= (rest * 3 >> 8) << (2 * n);
        ternary_tables.four[byte] = static_cast<uint8_t>(four);
        ternary_tables.fifth[byte] = static_cast<uint8_t>(rest * 3 >> 8);
    }
}

struct StepTq1_0 : SuperBlock<54, VectorLayout::ternary, 1> {
    HOKKU_INLINE static uint64_t d_bits(const uint8_t* p) { return load_short(p + 52); }
    HOKKU_INLINE static TernaryWeights unpack(const uint8_t* p, __m512 d) {
        const __m512i bytes = load_bytes(p);  // What is behind meets zeros.
        const IndexBits bits = bits_of_bytes(bytes);
        const __m512i four = look_up_bytes<256>(ternary_tables.four, bytes, bits);
        TernaryWeights w;
        for (size_t n = 0; n < 4; ++n)
            w.codes[n] = _mm512_and_si512(four, _mm512_set1_epi8(static_cast<char>(3 << (2 * n))));
        w.codes[4] = look_up_bytes<256>(ternary_tables.fifth, bytes, bits);
        w.scales = d;
        return w;
    }
};

}  // namespace
}  // namespace hokku::cpu
