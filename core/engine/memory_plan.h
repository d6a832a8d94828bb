// SPDX-License-Identifier: Apache-2.0
// Memory plan: how many tokens of context a model gets on this machine, decided before any of the
// memory is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/system_memory.h"
#include "hokku/result.h"

namespace hokku {

inline constexpr uint32_t kDefaultContextTokens = 4096;
inline constexpr uint32_t kSmallestContextTokens = 256;  ///< That the engine chooses by itself.

/// Blocks for so many tokens, one or more: one more than they need, room for a copy.
uint64_t num_kv_blocks_for(uint64_t tokens, uint32_t block_tokens);
/// Of the memory that is available: a twentieth stays free for the rest of the process and for the
/// system.
uint64_t memory_budget(uint64_t available_bytes);

struct ContextRequest {
    std::optional<uint32_t> context_tokens = std::nullopt;  ///< As in LoadOptions.
    uint32_t trained_context = 0;                           ///< The model's own limit; 0: unknown.
    uint64_t kv_block_bytes = 0;
    uint32_t block_tokens = 0;
    uint64_t weight_bytes = 0;      ///< Of the file.
    uint64_t promised_bytes = 0;    ///< Of what is available: others will take it.
    bool is_weights_mapped = true;  ///< They lie in the page cache and can be dropped.
};

struct ContextPlan {
    uint32_t context_tokens = 0;
    uint32_t num_kv_blocks = 0;  ///< One more than the context needs: room for a copy.
    uint64_t kv_bytes = 0;
    std::string warning;  ///< Empty, or why it is not what was asked for.
};

/// Errors : limit_exceeded with the bytes wanted and available and the context that would fit.
Result<ContextPlan> plan_context(const ContextRequest& request, const SystemMemory& memory);

}  // namespace hokku
