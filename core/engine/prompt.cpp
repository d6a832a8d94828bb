// SPDX-License-Identifier: Apache-2.0
#include "engine/prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "base/try.h"
#include "engine/json_object.h"
#include "text/reply/reply_buffer.h"
#include "text/template/value.h"

namespace hokku {
namespace {

void ensure_one_bos(std::vector<TokenId>& ids, const SpecialTokens& special) {
    if (!special.add_bos || !special.bos) return;
    if (ids.empty() || ids.front() != *special.bos) ids.insert(ids.begin(), *special.bos);
}

/// What opens a thought, as a model writes it. Empty: the format has no thoughts.
std::string opening_text(const reply::ReplyFormat& format) {
    if (format.framing == reply::Framing::harmony) return "<|channel|>analysis<|message|>";
    if (format.framing != reply::Framing::marked || format.thoughts.empty()) return {};
    return reply::without_control_signs(format.thoughts.front().open) + "\n";
}

/// Whether the last message was stopped before its thought had an end.
bool ends_in_thought(const GenerationRequest& request, const reply::ReplyFormat& format) {
    if (!request.continue_final_message || request.messages.size() < 2) return false;
    const ChatMessage& last = request.messages.back();
    return last.role == "assistant" && last.content.empty() && last.tool_calls.empty() &&
           !last.thought.empty() && !opening_text(format).empty();
}

/// The beginning of a reply whose thought has not ended, behind the prompt that asks for it.
void add_open_thought(std::vector<PromptPart>& parts, const std::string& thought,
                      const std::string& opening) {
    std::string end;
    for (auto part = parts.rbegin(); part != parts.rend() && end.size() < opening.size() + 8;
         ++part)
        end.insert(0, part->text);
    const auto trimmed = [](std::string_view text) {
        return text.substr(0, text.find_last_not_of(" \n") + 1);
    };
    const bool is_open = trimmed(end).ends_with(trimmed(opening));  // by the template
    if (!is_open) parts.push_back({opening, false});
    parts.push_back({thought, true});
}

Result<std::vector<TokenId>> encode_messages(const GenerationRequest& request,
                                             const ModelText& text, const std::stop_token& stop) {
    if (text.template_error) return *text.template_error;
    if (text.chat_template == nullptr)
        return Error{ErrorCode::bad_template, "the model has no chat template",
                     "tokenizer.chat_template", "a raw prompt, or a model made for chats"};
    TemplateInput input;
    set_special_tokens(input, *text.tokenizer);
    const bool is_in_thought = ends_in_thought(request, text.reply_format);
    std::vector<ChatMessage> before;
    if (is_in_thought) before.assign(request.messages.begin(), request.messages.end() - 1);
    HOKKU_TRY(input.messages_json,
              messages_to_json(is_in_thought ? before : request.messages, text.message_style));
    input.tools_json = request.tools_json;
    input.kwargs_json = request.template_kwargs_json;
    if (request.thought_budget_tokens == 0u)
        input.kwargs_json =
            without_thinking(input.kwargs_json, text.chat_template->source(), false);
    input.now = request.now;
    input.continue_final_message = request.continue_final_message && !is_in_thought;
    input.add_generation_prompt = !input.continue_final_message;
    HOKKU_TRY(std::vector<PromptPart> parts, text.chat_template->render_parts(input, stop));
    if (is_in_thought)
        add_open_thought(parts, request.messages.back().thought, opening_text(text.reply_format));
    return text.tokenizer->encode_parts(parts, false, stop);
}

/// The first token after the answer in a rendered conversation, where it is a control token.
std::optional<TokenId> token_after_answer(const std::vector<ChatMessage>& messages,
                                          const Tokenizer& tokenizer,
                                          const ChatTemplate& chat_template) {
    const std::string& answer = messages[1].content;
    TemplateInput input;
    set_special_tokens(input, tokenizer);
    auto json = messages_to_json(messages, {});
    if (!json.ok()) return std::nullopt;
    input.messages_json = std::move(json).value();
    input.add_generation_prompt = false;
    const auto parts = chat_template.render_parts(input, kProbeLimits);
    if (!parts.ok()) return std::nullopt;
    size_t index = 0;
    while (index < parts->size() && (*parts)[index].text.find(answer) == std::string::npos) ++index;
    if (index == parts->size()) return std::nullopt;
    std::vector<PromptPart> rest(parts->begin() + static_cast<ptrdiff_t>(index), parts->end());
    rest.front().text.erase(0, rest.front().text.find(answer) + answer.size());
    const auto ids = tokenizer.encode_parts(rest, false);
    if (!ids.ok()) return std::nullopt;
    for (const TokenId id : *ids) {
        const std::string bytes = tokenizer.token_bytes(id, false);
        if (tokenizer.kind(id) == TokenKind::control) return id;
        if (bytes.find_first_not_of(" \n\r\t") != std::string::npos) break;
    }
    return std::nullopt;
}

}  // namespace

std::string without_thinking(const std::string& kwargs_json, std::string_view template_source,
                             bool even_if_set) {
    nlohmann::ordered_json kwargs;
    if (!parse_object(kwargs_json, jinja::kMaxNesting, kwargs)) return kwargs_json;
    // "thinking" alone would be found in every template that has thoughts.
    constexpr std::array<std::array<std::string_view, 2>, 2> kVariables{
        {{"enable_thinking", "enable_thinking"}, {"thinking", " thinking is "}}};
    bool is_changed = false;
    for (const auto& [name, use] : kVariables) {
        const std::string key(name);
        if (template_source.find(use) == std::string_view::npos) continue;
        if (kwargs.contains(key) && !even_if_set) continue;
        kwargs[key] = false;
        is_changed = true;
    }
    return is_changed ? kwargs.dump() : kwargs_json;
}

void set_special_tokens(TemplateInput& input, const Tokenizer& tokenizer) {
    const SpecialTokens& special = tokenizer.special();
    input.has_bos_token = special.bos.has_value();
    if (special.bos) input.bos_token = tokenizer.token_text(*special.bos);
    input.has_eos_token = special.eos.has_value();
    if (special.eos) input.eos_token = tokenizer.token_text(*special.eos);
}

void describe_text(ModelText& text, std::string_view architecture) {
    text.end_tokens = find_end_tokens(*text.tokenizer, text.chat_template.get());
    if (text.chat_template) {
        text.message_style = find_message_style(*text.tokenizer, *text.chat_template);
        text.reply_format = reply::find_reply_format(
            {.template_source = text.chat_template->source(), .architecture = architecture});
    } else {
        text.reply_format = reply::find_reply_format({});
    }
    reply::bind_control_tokens(text.reply_format, *text.tokenizer);
    // What a model writes when it hands over to a tool, without an end of its turn.
    for (const std::string& end : text.reply_format.ends) {
        const auto id = text.tokenizer->find_token(end);
        if (!id) continue;
        const auto place = std::lower_bound(text.end_tokens.begin(), text.end_tokens.end(), *id);
        if (place == text.end_tokens.end() || *place != *id) text.end_tokens.insert(place, *id);
    }
}

Result<void> validate_tokens(const std::vector<TokenId>& tokens, uint32_t num_vocab) {
    for (size_t i = 0; i < tokens.size(); ++i) {
        if (tokens[i] < 0 || static_cast<uint32_t>(tokens[i]) >= num_vocab)
            return Error{ErrorCode::bad_argument,
                         fmt::format("token {} at index {} is not in the vocabulary", tokens[i], i),
                         "tokens", fmt::format("ids below {}", num_vocab)};
    }
    return {};
}

Result<std::vector<TokenId>> make_prompt(const GenerationRequest& request, const ModelText& text,
                                         const std::stop_token& stop) {
    const int num_kinds = static_cast<int>(!request.messages.empty()) +
                          static_cast<int>(request.raw_text.has_value()) +
                          static_cast<int>(request.tokens.has_value());
    if (num_kinds != 1)
        return Error{ErrorCode::bad_argument,
                     fmt::format("{} kinds of prompt are given", num_kinds),
                     "messages, raw_text, tokens", "exactly one of them"};
    std::vector<TokenId> ids;
    if (request.tokens) {
        ids = *request.tokens;
    } else if (request.raw_text) {
        const EncodeOptions options{
            .parse_special = request.parse_special, .add_special = false, .stop = stop};
        HOKKU_TRY(ids, text.tokenizer->encode(*request.raw_text, options));
        ensure_one_bos(ids, text.tokenizer->special());
    } else {
        HOKKU_TRY(ids, encode_messages(request, text, stop));
        ensure_one_bos(ids, text.tokenizer->special());
    }
    if (ids.empty())
        return Error{ErrorCode::bad_argument, "the prompt is empty", "prompt",
                     "at least one token"};
    return ids;
}

/// In gpt-oss's format the turn goes on behind it, after a thought at least.
bool ends_message_alone(TokenId token, const Tokenizer& tokenizer) {
    return tokenizer.token_text(token) == "<|end|>" && tokenizer.find_token("<|return|>") &&
           tokenizer.find_token("<|call|>");
}

std::vector<TokenId> find_end_tokens(const Tokenizer& tokenizer,
                                     const ChatTemplate* chat_template) {
    std::vector<TokenId> ids = tokenizer.special().end_of_generation;
    if (chat_template != nullptr) {
        // Some templates close a turn only when another one follows.
        const std::vector<ChatMessage> messages{
            {"user", "Question"}, {"assistant", "Answer"}, {"user", "Next"}};
        const std::vector<ChatMessage> closed(messages.begin(), messages.begin() + 2);
        auto id = token_after_answer(closed, tokenizer, *chat_template);
        if (!id) id = token_after_answer(messages, tokenizer, *chat_template);
        if (id && id != tokenizer.special().bos && !ends_message_alone(*id, tokenizer))
            ids.push_back(*id);
    }
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
}

}  // namespace hokku
