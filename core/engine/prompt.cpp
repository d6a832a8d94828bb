// SPDX-License-Identifier: Apache-2.0
#include "engine/prompt.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "base/try.h"

namespace hokku {
namespace {

std::string messages_to_json(const std::vector<ChatMessage>& messages) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const ChatMessage& message : messages)
        list.push_back({{"role", message.role}, {"content", message.content}});
    return list.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void ensure_one_bos(std::vector<TokenId>& ids, const SpecialTokens& special) {
    if (!special.add_bos || !special.bos) return;
    if (ids.empty() || ids.front() != *special.bos) ids.insert(ids.begin(), *special.bos);
}

Result<std::vector<TokenId>> encode_messages(const GenerationRequest& request,
                                             const ModelText& text) {
    if (text.template_error) return *text.template_error;
    if (text.chat_template == nullptr)
        return Error{ErrorCode::bad_template, "the model has no chat template",
                     "tokenizer.chat_template", "a raw prompt, or a model made for chats"};
    TemplateInput input = make_template_input(request.messages, *text.tokenizer);
    input.tools_json = request.tools_json;
    input.kwargs_json = request.template_kwargs_json;
    input.now = request.now;
    input.continue_final_message = request.continue_final_message;
    input.add_generation_prompt = !request.continue_final_message;
    HOKKU_TRY(const std::vector<PromptPart> parts, text.chat_template->render_parts(input));
    return text.tokenizer->encode_parts(parts, false);
}

/// For a conversation of three words, rendered while a model loads: a hostile template must not
/// hold up the load. Real templates take less than a tenth of each.
constexpr TemplateLimits kProbeLimits{
    .max_steps = 200'000, .max_output_bytes = 1u << 20, .max_memory_bytes = 8u << 20};

/// The first token after the answer in a rendered conversation, where it is a control token.
std::optional<TokenId> token_after_answer(const std::vector<ChatMessage>& messages,
                                          const Tokenizer& tokenizer,
                                          const ChatTemplate& chat_template) {
    const std::string& answer = messages[1].content;
    TemplateInput input = make_template_input(messages, tokenizer);
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

TemplateInput make_template_input(const std::vector<ChatMessage>& messages,
                                  const Tokenizer& tokenizer) {
    TemplateInput input;
    input.messages_json = messages_to_json(messages);
    const SpecialTokens& special = tokenizer.special();
    input.has_bos_token = special.bos.has_value();
    if (special.bos) input.bos_token = tokenizer.token_text(*special.bos);
    input.has_eos_token = special.eos.has_value();
    if (special.eos) input.eos_token = tokenizer.token_text(*special.eos);
    return input;
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

Result<std::vector<TokenId>> make_prompt(const GenerationRequest& request, const ModelText& text) {
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
        const EncodeOptions options{.parse_special = request.parse_special, .add_special = false};
        HOKKU_TRY(ids, text.tokenizer->encode(*request.raw_text, options));
        ensure_one_bos(ids, text.tokenizer->special());
    } else {
        HOKKU_TRY(ids, encode_messages(request, text));
        ensure_one_bos(ids, text.tokenizer->special());
    }
    if (ids.empty())
        return Error{ErrorCode::bad_argument, "the prompt is empty", "prompt",
                     "at least one token"};
    return ids;
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
        if (id && id != tokenizer.special().bos) ids.push_back(*id);
    }
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
}

}  // namespace hokku
