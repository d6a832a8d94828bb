// SPDX-License-Identifier: Apache-2.0
// The random numbers of llama.cpp: std::mt19937, turned into real numbers and choices the way GNU's
// standard library does it, on every compiler.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "sampling/llama_cpp/token_array.h"

namespace hokku::llama_cpp {

/// Threads: one thread at a time. No allocation after construction.
class RandomNumbers {
  public:
    RandomNumbers(uint32_t seed, size_t num_vocab) : engine_(seed) { sums_.reserve(num_vocab); }

    /// std::uniform_real_distribution<float>(0, 1).
    float next_float();
    /// std::uniform_real_distribution<double>(0, 1).
    double next_double();
    /// std::discrete_distribution over the tokens' p: an index. One token needs no number.
    size_t next_index(std::span<const TokenData> tokens);

  private:
    std::mt19937 engine_;
    std::vector<double> sums_;
};

}  // namespace hokku::llama_cpp
