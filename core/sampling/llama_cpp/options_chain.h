// SPDX-License-Identifier: Apache-2.0
// The chain that llama.cpp's own programs make of sampling options.
#pragma once

#include <vector>

#include "hokku/llama_sampling.h"
#include "hokku/sampling.h"

namespace hokku::llama_cpp {

/// Logit bias, the steps in their order (with Mirostat the temperature alone), then a draw.
/// `breakers` are those of DRY. Seed and sizes are left to the caller.
///
/// Source : common_sampler_init in llama.cpp's common/sampling.cpp.
std::vector<Element> chain_of(const SamplingOptions& options, uint32_t max_history,
                              std::vector<std::vector<TokenId>> breakers);

}  // namespace hokku::llama_cpp
