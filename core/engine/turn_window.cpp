// SPDX-License-Identifier: Apache-2.0
#include "engine/turn_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/try.h"
#include "base/utf8.h"

namespace hokku {
namespace {

std::string note_of(const std::string& summary) {
    return summary.empty() ? std::string()
                           : fmt::format("[Summary of the conversation so far: {}]\n\n", summary);
}

std::string speaker_of(const ChatMessage& message) {
    if (message.role == "user") return "User";
    if (message.role == "assistant") return "Assistant";
    if (message.role == "tool" && !message.name.empty()) return "Result of " + message.name;
    return message.role;
}

/// The content and the calls of tools.
std::string said_in(const ChatMessage& message) {
    std::string said = message.content;
    for (const ToolCall& call : message.tool_calls) {
        if (!said.empty()) said += '\n';
        said += call.is_valid() ? fmt::format("{}({})", call.name, call.arguments_json) : call.text;
    }
    return said;
}

}  // namespace

TurnWindow::TurnWindow(const GenerationRequest& request, const ModelText& text,
                       std::stop_token stop)
    : text_(&text),
      stop_(std::move(stop)),
      draft_(request),
      messages_(std::exchange(draft_.messages, {})) {
    while (num_system_ < messages_.size() && messages_[num_system_].role == "system") ++num_system_;
    for (size_t i = num_system_; i < messages_.size(); ++i)
        if (i == num_system_ || messages_[i].role == "user") turns_.push_back(i);
}

std::vector<ChatMessage> TurnWindow::kept_without(size_t num_turns) const {
    const auto at = [&](size_t index) {
        return messages_.begin() + static_cast<std::ptrdiff_t>(index);
    };
    std::vector<ChatMessage> kept(messages_.begin(), at(num_system_));
    if (turns_.empty()) return kept;
    kept.insert(kept.end(), at(turns_[num_turns]), messages_.end());
    if (!summary_.empty()) {
        std::string& content = kept[num_system_].content;
        content.insert(0, note_of(summary_));
    }
    return kept;
}

Result<std::vector<TokenId>> TurnWindow::make_prompt_without(size_t num_turns) const {
    GenerationRequest request = draft_;
    request.messages = kept_without(num_turns);
    return hokku::make_prompt(request, *text_, stop_);
}

Result<std::vector<TokenId>> TurnWindow::make_prompt() const {
    return make_prompt_without(num_dropped_);
}

Result<std::vector<TokenId>> TurnWindow::drop_to(size_t most_tokens) {
    assert(can_drop());
    // The fewest turns that must go are in [fewest, most].
    size_t fewest = num_dropped_ + 1, most = turns_.size() - 1;
    HOKKU_TRY(std::vector<TokenId> prompt, make_prompt_without(most));
    while (fewest < most) {
        const size_t middle = fewest + (most - fewest) / 2;
        HOKKU_TRY(std::vector<TokenId> longer, make_prompt_without(middle));
        if (longer.size() > most_tokens) {
            fewest = middle + 1;
        } else {
            most = middle;
            prompt = std::move(longer);
        }
    }
    num_dropped_ = most;
    return prompt;
}

std::string TurnWindow::transcript(size_t most_bytes_each) const {
    std::string text;
    if (!summary_.empty()) text += "Summary of what came before: " + summary_ + "\n\n";
    for (size_t i = turns_[num_summarised_]; i < turns_[num_dropped_]; ++i) {
        const ChatMessage& message = messages_[i];
        const std::string said = said_in(message);
        const size_t num_bytes = utf8_prefix_bytes(said, most_bytes_each);
        text += speaker_of(message);
        text += ": ";
        text.append(said, 0, num_bytes);
        text += num_bytes < said.size() ? " ...\n\n" : "\n\n";
    }
    return text;
}

Result<std::vector<TokenId>> TurnWindow::make_summary_prompt(size_t most_tokens,
                                                             size_t summary_tokens) const {
    size_t longest = 0;
    for (size_t i = turns_[num_summarised_]; i < turns_[num_dropped_]; ++i)
        longest = std::max(longest, said_in(messages_[i]).size());
    // Thoughts would take the tokens that the summary is given.
    const ChatTemplate* chat_template = text_->chat_template.get();
    const std::string kwargs = without_thinking(
        draft_.template_kwargs_json, chat_template != nullptr ? chat_template->source() : "", true);
    // Tokens have a byte at least, but for a few that stand for none.
    constexpr size_t kLeastBytes = 16;
    for (size_t bytes = std::min(longest, 32 * most_tokens);; bytes /= 2) {
        GenerationRequest request;
        request.now = draft_.now;
        request.template_kwargs_json = kwargs;
        request.messages = {
            {"user",
             fmt::format(
                 "Below is the beginning of a conversation. Summarise it in at most {} words, in "
                 "the language of the conversation. Keep names, numbers, facts, decisions and "
                 "questions that are still open. Write nothing but the summary.\n\n---\n\n{}---",
                 std::max<size_t>(summary_tokens / 2, 10), transcript(bytes))}};
        HOKKU_TRY(std::vector<TokenId> prompt, hokku::make_prompt(request, *text_, stop_));
        if (prompt.size() <= most_tokens) return prompt;
        if (bytes <= kLeastBytes)
            return Error{ErrorCode::limit_exceeded,
                         "the turns to be summarised do not fit the context", "messages", ""};
    }
}

void TurnWindow::set_summary(std::string summary) {
    summary_ = std::move(summary);
    num_summarised_ = num_dropped_;
}

DroppedTurns TurnWindow::dropped() const {
    DroppedTurns dropped;
    for (size_t i = num_system_; !turns_.empty() && i < turns_[num_dropped_]; ++i)
        dropped.indices.push_back(i);
    dropped.summary = summary_;
    dropped.remaining = kept_without(num_dropped_);
    return dropped;
}

OverflowLimits overflow_limits(uint32_t context_tokens, uint32_t max_tokens) {
    const size_t context = context_tokens, quarter = std::max<size_t>(context / 4, 1);
    const size_t answer = max_tokens > 0 ? std::min<size_t>(max_tokens, quarter) : quarter;
    return {.most_prompt = context - std::min(context - 1, answer),
            .wanted_prompt = context / 2,
            .summary_tokens = std::clamp<size_t>(context / 8, 16, 512)};
}

std::string clean_summary(std::string text, bool is_cut) {
    constexpr std::string_view kSpace = " \t\r\n";
    const size_t begin = text.find_first_not_of(kSpace);
    if (begin == std::string::npos) return {};
    text = text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
    if (!is_cut) return text;
    size_t end = 0;  // Behind the last sentence.
    for (const std::string_view stop : {". ", ".\n", "! ", "? ", "\xe3\x80\x82"}) {
        const size_t at = text.rfind(stop);
        if (at != std::string::npos) end = std::max(end, at + (stop.size() > 2 ? stop.size() : 1));
    }
    if (2 * end >= text.size()) text.resize(end);
    return text;
}

}  // namespace hokku
