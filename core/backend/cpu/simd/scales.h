// SPDX-License-Identifier: Apache-2.0
// Loads from blocks, and the packed scales of the super-block types (layouts in
// backend/dequantize_blocks.h), with AVX2. Internal linkage on purpose.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "backend/cpu/simd/inline.h"

namespace hokku::cpu {
namespace {

HOKKU_INLINE __m256i load_bytes32(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
HOKKU_INLINE __m128i load_bytes16(const void* p) {
    return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
HOKKU_INLINE uint32_t load_word(const uint8_t* p) {
    uint32_t value;
    std::memcpy(&value, p, sizeof value);
    return value;
}
/// All bits of the bytes whose bits are set.
HOKKU_INLINE __m256i bits_to_bytes(uint32_t bits) {
    const __m256i spread =
        _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(bits)),
                            _mm256_setr_epi64x(0x0000000000000000, 0x0101010101010101,
                                               0x0202020202020202, 0x0303030303030303));
    const __m256i one_each = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
    return _mm256_cmpeq_epi8(_mm256_and_si256(spread, one_each), one_each);
}
HOKKU_INLINE float load_half_float(const uint8_t* p) {
    uint16_t bits;
    std::memcpy(&bits, p, sizeof bits);
    return _cvtsh_ss(bits);
}

/// The 6-bit scales and minima of Q4_K and Q5_K as floats.
struct ScalesAndMins {
    __m256 scales, mins;
};
HOKKU_INLINE ScalesAndMins unpack_q4_k_scales(const uint8_t* p) {
    const uint32_t a = load_word(p), b = load_word(p + 4), c = load_word(p + 8);
    const uint64_t upper_scales = (c & 0x0f0f0f0fu) | (a >> 2 & 0x30303030u);
    const uint64_t upper_mins = (c >> 4 & 0x0f0f0f0fu) | (b >> 2 & 0x30303030u);
    const auto to_floats = [](uint64_t bytes) {
        const __m128i x = _mm_cvtsi64_si128(static_cast<int64_t>(bytes));
        return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(x));
    };
    return {to_floats((a & 0x3f3f3f3fu) | upper_scales << 32),
            to_floats((b & 0x3f3f3f3fu) | upper_mins << 32)};
}

/// The sixteen 6-bit scales of Q3_K, -32..31, as bytes.
HOKKU_INLINE __m128i unpack_q3_k_scales(const uint8_t* p) {
    const uint32_t a = load_word(p), b = load_word(p + 4), c = load_word(p + 8);
    constexpr uint32_t kLow = 0x0f0f0f0f, kHigh = 0x30303030;
    const __m128i bytes = _mm_setr_epi32(static_cast<int>((a & kLow) | (c << 4 & kHigh)),
                                         static_cast<int>((b & kLow) | (c << 2 & kHigh)),
                                         static_cast<int>((a >> 4 & kLow) | (c & kHigh)),
                                         static_cast<int>((b >> 4 & kLow) | (c >> 2 & kHigh)));
    return _mm_sub_epi8(bytes, _mm_set1_epi8(32));
}

/// The eight 6-bit scales of IQ4_XS, -32..31.
HOKKU_INLINE __m256i unpack_iq4_xs_scales(const uint8_t* p) {
    uint16_t high;
    std::memcpy(&high, p, sizeof high);
    const uint64_t low = _pdep_u64(load_word(p + 2), 0x0f0f0f0f0f0f0f0f);
    const uint64_t bytes = low | _pdep_u64(high, 0x3030303030303030);
    const __m128i x = _mm_cvtsi64_si128(static_cast<int64_t>(bytes));
    return _mm256_sub_epi32(_mm256_cvtepu8_epi32(x), _mm256_set1_epi32(32));
}

}  // namespace
}  // namespace hokku::cpu
