// SPDX-License-Identifier: Apache-2.0
// Models of any shape with random weights, written straight to a file: for head sizes that no
// golden model has, and large ones for speeds on GPUs. Their text is nonsense.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/tensor_type.h"

namespace hokku::testing {

struct SyntheticShape {
    std::string architecture = "llama";  ///< llama, qwen2, qwen3 or gemma2.
    uint32_t num_layers = 2, dim = 256, num_heads = 4, num_kv_heads = 2, head_dim = 64;
    uint32_t hidden = 512, num_vocab = 512, context = 4096;
    bool is_tied = false;
    float key_bias = 0;  ///< Largest of q and k; 0: no biases.
    /// Of the matrices; with q4_k those of Q4_K_M: v and down of half of the layers and the head
    /// are q6_k.
    TensorType type = TensorType::f32;
    uint32_t seed = 1;
};

/// "qwen2.5-0.5b", "llama-3.2-1b", "llama-3.1-8b": their shapes in Q4_K_M.
std::optional<SyntheticShape> find_synthetic_shape(std::string_view name);

/// Types: f32, f16, bf16, q4_k, q6_k, q8_0. Throws where the file cannot be written.
void write_synthetic_model(const std::filesystem::path& path, const SyntheticShape& shape);

}  // namespace hokku::testing
