// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <algorithm>
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

Result<std::vector<ChatMessage>> as_messages(const Json& json, const fs::path& path) {
    std::vector<ChatMessage> messages;
    if (!json.is_array()) return wrong_file(path, "a list of messages");
    for (const Json& message : json) {
        const bool is_right = message.is_object() && message.contains("role") &&
                              message["role"].is_string() && message.contains("content") &&
                              message["content"].is_string();
        if (!is_right) return wrong_file(path, "messages with \"role\" and \"content\"");
        messages.push_back(
            {message["role"].get<std::string>(), message["content"].get<std::string>()});
        const auto thought = message.find("thought");
        if (thought != message.end() && thought->is_string())
            messages.back().thought = thought->get<std::string>();
    }
    return messages;
}

Json as_json(const std::vector<ChatMessage>& messages) {
    Json list = Json::array();
    for (const ChatMessage& message : messages) {
        list.push_back({{"role", message.role}, {"content", message.content}});
        if (!message.thought.empty()) list.back()["thought"] = message.thought;
    }
    return list;
}

bool is_same(const std::vector<ChatMessage>& a, const std::vector<ChatMessage>& b) {
    return std::equal(
        a.begin(), a.end(), b.begin(), b.end(), [](const ChatMessage& x, const ChatMessage& y) {
            return x.role == y.role && x.content == y.content && x.thought == y.thought;
        });
}

Result<Conversation> as_conversation(const Json& json, const fs::path& path) {
    Conversation conversation;
    if (!json.is_object() || !json.contains("messages"))
        return wrong_file(path, "an object with \"messages\"");
    const Json system = json.value("system", Json(""));
    if (!system.is_string()) return wrong_file(path, "a string under \"system\"");
    conversation.system = system.get<std::string>();
    Result<std::vector<ChatMessage>> messages = as_messages(json["messages"], path);
    if (!messages) return messages.error();
    conversation.messages = std::move(*messages);
    Result<std::vector<ChatMessage>> context =
        as_messages(json.contains("context") ? json["context"] : json["messages"], path);
    if (!context) return context.error();
    conversation.context = std::move(*context);
    return conversation;
}

}  // namespace

void Conversation::add(ChatMessage message) {
    context.push_back(message);
    messages.push_back(std::move(message));
}

void Conversation::remove_last() {
    messages.pop_back();
    context.pop_back();
}

std::vector<ChatMessage> Conversation::prompt() const {
    std::vector<ChatMessage> prompt = context;
    if (!system.empty()) prompt.insert(prompt.begin(), {"system", system});
    return prompt;
}

void Conversation::set_prompt(std::vector<ChatMessage> remaining) {
    if (!system.empty()) remaining.erase(remaining.begin());
    context = std::move(remaining);
}

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
    Json json = {{"system", conversation.system}, {"messages", as_json(conversation.messages)}};
    if (!is_same(conversation.messages, conversation.context)) {
        json["context"] = as_json(conversation.context);
    }
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

void Session::restore_context(Engine& engine, Overflow overflow) const {
    std::error_code error;
    if (!fs::exists(context_, error)) return;
    cache_.touch(context_);
    const Result<SavedChat> restored = engine.restore_chat(context_, overflow);
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
