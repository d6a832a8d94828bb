// SPDX-License-Identifier: Apache-2.0
// Weights: the tensors of a model bound to named slots, each checked against the ModelSpec.
// Views into the mapped file; nothing is copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gguf/tensor_type.h"

namespace hokku {

/// A weight as it lies in the file: `rows` (out_features) rows of `cols` (in_features) values,
/// each row a whole number of blocks. data is null for an absent tensor. A slice of columns has
/// shorter rows that lie as far apart as those of the whole.
struct WeightMatrix {
    const std::byte* data = nullptr;
    TensorType type = TensorType::f32;
    uint32_t rows = 0, cols = 0;
    size_t row_stride = 0;  ///< Bytes from one row to the next.

    explicit operator bool() const { return data != nullptr; }
    /// Bytes of `count` values of a row, a whole number of blocks.
    [[nodiscard]] size_t bytes_of(size_t count) const {
        const TensorTypeTraits& traits = traits_of(type);
        return count / traits.block_values * traits.block_bytes;
    }
    [[nodiscard]] size_t row_bytes() const { return bytes_of(cols); }
};

/// A vector of f32 (norm weights, biases), as it lies in the file (4-byte aligned).
struct WeightVector {
    const float* data = nullptr;
    uint32_t size = 0;
    explicit operator bool() const { return data != nullptr; }
};

/// Slices of what is there; an absent weight stays absent. Columns are cut between blocks.
WeightMatrix rows_of(const WeightMatrix& matrix, uint32_t first, uint32_t count);
WeightMatrix columns_of(const WeightMatrix& matrix, uint32_t first, uint32_t count);
WeightVector part_of(const WeightVector& vector, uint32_t first, uint32_t count);

/// Weight and, for LayerNorm, bias (which may be absent).
struct NormWeights {
    WeightVector weight, bias;
    explicit operator bool() const { return static_cast<bool>(weight); }
};

/// Slots that a layer does not have are null. Biases are bound wherever the file has them.
struct LayerWeights {
    NormWeights mixer_norm, mixer_post_norm, ffn_norm, ffn_post_norm;
    WeightMatrix wq, wk, wv, wo;  ///< Fused files: wq, wk, wv are row slices of one tensor.
    WeightVector bq, bk, bv, bo;
    NormWeights q_norm, k_norm;
    WeightVector sinks;           ///< [num_heads]
    WeightMatrix gate, up, down;  ///< Dense FFN; gate and up may be slices of a fused tensor.
    WeightVector b_gate, b_up, b_down;
    WeightMatrix router;                 ///< [num_experts, dim]
    WeightVector router_bias;            ///< [num_experts], added to the router's logits.
    WeightVector router_selection_bias;  ///< [num_experts], for choosing only.
    std::vector<WeightMatrix> expert_gate, expert_up, expert_down;        ///< One per expert.
    std::vector<WeightVector> b_expert_gate, b_expert_up, b_expert_down;  ///< Empty: none.
    WeightMatrix shared_gate, shared_up, shared_down;
    WeightMatrix shared_router;  ///< [1, dim], sigmoid gate of the shared expert.
};

struct Weights {
    WeightMatrix embedding;  ///< [num_vocab, dim]
    WeightMatrix positions;  ///< [num_learned_positions, dim] or null.
    WeightMatrix head;       ///< [num_vocab, dim]; the embedding itself when tied.
    WeightVector head_bias;
    NormWeights final_norm;
    std::vector<LayerWeights> layers;
};

/// Bytes of all that is bound; a tied head counts once.
uint64_t weight_bytes(const Weights& weights);

}  // namespace hokku
