// SPDX-License-Identifier: Apache-2.0
// Saved chats: moves the KV of a text between the cache of a loaded model and a file.
#pragma once

#include <filesystem>
#include <span>
#include <stop_token>
#include <string_view>

#include "engine/model_session.h"
#include "hokku/engine.h"
#include "kv/kv_file.h"

namespace hokku {

/// What a file must agree with to be of use to this model as it is loaded.
KvFileModel describe_kv(const LoadedModel& loaded);

/// Engine::save_chat and Engine::restore_chat.
/// Threads: the inference thread only.
Result<SavedChat> save_chat(ModelSession& session, const std::filesystem::path& path,
                            std::span<const TokenId> tokens, std::string_view note,
                            const std::stop_token& stop);
Result<SavedChat> restore_chat(ModelSession& session, const std::filesystem::path& path,
                               Overflow overflow, const std::stop_token& stop);

}  // namespace hokku
