// SPDX-License-Identifier: Apache-2.0
#include "backend/dequantize.h"

#include "backend/dequantize_blocks.h"
#include "backend/dequantize_codebooks.h"

namespace hokku {

namespace {

using DecodeRow = void (*)(const uint8_t* src, size_t n, float* dst);

template <class Block>
void decode_row(const uint8_t* src, size_t n, float* dst) {
    for (size_t i = 0; i < n; i += Block::kValues, src += Block::kBytes) {
        Block::decode(src, dst + i);
    }
}

DecodeRow decoder_of(TensorType type) {
    switch (type) {
        case TensorType::f32:
            return decode_row<blocks::F32>;
        case TensorType::f16:
            return decode_row<blocks::F16>;
        case TensorType::bf16:
            return decode_row<blocks::BF16>;
        case TensorType::q4_0:
            return decode_row<blocks::Q4_0>;
        case TensorType::q4_1:
            return decode_row<blocks::Q4_1>;
        case TensorType::q5_0:
            return decode_row<blocks::Q5_0>;
        case TensorType::q5_1:
            return decode_row<blocks::Q5_1>;
        case TensorType::q8_0:
            return decode_row<blocks::Q8_0>;
        case TensorType::q2_k:
            return decode_row<blocks::Q2_K>;
        case TensorType::q3_k:
            return decode_row<blocks::Q3_K>;
        case TensorType::q4_k:
            return decode_row<blocks::Q4_K>;
        case TensorType::q5_k:
            return decode_row<blocks::Q5_K>;
        case TensorType::q6_k:
            return decode_row<blocks::Q6_K>;
        case TensorType::iq1_m:
            return decode_row<blocks::IQ1_M>;
        case TensorType::iq1_s:
            return decode_row<blocks::IQ1_S>;
        case TensorType::iq2_s:
            return decode_row<blocks::IQ2_S>;
        case TensorType::iq2_xs:
            return decode_row<blocks::IQ2_XS>;
        case TensorType::iq2_xxs:
            return decode_row<blocks::IQ2_XXS>;
        case TensorType::iq3_s:
            return decode_row<blocks::IQ3_S>;
        case TensorType::iq3_xxs:
            return decode_row<blocks::IQ3_XXS>;
        case TensorType::iq4_nl:
            return decode_row<blocks::IQ4_NL>;
        case TensorType::iq4_xs:
            return decode_row<blocks::IQ4_XS>;
        case TensorType::mxfp4:
            return decode_row<blocks::MXFP4>;
        case TensorType::nvfp4:
            return decode_row<blocks::NVFP4>;
        case TensorType::q1_0:
            return decode_row<blocks::Q1_0>;
        case TensorType::q2_0:
            return decode_row<blocks::Q2_0>;
        case TensorType::tq1_0:
            return decode_row<blocks::TQ1_0>;
        case TensorType::tq2_0:
            return decode_row<blocks::TQ2_0>;
        default:
            return nullptr;
    }
}

}  // namespace

bool can_dequantize(TensorType type) {
    return decoder_of(type) != nullptr;
}

void dequantize_row(TensorType type, const std::byte* src, size_t n, float* dst) {
    if (const DecodeRow decode = decoder_of(type)) {
        decode(reinterpret_cast<const uint8_t*>(src), n, dst);
    }
}

}  // namespace hokku
