// SPDX-License-Identifier: Apache-2.0
// A chat with a name: its conversation in the data folder, for good, and its context in the cache
// folder, as long as there is room.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hokku/chat_cache.h"
#include "hokku/engine.h"
#include "hokku/file_lock.h"

namespace hokku::cli {

struct Conversation {
    std::string system;
    std::vector<ChatMessage> messages;  ///< All that was said, without the system message.
    std::vector<ChatMessage> context;   ///< What of it the model is still given.

    void add(ChatMessage message);
    /// What a person says: with what they said before, if that was never answered.
    void add_question(const std::string& text);
    void remove_last();
    /// The last message waits for its answer.
    [[nodiscard]] bool is_unanswered() const;
    /// What the model is given, the system message in front.
    [[nodiscard]] std::vector<ChatMessage> prompt() const;
    /// What remained of prompt() when turns were dropped.
    void set_prompt(std::vector<ChatMessage> remaining);
};

class Session {
  public:
    /// Makes the folders where they are missing. Without one for the cache, or without a lock, the
    /// chat goes on, with a message.
    /// Errors : bad_argument (the name); io where the folder cannot be entered or another process
    ///          has the chat open.
    static Result<Session> open(const std::string& name, uint64_t cache_bytes);

    /// nullopt when there is no conversation of that name yet.
    /// Errors : io; bad_format (the file is not one of a conversation).
    [[nodiscard]] Result<std::optional<Conversation>> load() const;
    /// In place of what was there before, all or nothing.
    [[nodiscard]] Result<void> save(const Conversation& conversation) const;

    /// What goes wrong with the context costs time, not text: it is a message, no failure.
    void restore_context(Engine& engine, Overflow overflow) const;
    void save_context(Engine& engine, const std::vector<TokenId>& tokens) const;
    /// What was said must not stay there when the conversation is forgotten.
    void forget_context() const;

  private:
    /// Where contexts are kept.
    struct Cache {
        ChatCache folder;
        std::filesystem::path file;
    };
    explicit Session(std::filesystem::path file) : file_(std::move(file)) {}
    std::filesystem::path file_;
    std::optional<FileLock> lock_;  ///< Absent where there are none, which is said.
    std::optional<Cache> cache_;
};

}  // namespace hokku::cli
