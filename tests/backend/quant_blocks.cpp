// SPDX-License-Identifier: Apache-2.0
#include "backend/quant_blocks.h"

#include <cstring>

#include "backend/dequantize.h"
#include "support/random_blocks.h"

namespace hokku::testing {

namespace {

void put_u16(uint8_t* p, uint16_t value) {
    std::memcpy(p, &value, sizeof value);
}

/// f16 of +-2^-7 .. 2^-5.
uint16_t plain_half(std::mt19937& random) {
    const uint32_t sign = random() & 0x8000u;
    return static_cast<uint16_t>(sign | (0x2000u + random() % 0x0800u));
}

void fill_float_block(TensorType type, uint8_t* p, std::mt19937& random, BlockKind kind) {
    std::normal_distribution<float> normal;
    const bool is_large = kind == BlockKind::extreme && random() % 4 == 0;
    const float value = normal(random) * (is_large ? 3000.0f : 0.1f);
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if (type == TensorType::f32) std::memcpy(p, &bits, 4);
    if (type == TensorType::bf16) put_u16(p, static_cast<uint16_t>(bits >> 16));
    if (type == TensorType::f16) put_u16(p, plain_half(random));
}

void fill_block(TensorType type, uint8_t* p, size_t bytes, std::mt19937& random, BlockKind kind) {
    if (type == TensorType::f32 || type == TensorType::f16 || type == TensorType::bf16) {
        return fill_float_block(type, p, random, kind);
    }
    for (size_t i = 0; i < bytes; ++i) p[i] = static_cast<uint8_t>(random());
    if (kind == BlockKind::extreme && random() % 2 == 0) {
        std::memset(p, random() % 2 ? 0x00 : 0xff, bytes);
    }
    // 65504, -65504, the smallest subnormal, -1, 0.
    constexpr uint16_t kExtremes[] = {0x7bff, 0xfbff, 0x0001, 0xbc00, 0x0000};
    const HalfPlaces places = half_places(type);
    for (const int place : {places.first, places.second}) {
        if (place < 0) continue;
        const bool is_extreme = kind == BlockKind::extreme && random() % 2 == 0;
        put_u16(p + place, is_extreme ? kExtremes[random() % 5] : plain_half(random));
    }
    if (type == TensorType::mxfp4) {
        p[0] =
            static_cast<uint8_t>(kind == BlockKind::extreme ? random() % 140 : 115 + random() % 8);
    }
    if (type == TensorType::nvfp4) {
        for (int i = 0; i < 4; ++i) p[i] = static_cast<uint8_t>(random() % 0x7f);
    }
    if (type == TensorType::iq1_m) {  // The f16 scale is spread over four words.
        spread_iq1_m_scale(p, plain_half(random));
    }
}

}  // namespace

GuardedMatrix::GuardedMatrix(TensorType type, uint32_t rows, uint32_t cols, BlockKind kind,
                             uint32_t seed) {
    const TensorTypeTraits& traits = traits_of(type);
    const size_t row_bytes = cols / traits.block_values * traits.block_bytes;
    const size_t bytes = row_bytes * rows;
    memory_ = std::make_unique<GuardedMemory>(bytes);
    auto* data = reinterpret_cast<uint8_t*>(memory_->data());
    std::mt19937 random(seed);
    for (size_t offset = 0; offset < bytes; offset += traits.block_bytes) {
        fill_block(type, data + offset, traits.block_bytes, random, kind);
    }
    weight_ = {.data = reinterpret_cast<const std::byte*>(data),
               .type = type,
               .rows = rows,
               .cols = cols,
               .row_stride = row_bytes};
    values_.resize(size_t{rows} * cols);
    for (uint32_t r = 0; r < rows; ++r) {
        dequantize_row(type, weight_.data + r * row_bytes, cols, values_.data() + size_t{r} * cols);
    }
}

const std::vector<TensorType>& weight_types() {
    static const std::vector<TensorType> types = [] {
        std::vector<TensorType> found;
        for (uint32_t raw = 0; raw < 64; ++raw) {
            const auto traits = find_tensor_type(raw);
            if (traits && can_dequantize(traits->type)) found.push_back(traits->type);
        }
        return found;
    }();
    return types;
}

}  // namespace hokku::testing
