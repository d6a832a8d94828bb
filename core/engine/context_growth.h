// SPDX-License-Identifier: Apache-2.0
// Context growth: makes the context of a loaded model longer. What is cached stays.
#pragma once

#include <cstdint>

#include "engine/model_session.h"
#include "engine/system_memory.h"
#include "hokku/result.h"

namespace hokku {

/// The longest context that the model and what is stored of it allow: not beyond the length that it
/// was trained for (where that is unknown its present one), nor to where LongRoPE takes other
/// angles.
uint32_t longest_context(const LoadedModel& loaded);

/// To twice its length, or to `least_tokens` if that is more, as far as the model and the memory
/// allow.
///
/// Errors : limit_exceeded (at the model's own length, at the length where LongRoPE takes other
///          angles, no memory), unsupported (device): the context is as it was.
/// Threads: the inference thread only, between steps.
/// Cost   : copies the KV pool, which is there twice meanwhile.
Result<void> grow_context(ModelSession& session, uint32_t least_tokens, const SystemMemory& memory);

}  // namespace hokku
