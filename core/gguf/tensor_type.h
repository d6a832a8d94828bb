// SPDX-License-Identifier: Apache-2.0
// The ggml tensor types by their file ids, with the sizes of their blocks. Not the kernels: how
// the bits of a block are laid out is in backend/dequantize.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hokku {

/// Ids as in the GGUF specification (ggml.h, enum ggml_type). Removed ids are absent.
enum class TensorType : uint32_t {
    f32 = 0,
    f16 = 1,
    q4_0 = 2,
    q4_1 = 3,
    q5_0 = 6,
    q5_1 = 7,
    q8_0 = 8,
    q8_1 = 9,
    q2_k = 10,
    q3_k = 11,
    q4_k = 12,
    q5_k = 13,
    q6_k = 14,
    q8_k = 15,
    iq2_xxs = 16,
    iq2_xs = 17,
    iq3_xxs = 18,
    iq1_s = 19,
    iq4_nl = 20,
    iq3_s = 21,
    iq2_s = 22,
    iq4_xs = 23,
    i8 = 24,
    i16 = 25,
    i32 = 26,
    i64 = 27,
    f64 = 28,
    iq1_m = 29,
    bf16 = 30,
    tq1_0 = 34,
    tq2_0 = 35,
    mxfp4 = 39,
    nvfp4 = 40,
    q1_0 = 41,
    q2_0 = 42,
};

struct TensorTypeTraits {
    TensorType type;
    std::string_view name;  ///< As in ggml, upper case: "Q4_K".
    uint32_t block_values;  ///< Values per block.
    uint32_t block_bytes;   ///< Bytes per block.
};

/// Traits of a raw file id; nullopt for ids that are unknown or were removed.
std::optional<TensorTypeTraits> find_tensor_type(uint32_t raw_id);

/// Traits of a known type.
const TensorTypeTraits& traits_of(TensorType type);

}  // namespace hokku
