// SPDX-License-Identifier: Apache-2.0
#include "support/random_blocks.h"

#include <cmath>
#include <vector>

#include "backend/dequantize.h"
#include "backend/half.h"

namespace hokku::testing {

namespace {

void put_half(char* at, float value) {
    const uint16_t half = float_to_half(value);
    std::memcpy(at, &half, 2);
}

}  // namespace

HalfPlaces half_places(TensorType type) {
    switch (type) {
        case TensorType::q4_1:
        case TensorType::q5_1:
        case TensorType::q4_k:
        case TensorType::q5_k:
            return {0, 2};
        case TensorType::q2_k:
            return {80, 82};
        case TensorType::q3_k:
            return {108, -1};
        case TensorType::q6_k:
            return {208, -1};
        case TensorType::tq1_0:
            return {52, -1};
        case TensorType::tq2_0:
            return {64, -1};
        case TensorType::mxfp4:
        case TensorType::nvfp4:
        case TensorType::iq1_m:
        case TensorType::f32:
        case TensorType::f16:
        case TensorType::bf16:
            return {};
        default:
            return {0, -1};
    }
}

void spread_iq1_m_scale(uint8_t* block, uint16_t half) {
    for (int i = 0; i < 4; ++i) {
        uint16_t word;
        std::memcpy(&word, block + 48 + 2 * i, 2);
        word = static_cast<uint16_t>((word & 0x0fff) | (half >> (4 * i) & 15) << 12);
        std::memcpy(block + 48 + 2 * i, &word, 2);
    }
}

RandomBlocks::RandomBlocks(TensorType type, float deviation) : type_(type), deviation_(deviation) {
    switch (type) {
        case TensorType::f32:
        case TensorType::f16:
        case TensorType::bf16:
        case TensorType::q4_k:
        case TensorType::q6_k:
        case TensorType::q8_0:
            return;  // Known.
        case TensorType::mxfp4:
        case TensorType::nvfp4: {
            // One byte of exponent and, of nvfp4, mantissa: the one that comes closest.
            double best = INFINITY;
            float found = 0;
            for (float code = 1; code < 127; ++code) {
                const double off = std::abs(std::log(measure(code, 0).deviation / deviation));
                if (off < best) best = off, found = code;
            }
            first_ = found;
            return;
        }
        default: {
            const double mean = measure(1, 0).mean;
            if (half_places(type).second >= 0)
                second_ = static_cast<float>(-mean / measure(0, 1).mean);
            const double scale = deviation / measure(1, second_).deviation;
            first_ = static_cast<float>(scale);
            second_ *= first_;
        }
    }
}

RandomBlocks::Moments RandomBlocks::measure(float first, float second) const {
    constexpr uint32_t kBlocks = 32;
    const TensorTypeTraits& traits = traits_of(type_);
    std::vector<char> blocks(size_t{kBlocks} * traits.block_bytes);
    Random random(1);
    for (uint32_t i = 0; i < kBlocks; ++i)
        write_scaled(random, blocks.data() + size_t{i} * traits.block_bytes, first, second);
    std::vector<float> values(size_t{kBlocks} * traits.block_values);
    dequantize_row(type_, reinterpret_cast<const std::byte*>(blocks.data()), values.size(),
                   values.data());
    double sum = 0, squares = 0;
    for (const float value : values) {
        sum += double{value};
        squares += double{value} * double{value};
    }
    const auto n = static_cast<double>(values.size());
    return {sum / n, std::sqrt(squares / n)};
}

void RandomBlocks::write_scaled(Random& random, char* out, float first, float second) const {
    random.fill(out, traits_of(type_).block_bytes);
    // Of two bits, 3 is 1: codes around 1 then have no mean.
    if (type_ == TensorType::q2_0 || type_ == TensorType::tq2_0) {
        for (char* byte = out; byte < out + traits_of(type_).block_bytes; ++byte)
            *byte = static_cast<char>(*byte ^ (*byte & *byte >> 1 & 0x55) << 1);
    }
    const HalfPlaces places = half_places(type_);
    if (places.first >= 0) put_half(out + places.first, first);
    if (places.second >= 0) put_half(out + places.second, second);
    if (type_ == TensorType::iq1_m)
        spread_iq1_m_scale(reinterpret_cast<uint8_t*>(out), float_to_half(first));
    if (type_ == TensorType::mxfp4) out[0] = static_cast<char>(first);
    if (type_ == TensorType::nvfp4) std::memset(out, static_cast<int>(first), 4);
}

void RandomBlocks::write(Random& random, char* out) const {
    const size_t bytes = traits_of(type_).block_bytes;
    switch (type_) {
        case TensorType::q4_k: {  // f16 d, dmin; u8 scales[12]; u8 codes[128]
            random.fill(out, bytes);
            // All scales and minima are 32: six bits each. The first eight bytes hold those of the
            // first four and the upper two bits of the others, whose lower four follow.
            std::memset(out + 4, 32 | 2 << 6, 8);
            std::memset(out + 12, 0, 4);
            const float d = deviation_ / (32 * 4.61f);
            put_half(out, d);
            put_half(out + 2, d * 7.5f);
            return;
        }
        case TensorType::q6_k: {  // u8 low[128]; u8 high[64]; i8 scales[16]; f16 d
            random.fill(out, bytes);
            std::memset(out + 192, 32, 16);
            put_half(out + 208, deviation_ / (32 * 18.5f));
            return;
        }
        case TensorType::q8_0: {  // f16 d; i8 codes[32]
            random.fill(out, bytes);
            put_half(out, deviation_ / 73.9f);
            return;
        }
        case TensorType::f16:
            return put_half(out, random.signed_unit() * 1.732f * deviation_);
        case TensorType::bf16: {  // The upper half of a float32, which comes last.
            const float value = random.signed_unit() * 1.732f * deviation_;
            std::memcpy(out, reinterpret_cast<const char*>(&value) + 2, 2);
            return;
        }
        case TensorType::f32: {
            const float value = random.signed_unit() * 1.732f * deviation_;
            std::memcpy(out, &value, sizeof value);
            return;
        }
        default:
            write_scaled(random, out, first_, second_);
    }
}

}  // namespace hokku::testing
