// SPDX-License-Identifier: Apache-2.0
#include "engine/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backend/backend.h"
#include "hokku/devices.h"

namespace hokku {
namespace {

double in_mib(uint64_t bytes) {
    return static_cast<double>(bytes) / (1024.0 * 1024.0);
}

ContextPlan plan_of(const ContextRequest& request, uint32_t tokens) {
    ContextPlan plan;
    plan.context_tokens = tokens;
    plan.num_kv_blocks = static_cast<uint32_t>(num_kv_blocks_for(tokens, request.block_tokens));
    plan.kv_bytes = request.kv_block_bytes > UINT64_MAX / plan.num_kv_blocks
                        ? UINT64_MAX
                        : plan.num_kv_blocks * request.kv_block_bytes;
    return plan;
}

/// Most tokens whose KV fits into `budget` bytes; 0 when none do.
uint32_t tokens_within(const ContextRequest& request, uint64_t budget) {
    const uint64_t blocks = request.kv_block_bytes > 0 ? budget / request.kv_block_bytes : 0;
    if (blocks < 2) return 0;
    const uint64_t tokens = (blocks - 1) * request.block_tokens;
    return static_cast<uint32_t>(std::min<uint64_t>(tokens, UINT32_MAX / 2));
}

}  // namespace

uint64_t num_kv_blocks_for(uint64_t tokens, uint32_t block_tokens) {
    return (tokens - 1) / block_tokens + 2;
}

uint64_t memory_budget(uint64_t available_bytes) {
    return available_bytes - available_bytes / 20;
}

Result<ContextPlan> plan_context(const ContextRequest& request, const SystemMemory& memory) {
    const uint32_t limit =
        request.trained_context > 0 ? request.trained_context : kDefaultContextTokens;
    const bool is_chosen_here = !request.context_tokens.has_value();
    const uint32_t asked = request.context_tokens.value_or(kDefaultContextTokens);
    uint32_t tokens = asked == 0 ? limit : asked;
    std::string warning;
    if (request.trained_context > 0 && tokens > limit) {
        if (!is_chosen_here)
            warning =
                fmt::format("the model was trained for {} tokens; the context is that long", limit);
        tokens = limit;
    }
    ContextPlan plan = plan_of(request, tokens);
    plan.warning = std::move(warning);
    if (memory.available_bytes == 0) return plan;  // unknown: the allocation will tell

    uint64_t budget = memory_budget(memory.available_bytes);
    budget -= std::min(budget, request.promised_bytes);
    if (!request.is_weights_mapped) budget -= std::min(budget, request.weight_bytes);
    if (is_chosen_here) {
        // Mapped weights may be dropped and read again, but that is slow: leave them room, yet
        // take at least a quarter of what there is.
        const uint64_t beside_weights =
            request.is_weights_mapped ? budget - std::min(budget, request.weight_bytes) : budget;
        const uint64_t share = std::max(beside_weights, budget / 4);
        while (plan.kv_bytes > share && tokens > kSmallestContextTokens) {
            tokens = std::max(tokens / 2, kSmallestContextTokens);
            plan = plan_of(request, tokens);
            plan.warning = fmt::format(
                "the context is only {} tokens long: {:.0f} MiB of memory "
                "are available",
                tokens, in_mib(memory.available_bytes));
        }
    }
    if (plan.kv_bytes > budget) {
        const uint32_t fitting = tokens_within(request, budget);
        return Error{ErrorCode::limit_exceeded,
                     fmt::format("the KV cache of {} tokens takes {:.0f} MiB and {:.0f} MiB are "
                                 "available",
                                 tokens, in_mib(plan.kv_bytes), in_mib(budget)),
                     "context",
                     fitting > 0 ? fmt::format("at most {} tokens", fitting) : "more memory"};
    }
    return plan;
}

uint32_t automatic_context(const MemoryNeeds& needs) {
    const bool is_huge = needs.kv_bytes_per_token > UINT64_MAX / kKvBlockTokens;
    const ContextRequest request{
        .trained_context = needs.trained_context,
        .kv_block_bytes = is_huge ? UINT64_MAX : needs.kv_bytes_per_token * kKvBlockTokens,
        .block_tokens = kKvBlockTokens,
        .weight_bytes = needs.weight_bytes};
    const Result<ContextPlan> plan =
        plan_context(request, {.available_bytes = needs.available_bytes});
    if (plan.ok()) return plan->context_tokens;
    return needs.trained_context > 0 ? std::min(needs.trained_context, kSmallestContextTokens)
                                     : kSmallestContextTokens;
}

}  // namespace hokku
