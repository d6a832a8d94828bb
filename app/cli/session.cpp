// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "console.h"
#include "hokku/library.h"
#include "hokku/replace_file.h"

namespace hokku::cli {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kWayOut =
    "what hokku wrote: mend the file, move it away to begin anew, or take another --session name";

Error wrong_file(const fs::path& path, const std::string& what) {
    return {ErrorCode::bad_format, "the saved chat cannot be read: " + what, path_utf8(path),
            kWayOut};
}

/// What is not known would be lost when the file is written again.
Result<void> check_keys(const Json& object, std::initializer_list<std::string_view> known,
                        const std::string& where, const fs::path& path) {
    for (const auto& [key, value] : object.items()) {
        if (std::find(known.begin(), known.end(), key) == known.end())
            return wrong_file(path, where + " has an unknown entry \"" + key + "\"");
    }
    return {};
}

Result<ChatMessage> as_message(const Json& json, const std::string& where, const fs::path& path) {
    if (!json.is_object()) return wrong_file(path, where + " is no object");
    for (const char* key : {"role", "content", "thought"}) {
        const auto entry = json.find(key);
        const bool may_miss = std::string_view(key) == "thought";
        if (entry == json.end() ? !may_miss : !entry->is_string())
            return wrong_file(path, where + " has no text under \"" + key + "\"");
    }
    Result<void> known = check_keys(json, {"role", "content", "thought"}, where, path);
    if (!known) return known.error();
    ChatMessage message{.role = json["role"].get<std::string>(),
                        .content = json["content"].get<std::string>()};
    message.thought = json.value("thought", "");
    constexpr std::string_view kRoles[] = {"user", "assistant", "system", "tool"};
    if (std::find(std::begin(kRoles), std::end(kRoles), message.role) == std::end(kRoles))
        return wrong_file(path, where + " has the unknown role \"" + message.role + "\"");
    return message;
}

Result<std::vector<ChatMessage>> as_messages(const Json& json, const std::string& name,
                                             const fs::path& path) {
    std::vector<ChatMessage> messages;
    if (!json.is_array()) return wrong_file(path, "\"" + name + "\" is no list");
    for (size_t i = 0; i < json.size(); ++i) {
        Result<ChatMessage> message =
            as_message(json[i], name + "[" + std::to_string(i) + "]", path);
        if (!message) return message.error();
        messages.push_back(std::move(*message));
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
        return wrong_file(path, "there are no \"messages\"");
    Result<void> known = check_keys(json, {"system", "messages", "context"}, "it", path);
    if (!known) return known.error();
    const Json system = json.value("system", Json(""));
    if (!system.is_string()) return wrong_file(path, "\"system\" is no text");
    conversation.system = system.get<std::string>();
    Result<std::vector<ChatMessage>> messages = as_messages(json["messages"], "messages", path);
    if (!messages) return messages.error();
    conversation.messages = std::move(*messages);
    const char* context_name = json.contains("context") ? "context" : "messages";
    Result<std::vector<ChatMessage>> context = as_messages(json[context_name], context_name, path);
    if (!context) return context.error();
    conversation.context = std::move(*context);
    const auto role_of_last = [](const std::vector<ChatMessage>& list) {
        return list.empty() ? std::string() : list.back().role;
    };
    if (role_of_last(conversation.messages) != role_of_last(conversation.context))
        return wrong_file(path, "\"context\" does not end as \"messages\" do");
    return conversation;
}

}  // namespace

void Conversation::add(ChatMessage message) {
    context.push_back(message);
    messages.push_back(std::move(message));
}

bool Conversation::is_unanswered() const {
    return !messages.empty() && messages.back().role == "user";
}

// Many templates want users and assistants to take turns.
void Conversation::add_question(const std::string& text) {
    if (!is_unanswered() || context.empty() || context.back().role != "user")
        return add({.role = "user", .content = text});
    for (std::vector<ChatMessage>* list : {&messages, &context})
        list->back().content += "\n\n" + text;
}

void Conversation::remove_last() {
    messages.pop_back();
    if (!context.empty()) context.pop_back();
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
    if (Result<void> is_name = check_chat_name(name); !is_name) {
        Error error = is_name.error();
        error.where = as_given("--session", name);
        return error;
    }
    Result<fs::path> data = data_folder();
    if (!data) return data.error();
    const fs::path folder = *data / "chats";
    std::error_code error;
    if (fs::create_directories(folder, error)) {
        fs::permissions(folder, fs::perms::owner_all, error);
    }
    if (error) {
        return Error{ErrorCode::io, "the folder for chats cannot be made: " + error.message(),
                     path_utf8(folder), ""};
    }
    const fs::path stem = folder / fs::path(std::u8string(name.begin(), name.end()));
    const auto with_extension = [&](const char* extension) { return fs::path(stem) += extension; };
    // What cannot be looked at is not the same as what is not there.
    if (!fs::status_known(fs::status(with_extension(".json"), error))) {
        return Error{ErrorCode::io, "the folder for chats cannot be entered: " + error.message(),
                     path_utf8(folder), "one that can be read and written"};
    }
    Session session(with_extension(".json"));
    Result<std::optional<FileLock>> lock = FileLock::take(with_extension(".lock"));
    if (!lock) {
        write_message("warning: nothing keeps other programs out of the chat meanwhile: " +
                      lock.error().message());
    } else if (!lock->has_value()) {
        return Error{ErrorCode::io, "another program has the chat \"" + name + "\" open",
                     path_utf8(with_extension(".json")),
                     "one at a time, or another --session name"};
    }
    if (lock) session.lock_ = std::move(*lock);
    Result<ChatCache> cache = ChatCache::open_default(cache_bytes);
    if (cache) {
        fs::path file = cache->path_of(name).value();
        session.cache_.emplace(Cache{std::move(*cache), std::move(file)});
    } else {
        write_message("the chat is kept, what is computed of it is not: " +
                      cache.error().message());
    }
    return session;
}

Result<std::optional<Conversation>> Session::load() const {
    std::error_code error;
    const fs::file_status status = fs::status(file_, error);
    if (!fs::exists(status)) return std::optional<Conversation>();
    if (!fs::is_regular_file(status)) return wrong_file(file_, "this is not a regular file");
    Result<std::string> text = read_file(file_);
    if (!text) return text.error();
    if (text->empty()) return wrong_file(file_, "the file is empty");
    Result<Json> json = parse_json(*text, path_utf8(file_));
    if (!json) return wrong_file(file_, json.error().what);
    Result<Conversation> conversation = as_conversation(*json, file_);
    if (!conversation) return conversation.error();
    return std::optional<Conversation>(std::move(*conversation));
}

Result<void> Session::save(const Conversation& conversation) const {
    Json json = {{"system", conversation.system}, {"messages", as_json(conversation.messages)}};
    if (!is_same(conversation.messages, conversation.context)) {
        json["context"] = as_json(conversation.context);
    }
    return replace_file(file_, json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n');
}

void Session::restore_context(Engine& engine, Overflow overflow) const {
    std::error_code error;
    if (!cache_ || !fs::exists(cache_->file, error)) return;
    cache_->folder.touch(cache_->file);
    const Result<SavedChat> restored = engine.restore_chat(cache_->file, overflow);
    if (!restored) {
        write_message("the conversation will be read again: " + restored.error().message());
    }
}

void Session::save_context(Engine& engine, const std::vector<TokenId>& tokens) const {
    if (!cache_) return;
    const Result<SavedChat> saved = engine.save_chat(cache_->file, tokens);
    if (!saved) write_message("the context is not saved: " + saved.error().message());
    cache_->folder.trim();
}

void Session::forget_context() const {
    std::error_code error;
    if (!cache_ || fs::remove(cache_->file, error) || !error) return;
    write_message("the context is not forgotten: " + path_utf8(cache_->file) + " stays");
}

}  // namespace hokku::cli
