// SPDX-License-Identifier: Apache-2.0
#include "engine/context_growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>

#include "base/try.h"
#include "engine/memory_plan.h"

namespace hokku {
namespace {

/// Of all ranks: those that share a KV head have it each.
uint64_t pool_block_bytes(const LoadedModel& loaded) {
    const uint64_t bytes = loaded.backend->info().kv_bytes / std::max(loaded.num_kv_blocks, 1u);
    return std::max(bytes, loaded.backend->kv_block_bytes());
}

/// KV blocks of a pool beside the old one, which is there until it is copied; nullopt: the
/// allocation will tell.
std::optional<uint64_t> blocks_that_fit(const LoadedModel& loaded, const SystemMemory& memory) {
    const bool is_known = memory.available_bytes > 0;
    const uint64_t budget = is_known ? memory_budget(memory.available_bytes) : UINT64_MAX;
    if (const auto blocks = loaded.backend->growth_blocks(budget)) return blocks;
    if (!is_known) return std::nullopt;
    return budget / pool_block_bytes(loaded);
}

Error cannot_grow(std::string why, uint32_t context_tokens) {
    return {ErrorCode::limit_exceeded, std::move(why), "context",
            fmt::format("{} tokens, as it is", context_tokens)};
}

}  // namespace

uint32_t longest_context(const LoadedModel& loaded) {
    const ModelInfo& info = loaded.info;
    uint32_t longest = info.trained_context > 0 ? info.trained_context : info.context_tokens;
    if (loaded.model == nullptr) return longest;
    for (const RopeSpec& rope : loaded.model->spec().ropes)
        if (!rope.long_inv_freq.empty() && info.context_tokens <= rope.long_above_context)
            longest = std::min(longest, rope.long_above_context);
    return longest;
}

Result<void> grow_context(ModelSession& session, uint32_t least_tokens,
                          const SystemMemory& memory) {
    LoadedModel& loaded = session.loaded;
    ModelInfo& info = loaded.info;
    if (loaded.backend->kv_block_bytes() == 0)
        return Error{ErrorCode::unsupported, "this device cannot make the context longer",
                     info.device, ""};
    const uint32_t longest = longest_context(loaded);
    uint64_t wanted = std::min<uint64_t>(
        longest, std::max<uint64_t>(uint64_t{2} * info.context_tokens, least_tokens));
    if (wanted <= info.context_tokens || wanted < least_tokens)
        return cannot_grow(
            fmt::format("the context cannot grow: the model goes up to {} tokens", longest),
            info.context_tokens);
    if (const auto fitting_blocks = blocks_that_fit(loaded, memory)) {
        const uint64_t fitting = *fitting_blocks;
        if (fitting < num_kv_blocks_for(wanted, kKvBlockTokens))
            wanted = fitting < 2 ? 0 : (fitting - 1) * kKvBlockTokens;
        if (wanted <= info.context_tokens || wanted < least_tokens)
            return cannot_grow(
                fmt::format("the context cannot grow: {} MiB of memory are available",
                            fitting * pool_block_bytes(loaded) >> 20),
                info.context_tokens);
    }
    const auto num_blocks = static_cast<uint32_t>(num_kv_blocks_for(wanted, kKvBlockTokens));
    // All memory first: the pool and the bookkeeping grow together or not at all.
    try {
        session.kv.prepare_growth(num_blocks);
        HOKKU_CHECK(loaded.backend->grow_kv(num_blocks));
        session.kv.grow(num_blocks);
    } catch (const std::bad_alloc&) {
        return Error{ErrorCode::out_of_memory, "the system has no memory for a longer context",
                     "context", fmt::format("{} tokens, as it is", info.context_tokens)};
    }
    loaded.num_kv_blocks = num_blocks;
    info.context_tokens = static_cast<uint32_t>(wanted);
    info.kv_bytes = loaded.backend->info().kv_bytes;
    if (session.draft) session.draft->grow(info.context_tokens);
    if (session.on_info_changed) session.on_info_changed();
    return {};
}

}  // namespace hokku
