// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "console.h"
#include "hokku/library.h"

namespace hokku::cli {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

Error wrong_file(const fs::path& path, const char* expected) {
    return {ErrorCode::bad_format, "this is not a saved conversation", path.string(), expected};
}

Result<Conversation> as_conversation(const Json& json, const fs::path& path) {
    Conversation conversation;
    if (!json.is_object() || !json.contains("messages") || !json["messages"].is_array())
        return wrong_file(path, "an object with \"messages\"");
    const Json system = json.value("system", Json(""));
    if (!system.is_string()) return wrong_file(path, "a string under \"system\"");
    conversation.system = system.get<std::string>();
    for (const Json& message : json["messages"]) {
        const bool is_right = message.is_object() && message.contains("role") &&
                              message["role"].is_string() && message.contains("content") &&
                              message["content"].is_string();
        if (!is_right) return wrong_file(path, "messages with \"role\" and \"content\"");
        conversation.messages.push_back(
            {message["role"].get<std::string>(), message["content"].get<std::string>()});
        const auto thought = message.find("thought");
        if (thought != message.end() && thought->is_string())
            conversation.messages.back().thought = thought->get<std::string>();
    }
    return conversation;
}

}  // namespace

Result<Session> Session::open(const std::string& name, uint64_t cache_bytes) {
    Result<ChatCache> cache = ChatCache::open_default(cache_bytes);
    if (!cache) return cache.error();
    Result<fs::path> context = cache->path_of(name);
    if (!context) return context.error();
    Result<fs::path> data = data_folder();
    if (!data) return data.error();
    const fs::path folder = *data / "chats";
    std::error_code error;
    if (fs::create_directories(folder, error)) {
        fs::permissions(folder, fs::perms::owner_all, error);
    }
    if (error) {
        return Error{ErrorCode::io, "the folder for chats cannot be made: " + error.message(),
                     folder.string(), ""};
    }
    fs::path file = folder / context->stem();
    file += ".json";
    return Session(std::move(file), std::move(*context), std::move(*cache));
}

Result<std::optional<Conversation>> Session::load() const {
    std::error_code error;
    if (!fs::exists(file_, error)) return std::optional<Conversation>();
    Result<std::string> text = read_file(file_);
    if (!text) return text.error();
    Result<Json> json = parse_json(*text, file_.string());
    if (!json) return Error{ErrorCode::bad_format, json.error().what, file_.string(), "JSON"};
    Result<Conversation> conversation = as_conversation(*json, file_);
    if (!conversation) return conversation.error();
    return std::optional<Conversation>(std::move(*conversation));
}

Result<void> Session::save(const Conversation& conversation) const {
    Json messages = Json::array();
    for (const ChatMessage& message : conversation.messages) {
        messages.push_back({{"role", message.role}, {"content", message.content}});
        if (!message.thought.empty()) messages.back()["thought"] = message.thought;
    }
    const Json json = {{"system", conversation.system}, {"messages", std::move(messages)}};
    fs::path part = file_;
    part += ".part";
    std::ofstream file(part, std::ios::binary);
    std::error_code error;
    fs::permissions(part, fs::perms::owner_read | fs::perms::owner_write, error);
    file << json.dump(1, ' ', false, Json::error_handler_t::replace) << '\n';
    file.close();
    if (file) fs::rename(part, file_, error);
    if (file && !error) return {};
    return Error{ErrorCode::io,
                 "the conversation cannot be saved" + (error ? ": " + error.message() : ""),
                 file_.string(), ""};
}

void Session::restore_context(Engine& engine) const {
    std::error_code error;
    if (!fs::exists(context_, error)) return;
    cache_.touch(context_);
    const Result<SavedChat> restored = engine.restore_chat(context_);
    if (!restored) {
        write_message("the conversation will be read again: " + restored.error().message());
    }
}

void Session::save_context(Engine& engine, const std::vector<TokenId>& tokens) const {
    const Result<SavedChat> saved = engine.save_chat(context_, tokens);
    if (!saved) write_message("the context is not saved: " + saved.error().message());
    cache_.trim();
}

}  // namespace hokku::cli
