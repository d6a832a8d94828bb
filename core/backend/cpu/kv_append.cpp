// SPDX-License-Identifier: Apache-2.0
// How keys and values come into the pages. Scalar on purpose: the stored bits do not depend on the
// instruction set, and this is a thousandth of a step.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/backend.h"
#include "backend/cpu/attention.h"
#include "backend/cpu/kv_layout.h"
#include "backend/half.h"

namespace hokku::cpu {

static_assert(kKvPositions == kKvBlockTokens);

namespace {

constexpr float kMaxCode = 127.0f;
constexpr uint8_t kNibbleZero = 8;
constexpr uint16_t kLargestHalf = 0x7bff, kNotANumber = 0x7e00;

/// One head's key or value of one position: element d is stored[d * stride].
void store_floats(const float* x, size_t dim, std::byte* stored, size_t stride) {
    auto* out = reinterpret_cast<float*>(stored);
    for (size_t d = 0; d < dim; ++d) out[d * stride] = x[d];
}

void store_halves(const float* x, size_t dim, std::byte* stored, size_t stride) {
    auto* out = reinterpret_cast<uint16_t*>(stored);
    for (size_t d = 0; d < dim; ++d) out[d * stride] = float_to_half(x[d]);
}

/// The smallest scale by which no code is beyond kMaxCode; not a number where a value is not
/// finite.
uint16_t scale_of(const float* x, size_t n) {
    float largest = 0;
    bool is_finite = true;
    for (size_t i = 0; i < n; ++i) {
        is_finite &= std::isfinite(x[i]);
        largest = std::max(largest, std::abs(x[i]));
    }
    if (!is_finite) return kNotANumber;
    const float wanted = largest / kMaxCode;
    const uint16_t scale = float_to_half(wanted);
    return half_to_float(scale) < wanted && scale < kLargestHalf ? scale + 1 : scale;
}

void store_codes(const float* x, size_t dim, std::byte* stored, size_t stride, uint16_t* scales) {
    auto* out = reinterpret_cast<int8_t*>(stored);
    for (size_t begin = 0; begin < dim; begin += kKvScaleDims) {
        const size_t end = std::min(dim, begin + kKvScaleDims);
        const uint16_t scale = scale_of(x + begin, end - begin);
        scales[begin / kKvScaleDims * kKvPositions] = scale;
        const float factor = half_to_float(scale) > 0.0f ? 1.0f / half_to_float(scale) : 0.0f;
        for (size_t d = begin; d < end; ++d) {
            // Adding 1.5 * 2^23 leaves no bits behind the point: the nearest whole number.
            constexpr float kMagic = 0x1.8p23f;
            const float code = factor > 0.0f ? std::clamp(x[d] * factor, -kMaxCode, kMaxCode) : 0;
            out[d * stride] = static_cast<int8_t>(code + kMagic - kMagic);
        }
    }
}

/// The scale of a group of q4_0 and its codes, each 8 more than what the scale is multiplied by.
/// The value of the largest magnitude becomes -8 times the scale, which is negative where it is
/// positive: as ggml quantises, so that a block means in a file what it means here.
uint16_t quantise_nibbles(const float* x, size_t n, uint8_t* codes) {
    float furthest = 0;
    bool is_finite = true;
    for (size_t i = 0; i < n; ++i) {
        is_finite &= std::isfinite(x[i]);
        if (std::abs(x[i]) > std::abs(furthest)) furthest = x[i];
    }
    if (!is_finite) {
        std::fill_n(codes, n, kNibbleZero);
        return kNotANumber;
    }
    const float scale = furthest / -8.0f, inverse = 1.0f / scale;
    const float factor = std::isfinite(inverse) ? inverse : 0.0f;
    for (size_t i = 0; i < n; ++i)
        codes[i] = static_cast<uint8_t>(std::min(15.0f, x[i] * factor + 8.5f));
    return float_to_half(scale);
}

void store_nibbles(const float* x, size_t dim, std::byte* stored, size_t stride, uint16_t* scales) {
    auto* out = reinterpret_cast<uint8_t*>(stored);
    for (size_t begin = 0; begin < dim; begin += kKvScaleDims) {
        uint8_t codes[kKvScaleDims] = {};  // What is behind the last dimension stays zero.
        *scales = quantise_nibbles(x + begin, std::min(dim - begin, kKvScaleDims), codes);
        scales += kKvPositions;
        for (size_t j = 0; j < kKvNibbleBytes; ++j, out += stride)
            *out = static_cast<uint8_t>(codes[j] | codes[j + kKvNibbleBytes] << 4);
    }
}

void store(KvType type, const float* x, size_t dim, std::byte* head, size_t first, size_t stride,
           size_t scale_offset, size_t slot) {
    switch (type) {
        case KvType::f32:
            return store_floats(x, dim, head + first * sizeof(float), stride);
        case KvType::f16:
            return store_halves(x, dim, head + first * sizeof(uint16_t), stride);
        case KvType::q8_0:
            return store_codes(x, dim, head + first, stride,
                               reinterpret_cast<uint16_t*>(head + scale_offset) + slot);
        case KvType::q4_0:
            return store_nibbles(x, dim, head + first, stride,
                                 reinterpret_cast<uint16_t*>(head + scale_offset) + slot);
    }
}

}  // namespace

void append_kv(const Lane& lane, const KvPages& pages, const float* k, size_t k_stride,
               const float* v, size_t v_stride, uint32_t num_rows, uint32_t first_position,
               uint32_t num_kv_heads, uint32_t key_dim, uint32_t value_dim) {
    const KvType type = pages.type;
    const size_t value_row = kv_value_row(type, value_dim);
    const size_t key_rows = kv_key_rows(type, key_dim);
    const Lane::Range items = lane.share(num_kv_heads * num_rows);
    for (uint32_t item = items.begin; item < items.end; ++item) {
        const size_t head = item / num_rows, row = item % num_rows;
        const size_t position = first_position + row, slot = position % kKvPositions;
        const size_t block = pages.blocks[position / kKvPositions];
        store(type, k + row * k_stride + head * key_dim, key_dim,
              pages.keys + block * pages.key_block_stride + head * kv_key_head_bytes(type, key_dim),
              slot, kKvPositions, kv_element_bytes(type, key_rows), slot);
        store(type, v + row * v_stride + head * value_dim, value_dim,
              pages.values + block * pages.value_block_stride +
                  head * kv_value_head_bytes(type, value_dim),
              slot * value_row, 1, kv_element_bytes(type, value_row), slot);
    }
}

}  // namespace hokku::cpu
