// SPDX-License-Identifier: Apache-2.0
#include "engine/overflow_chats.h"

#include <algorithm>
#include <utility>

namespace hokku::testing {

const char* const kTurnsTemplate =
    "{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}{% else %}"
    "{% if m.role == 'user' %}<user>{% else %}<assistant>{% endif %}{{ m.content }}<end>{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

Tokens prompt_of(const std::vector<ChatMessage>& messages) {
    Tokens tokens = {fake_token::bos};
    for (const ChatMessage& message : messages) {
        if (message.role == "user") tokens.push_back(fake_token::user);
        if (message.role == "assistant") tokens.push_back(fake_token::assistant);
        for (const char c : message.content) tokens.push_back(static_cast<unsigned char>(c));
        if (message.role != "system") tokens.push_back(fake_token::end);
    }
    tokens.push_back(fake_token::assistant);
    return tokens;
}

std::vector<ChatMessage> talk(size_t num_turns, size_t bytes_each) {
    std::vector<ChatMessage> messages = {{"system", "Be brief. "}};
    for (size_t i = 0; i < num_turns; ++i) {
        messages.push_back({"user", std::string(bytes_each, static_cast<char>('a' + i % 26))});
        messages.push_back({"assistant", std::string(bytes_each, static_cast<char>('A' + i % 26))});
    }
    messages.push_back({"user", "the last"});
    return messages;
}

GenerationRequest request_for(std::vector<ChatMessage> messages, Overflow overflow,
                              uint32_t max_tokens) {
    GenerationRequest request;
    request.messages = std::move(messages);
    request.overflow = overflow;
    request.sampling.temperature = 0;
    request.max_tokens = max_tokens;
    return request;
}

std::shared_ptr<FakeControl> make_control(uint32_t context_tokens, Script script) {
    auto control = std::make_shared<FakeControl>();
    control->context_tokens = context_tokens;
    control->chat_template = kTurnsTemplate;
    control->script = std::move(script);
    return control;
}

std::shared_ptr<FakeControl> growing_control(uint32_t context_tokens, uint32_t trained) {
    auto control = make_control(context_tokens);
    control->trained_context = trained;
    return control;
}

bool contains(std::span<const int32_t> tokens, std::string_view text) {
    return std::search(tokens.begin(), tokens.end(), text.begin(), text.end(),
                       [](int32_t token, char c) {
                           return token == static_cast<int32_t>(static_cast<unsigned char>(c));
                       }) != tokens.end();
}

bool asks_for_summary(std::span<const int32_t> history) {
    return contains(history, "Below is the beginning");
}

Script summarising(std::string summary, Script rest) {
    return [answer = answering(std::move(summary)), rest = std::move(rest)](
               std::span<const int32_t> history, std::span<float> logits) {
        (asks_for_summary(history) ? answer : rest)(history, logits);
    };
}

Script summarising(std::string summary) {
    return summarising(
        std::move(summary), [](std::span<const int32_t> history, std::span<float> logits) {
            const bool has_summary = contains(history, "[Summary of the conversation so far:");
            std::fill(logits.begin(), logits.end(), 0.0f);
            logits[has_summary ? 's' : 'n'] = 10.0f;
        });
}

GenerationEvents OverflowRecorder::events() {
    GenerationEvents events;
    events.on_token = [this](const TokenLogprob&) { ++num_tokens; };
    events.on_prefill = [this](uint32_t, uint32_t total) { prefill_totals.push_back(total); };
    events.on_dropped = [this](const DroppedTurns& turns) { drops.push_back({num_tokens, turns}); };
    events.on_grown = [this](uint32_t context_tokens) { grown.push_back(context_tokens); };
    return events;
}

Tokens expected_text(const std::vector<ChatMessage>& messages, const std::vector<Drop>& drops,
                     size_t count) {
    Tokens text, prompt = prompt_of(messages);
    size_t next = 0;
    while (text.size() < count) {
        while (next < drops.size() && drops[next].num_tokens == text.size())
            prompt = prompt_of(drops[next++].turns.remaining);
        Tokens history = prompt;
        history.insert(history.end(), text.begin(), text.end());
        text.push_back(expected_greedy(std::move(history), 1).front());
    }
    return text;
}

}  // namespace hokku::testing
