// SPDX-License-Identifier: Apache-2.0
#include "gguf/tensor_type.h"

#include <array>

namespace hokku {

namespace {

// Source: GGUF specification, "ggml_type", and the block structures of ggml-common.h.
constexpr std::array kTraits = {
    TensorTypeTraits{TensorType::f32, "F32", 1, 4},
    TensorTypeTraits{TensorType::f16, "F16", 1, 2},
    TensorTypeTraits{TensorType::q4_0, "Q4_0", 32, 18},
    TensorTypeTraits{TensorType::q4_1, "Q4_1", 32, 20},
    TensorTypeTraits{TensorType::q5_0, "Q5_0", 32, 22},
    TensorTypeTraits{TensorType::q5_1, "Q5_1", 32, 24},
    TensorTypeTraits{TensorType::q8_0, "Q8_0", 32, 34},
    TensorTypeTraits{TensorType::q8_1, "Q8_1", 32, 36},
    TensorTypeTraits{TensorType::q2_k, "Q2_K", 256, 84},
    TensorTypeTraits{TensorType::q3_k, "Q3_K", 256, 110},
    TensorTypeTraits{TensorType::q4_k, "Q4_K", 256, 144},
    TensorTypeTraits{TensorType::q5_k, "Q5_K", 256, 176},
    TensorTypeTraits{TensorType::q6_k, "Q6_K", 256, 210},
    TensorTypeTraits{TensorType::q8_k, "Q8_K", 256, 292},
    TensorTypeTraits{TensorType::iq2_xxs, "IQ2_XXS", 256, 66},
    TensorTypeTraits{TensorType::iq2_xs, "IQ2_XS", 256, 74},
    TensorTypeTraits{TensorType::iq3_xxs, "IQ3_XXS", 256, 98},
    TensorTypeTraits{TensorType::iq1_s, "IQ1_S", 256, 50},
    TensorTypeTraits{TensorType::iq4_nl, "IQ4_NL", 32, 18},
    TensorTypeTraits{TensorType::iq3_s, "IQ3_S", 256, 110},
    TensorTypeTraits{TensorType::iq2_s, "IQ2_S", 256, 82},
    TensorTypeTraits{TensorType::iq4_xs, "IQ4_XS", 256, 136},
    TensorTypeTraits{TensorType::i8, "I8", 1, 1},
    TensorTypeTraits{TensorType::i16, "I16", 1, 2},
    TensorTypeTraits{TensorType::i32, "I32", 1, 4},
    TensorTypeTraits{TensorType::i64, "I64", 1, 8},
    TensorTypeTraits{TensorType::f64, "F64", 1, 8},
    TensorTypeTraits{TensorType::iq1_m, "IQ1_M", 256, 56},
    TensorTypeTraits{TensorType::bf16, "BF16", 1, 2},
    TensorTypeTraits{TensorType::tq1_0, "TQ1_0", 256, 54},
    TensorTypeTraits{TensorType::tq2_0, "TQ2_0", 256, 66},
    TensorTypeTraits{TensorType::mxfp4, "MXFP4", 32, 17},
    TensorTypeTraits{TensorType::nvfp4, "NVFP4", 64, 36},
    TensorTypeTraits{TensorType::q1_0, "Q1_0", 128, 18},
    TensorTypeTraits{TensorType::q2_0, "Q2_0", 64, 18},
};

constexpr uint32_t kNumIds = 43;
constexpr uint8_t kAbsent = 0xFF;

/// Place in kTraits of each raw id.
constexpr std::array<uint8_t, kNumIds> kPlaceOfId = [] {
    std::array<uint8_t, kNumIds> places{};
    places.fill(kAbsent);
    for (size_t i = 0; i < kTraits.size(); ++i)
        places[static_cast<uint32_t>(kTraits[i].type)] = static_cast<uint8_t>(i);
    return places;
}();

}  // namespace

std::optional<TensorTypeTraits> find_tensor_type(uint32_t raw_id) {
    if (raw_id >= kNumIds || kPlaceOfId[raw_id] == kAbsent) return std::nullopt;
    return kTraits[kPlaceOfId[raw_id]];
}

const TensorTypeTraits& traits_of(TensorType type) {
    return kTraits[kPlaceOfId[static_cast<uint32_t>(type)]];
}

}  // namespace hokku
