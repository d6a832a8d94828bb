// SPDX-License-Identifier: Apache-2.0
// ChatCache: the folder where saved contexts of chats (Engine::save_chat) are kept, and the limit
// on what they take together. It is a cache: what is gone is evaluated again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "hokku/result.h"

namespace hokku {

/// $HOKKU_HOME/cache, else $XDG_CACHE_HOME/hokku, else ~/.cache/hokku; on Windows
/// $HOKKU_HOME/cache, else %LOCALAPPDATA%/hokku/cache. Need not exist yet. Errors : io when none of
/// the variables is set.
Result<std::filesystem::path> cache_folder();

/// A name that people give to a chat, as the name of a file on any system: up to 100 bytes of
/// UTF-8, without separators, wildcards, control characters, a dot at either end, or the names of
/// devices.
/// Errors : bad_argument saying what is wrong with it.
Result<void> check_chat_name(std::string_view name);

/// Whether Engine::save_chat() would write to this file: nothing is there, or a saved chat. What
/// people may miss is never replaced.
/// Errors : bad_argument naming what is there.
Result<void> check_chat_target(const std::filesystem::path& file);

/// Threads: one thread at a time; several processes may use one folder.
class ChatCache {
  public:
    static constexpr uint64_t kDefaultLimitBytes = uint64_t{4} << 30;

    /// Makes the folder where it is missing, for its owner alone.
    /// Errors : io.
    static Result<ChatCache> open(const std::filesystem::path& folder,
                                  uint64_t limit_bytes = kDefaultLimitBytes);
    /// The same in cache_folder()/chats.
    static Result<ChatCache> open_default(uint64_t limit_bytes = kDefaultLimitBytes);

    /// Where the context of the chat of this name is kept.
    /// Errors : bad_argument (check_chat_name).
    [[nodiscard]] Result<std::filesystem::path> path_of(std::string_view name) const;
    /// Notes that the file was used now.
    void touch(const std::filesystem::path& file) const;
    /// Removes the files that were used longest ago until the rest is within the limit; leftovers
    /// of writers that died, too. Returns the bytes that are left.
    uint64_t trim() const;

    [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  private:
    ChatCache(std::filesystem::path folder, uint64_t limit_bytes)
        : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}
    std::filesystem::path folder_;
    uint64_t limit_bytes_;
};

}  // namespace hokku
