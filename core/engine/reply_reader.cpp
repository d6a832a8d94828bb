// SPDX-License-Identifier: Apache-2.0
#include "engine/reply_reader.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>

#include "base/try.h"
#include "engine/call_user.h"
#include "text/reply/reply_buffer.h"

namespace hokku {
namespace {

/// As much of a prompt as shows whether it opens a thought or closes one; of a message that is
/// continued, more may belong to it.
constexpr size_t kPromptEndTokens = 64, kContinuedTokens = 16384;

/// The number in an id that was made here ("call00012"), and 1; else 0.
uint32_t number_after(std::string_view id) {
    constexpr std::string_view kStart = "call";
    constexpr size_t kDigits = 5;
    if (!id.starts_with(kStart) || id.size() != kStart.size() + kDigits) return 0;
    uint32_t number = 0;
    const char* end = id.data() + id.size();
    const auto [last, error] = std::from_chars(id.data() + kStart.size(), end, number);
    return error == std::errc() && last == end ? number + 1 : 0;
}

/// Above all ids of the conversation: calls before them may have been dropped.
uint32_t first_free_number(const std::vector<ChatMessage>& messages) {
    uint32_t number = 0;
    for (const ChatMessage& message : messages) {
        number = std::max(number, number_after(message.tool_call_id));
        for (const ToolCall& call : message.tool_calls)
            number = std::max(number, number_after(call.id));
    }
    return number;
}

}  // namespace

bool has_valid_call(const GenerationResult& result) {
    return std::any_of(result.tool_calls.begin(), result.tool_calls.end(),
                       [](const ToolCall& call) { return call.is_valid(); });
}

ReplyReader::ReplyReader(const GenerationRequest& request, const GenerationEvents& events,
                         const ModelText& text, GenerationResult& result)
    : request_(request),
      events_(events),
      text_(text),
      result_(result),
      stream_(*text.tokenizer, request.keep_special) {}

Result<void> ReplyReader::begin(std::span<const TokenId> prompt) {
    HOKKU_TRY(StopMatcher stops, StopMatcher::create(request_.stop_strings));
    stops_.emplace(std::move(stops));
    if (request_.messages.empty() || request_.keep_special) return {};
    reply::ReplyFormat format = text_.reply_format;
    leave_to_forms(format);
    if (format.framing == reply::Framing::plain) return {};
    reply::ReplyOptions options;
    HOKKU_TRY(options.tools, reply::ToolList::parse(request_.tools_json));
    options.is_continued = request_.continue_final_message;
    options.first_call_number = first_free_number(request_.messages);
    const std::string end = end_of_prompt(prompt);
    options.prompt_end = end;
    parser_ = make_reply_parser(std::move(format), std::move(options), *this);
    return {};
}

/// A form that writes markers itself holds for them as well.
void ReplyReader::leave_to_forms(reply::ReplyFormat& format) const {
    std::vector<std::string_view> texts;
    for (const ConstraintSpec& spec : request_.constraints) {
        texts.push_back(spec.text);
        texts.insert(texts.end(), spec.words.begin(), spec.words.end());
    }
    if (!texts.empty()) reply::leave_out_named(format, texts);
}

/// Of a message that is continued no more than the message and what the template puts around its
/// thought: markers that a person has quoted before it are none.
std::string ReplyReader::end_of_prompt(std::span<const TokenId> prompt) const {
    if (!request_.continue_final_message)
        return text_.tokenizer->decode(prompt.last(std::min(prompt.size(), kPromptEndTokens)),
                                       true);
    prompt = prompt.last(std::min(prompt.size(), kContinuedTokens));
    reply::ReplyFormat format = text_.reply_format;
    const auto is_marker = [&, markers = reply::markers_of(format)](TokenId token) {
        const std::string text =
            reply::kControlSign + std::string(text_.tokenizer->token_text(token));
        return std::any_of(markers.begin(), markers.end(), [&](const std::string* marker) {
            return marker->find(text) != std::string::npos;
        });
    };
    // A turn begins with a control token, or else has a length.
    size_t begin = prompt.size();
    while (begin > 0 && (text_.tokenizer->kind(prompt[begin - 1]) != TokenKind::control ||
                         is_marker(prompt[begin - 1])))
        --begin;
    std::string end = text_.tokenizer->decode(prompt.subspan(begin), true);
    constexpr size_t kAroundThought = 64;
    const ChatMessage& last = request_.messages.back();
    const size_t most =
        last.content.size() + (last.thought.empty() ? 0 : last.thought.size() + kAroundThought);
    if (begin == 0 && end.size() > most) end.erase(0, end.size() - most);
    return end;
}

Result<void> ReplyReader::push(TokenId token) {
    const std::string_view text = stream_.push(token);
    has_text_ = has_text_ || !text.empty();
    const bool is_control = text_.tokenizer->kind(token) == TokenKind::control;
    is_cut_ = text.empty() && !is_control;
    if (!parser_) {
        on_answer(text);
        return take_error();
    }
    if (parser_->is_in_thought()) ++num_thought_tokens_;
    parser_->push(text);
    if (is_control && !is_stopped()) parser_->push_control(text_.tokenizer->token_text(token));
    return take_error();
}

Result<void> ReplyReader::finish(StopReason reason) {
    if (!stops_ || is_stopped()) return {};  // begin() may have failed
    std::string_view rest = stream_.finish();
    if (reason == StopReason::cancelled) rest = {};
    if (parser_) {
        parser_->push(rest);
        parser_->finish();
    } else {
        on_answer(rest);
    }
    if (!is_stopped()) add_answer(stops_->finish());
    return take_error();
}

bool ReplyReader::is_beside_answer() const {
    return parser_ && !parser_->is_in_answer();
}

std::vector<std::string_view> ReplyReader::openings() const {
    if (!parser_) return {};
    return parser_->openings(request_.thought_budget_tokens != 0u);
}

uint32_t ReplyReader::num_departures() const {
    return parser_ ? parser_->num_departures() : 0;
}

std::string ReplyReader::answer() const {
    std::string text = result_.text;
    text += stops_->held_back();
    if (parser_) text += parser_->pending_answer();
    return text;
}

bool ReplyReader::is_done_by_calls() const {
    return result_.text.empty() && has_valid_call(result_) && answer().empty();
}

bool ReplyReader::reaches_answer(TokenId token) const {
    if (!parser_) return false;
    if (text_.tokenizer->kind(token) == TokenKind::control)
        return parser_->reaches_answer(reply::kControlSign +
                                       std::string(text_.tokenizer->token_text(token)));
    return parser_->reaches_answer(text_.tokenizer->token_bytes(token, false));
}

Result<std::optional<TokenId>> ReplyReader::forced_token() {
    if (num_forced_ < forced_.size()) return std::optional(forced_[num_forced_++]);
    const bool is_over = parser_ && request_.thought_budget_tokens && !is_cut_ &&
                         parser_->is_in_thought() &&
                         num_thought_tokens_ >= *request_.thought_budget_tokens;
    if (!is_over) return std::optional<TokenId>();
    HOKKU_TRY(forced_, text_.tokenizer->encode(parser_->closing_text(), {.parse_special = true}));
    num_forced_ = 0;
    if (forced_.empty()) return std::optional<TokenId>();
    return std::optional(forced_[num_forced_++]);
}

template <class Callback, class... Arguments>
void ReplyReader::tell(const Callback& callback, Arguments&&... arguments) {
    auto told = call_user(callback, std::forward<Arguments>(arguments)...);
    if (!told.ok() && !error_) error_ = std::move(told).error();
}

Result<void> ReplyReader::take_error() {
    if (!error_) return {};
    Error error = *std::move(error_);
    error_.reset();
    return error;
}

void ReplyReader::on_thought(std::string_view text) {
    if (is_stopped()) return;
    result_.thought += text;
    tell(events_.on_thought, text);
}

void ReplyReader::on_answer(std::string_view text) {
    if (!is_stopped()) add_answer(stops_->push(text));
}

void ReplyReader::add_answer(std::string_view text) {
    if (text.empty()) return;
    result_.text += text;
    tell(events_.on_text, text);
}

void ReplyReader::on_answer_was_thought() {
    if (is_stopped()) return;
    add_answer(stops_->finish());
    result_.thought += result_.text;
    result_.text.clear();
    tell(events_.on_text_was_thought);
}

void ReplyReader::on_call_begin(std::string_view id, std::string_view name) {
    if (is_stopped()) return;
    call_id_ = id;
    call_name_ = name;
    tell(events_.on_tool_call_piece, ToolCallPiece{call_id_, call_name_, {}});
}

void ReplyReader::on_call_arguments(std::string_view json) {
    if (is_stopped()) return;
    tell(events_.on_tool_call_piece, ToolCallPiece{call_id_, call_name_, json});
}

void ReplyReader::on_call(const ToolCall& call) {
    if (is_stopped()) return;
    result_.tool_calls.push_back(call);
    tell(events_.on_tool_call, call);
}

ChatMessage assistant_message(const GenerationResult& result) {
    ChatMessage message{.role = "assistant", .content = result.text};
    message.thought = result.thought;
    message.tool_calls = result.tool_calls;
    return message;
}

}  // namespace hokku
