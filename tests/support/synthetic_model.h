// SPDX-License-Identifier: Apache-2.0
// Models of any shape and weight type with random weights, written straight to a file: for what no
// golden model has, for machines that have no golden models, and large ones for speeds on GPUs.
// Their text is nonsense.
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
    /// llama, qwen2, qwen3, qwen3moe, gemma2, gemma3, stablelm, phi2 or gpt-oss.
    std::string architecture = "llama";
    uint32_t num_layers = 2, dim = 256, num_heads = 4, num_kv_heads = 2, head_dim = 64;
    uint32_t hidden = 512, num_vocab = 512, context = 4096;
    bool is_tied = false;
    float key_bias = 0;                              ///< Largest of q and k; 0: no biases.
    uint32_t num_experts = 0, num_experts_used = 0;  ///< 0: a dense FFN. `hidden` of each.
    uint32_t window = 0;                             ///< Of the layers that slide; 0: none does.
    uint32_t rope_dims = 0;                          ///< Of each head; 0: all.
    /// Of the matrices; with q4_k those of Q4_K_M: v and down of half of the layers and the head
    /// are q6_k.
    TensorType type = TensorType::f32;
    uint32_t seed = 1;
};

/// "qwen2.5-0.5b", "llama-3.2-1b", "llama-3.1-8b": their shapes in Q4_K_M.
std::optional<SyntheticShape> find_synthetic_shape(std::string_view name);

/// Throws where the file cannot be written.
void write_synthetic_model(const std::filesystem::path& path, const SyntheticShape& shape);

}  // namespace hokku::testing
