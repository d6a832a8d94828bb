// SPDX-License-Identifier: Apache-2.0
#include "engine/messages.h"

#include <nlohmann/json.hpp>

#include "base/try.h"
#include "base/utf8.h"
#include "engine/json_object.h"
#include "engine/prompt.h"

namespace hokku {
namespace {

using Json = nlohmann::ordered_json;

/// More than calls that were read from a reply have.
constexpr int kMostLevels = 110;

Result<Json> parse_arguments(const ToolCall& call) {
    Json arguments;
    if (!parse_object(call.arguments_json, kMostLevels, arguments))
        return Error{
            ErrorCode::bad_argument,
            "the arguments of a tool call cannot be rendered: " + to_printable(call.arguments_json),
            call.name, "a JSON object of at most 110 levels"};
    return arguments;
}

Result<Json> calls_to_json(const std::vector<ToolCall>& calls, const MessageStyle& style) {
    Json list = Json::array();
    for (const ToolCall& call : calls) {
        if (!call.is_valid()) continue;
        HOKKU_TRY(Json arguments, parse_arguments(call));
        if (style.needs_text_arguments) arguments = call.arguments_json;
        list.push_back({{"id", call.id},
                        {"type", "function"},
                        {"function", {{"name", call.name}, {"arguments", std::move(arguments)}}}});
    }
    return list;
}

/// The content, and the calls that cannot be shown as such.
std::string content_with_calls(const ChatMessage& message, bool shows_calls) {
    std::string content = message.content;
    for (const ToolCall& call : message.tool_calls) {
        if (shows_calls && call.is_valid()) continue;
        if (!content.empty()) content += '\n';
        content += call.text;
    }
    return content;
}

Result<Json> message_to_json(const ChatMessage& message, const MessageStyle& style) {
    const std::string content = content_with_calls(message, style.shows_calls);
    Json json{{"role", message.role}, {"content", content}};
    if (!message.thought.empty()) {
        json["reasoning_content"] = message.thought;
        json["thinking"] = message.thought;  // gpt-oss's name for it
    }
    if (style.shows_calls && !message.tool_calls.empty()) {
        HOKKU_TRY(Json calls, calls_to_json(message.tool_calls, style));
        if (style.needs_null_content && !calls.empty()) json["content"] = nullptr;
        if (!calls.empty()) json["tool_calls"] = std::move(calls);
    }
    if (!message.tool_call_id.empty()) json["tool_call_id"] = message.tool_call_id;
    if (!message.name.empty()) json["name"] = message.name;
    return json;
}

}  // namespace

Result<std::string> messages_to_json(const std::vector<ChatMessage>& messages,
                                     const MessageStyle& style) {
    Json list = Json::array();
    for (const ChatMessage& message : messages) {
        HOKKU_TRY(Json json, message_to_json(message, style));
        list.push_back(std::move(json));
    }
    return list.dump(-1, ' ', false, Json::error_handler_t::replace);
}

MessageStyle find_message_style(const Tokenizer& tokenizer, const ChatTemplate& chat_template) {
    ChatMessage call{.role = "assistant", .content = ""};
    call.tool_calls.push_back({.id = "call00000",
                               .name = "look_up",
                               .arguments_json = "{\"wanted\": \"a certain word\"}"});
    const std::vector<ChatMessage> messages{
        {.role = "user", .content = "Question"},
        call,
        {.role = "tool", .content = "Result", .tool_call_id = "call00000", .name = "look_up"}};
    TemplateInput input;
    set_special_tokens(input, tokenizer);
    input.add_generation_prompt = false;
    input.tools_json = R"([{"type": "function", "function": {"name": "look_up",
        "description": "Looks up", "parameters": {"type": "object", "properties":
        {"wanted": {"type": "string", "description": "What"}}, "required": ["wanted"]}}}])";
    for (const bool needs_text : {false, true}) {
        for (const bool needs_null : {false, true}) {
            const MessageStyle style{.shows_calls = true,
                                     .needs_null_content = needs_null,
                                     .needs_text_arguments = needs_text};
            auto json = messages_to_json(messages, style);
            if (!json.ok()) continue;
            input.messages_json = std::move(json).value();
            const auto text = chat_template.render_parts(input, kProbeLimits);
            if (!text.ok()) continue;
            std::string whole;
            for (const PromptPart& part : *text) whole += part.text;
            const auto has = [&](const char* words) {
                return whole.find(words) != std::string::npos;
            };
            // An object written as Python writes it, or a text that is quoted once more, is not
            // what the model was trained on.
            if (has("a certain word") && !has("{'wanted'") && !has("\\\"wanted")) return style;
        }
    }
    return {};
}

}  // namespace hokku
