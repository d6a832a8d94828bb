// SPDX-License-Identifier: Apache-2.0
#include "text/reply/harmony_parser.h"

#include <algorithm>
#include <array>

#include "text/reply/json_pieces.h"

namespace hokku::reply {
namespace {

constexpr std::string_view kMessage = "<|message|>", kChannel = "<|channel|>", kStart = "<|start|>";
/// What ends a message. A new one ends it too where the model forgot to.
constexpr std::array<std::string_view, 5> kEnds{"<|end|>", "<|return|>", "<|call|>", kStart,
                                                kChannel};
constexpr size_t kLongestHeader = 512;

/// The word behind `key`; "" if there is none.
std::string_view word_after(std::string_view header, std::string_view key) {
    const size_t at = header.find(key);
    if (at == std::string_view::npos) return {};
    header.remove_prefix(at + key.size());
    const auto is_end = [](char c) { return is_space(c) || c == '<' || c == kControlSign; };
    return header.substr(0, static_cast<size_t>(std::find_if(header.begin(), header.end(), is_end) -
                                                header.begin()));
}

}  // namespace

HarmonyParser::HarmonyParser(const ReplyOptions& options, bool has_control_tokens, ReplySink& sink)
    : sink_(sink),
      builder_(sink, options.first_call_number),
      has_control_tokens_(has_control_tokens) {
    // The prompt may end within a message.
    const std::string_view prompt = options.prompt_end;
    const size_t start = prompt.rfind(kStart);
    if (start == std::string_view::npos) return;
    const size_t message = prompt.find(kMessage, start);
    if (message != std::string_view::npos) begin_body(prompt.substr(start, message - start));
    text_.reserve(1024);
}

std::string HarmonyParser::marker(std::string_view text) const {
    std::string signed_text(has_control_tokens_ ? 1 : 0, kControlSign);
    return signed_text += text;
}

void HarmonyParser::push(std::string_view text) {
    if (text.empty()) return;
    text_.append(text);
    advance();
}

void HarmonyParser::push_control(std::string_view text) {
    if (!text.starts_with("<|")) return;
    const std::string_view names =
        "<|start|><|end|><|message|><|channel|><|constrain|><|return|><|call|>";
    if (names.find(text) == std::string_view::npos) return;
    text_.append(marker(text));
    advance();
}

void HarmonyParser::finish() {
    if (text_.is_closed()) return;
    text_.close();
    advance();
    if (body_ != Body::none) end_body();
}

std::string_view HarmonyParser::closing_text() const {
    return "<|end|><|start|>assistant<|channel|>final<|message|>";
}

std::string HarmonyParser::pending_answer() const {
    return body_ == Body::answer ? without_control_signs(text_.unread()) : std::string();
}

/// Where a header must begin, text that begins none is answer.
bool HarmonyParser::reaches_answer(std::string_view text) const {
    if (body_ != Body::none || text.starts_with(kControlSign)) return false;
    ReplyBuffer all;
    all.append(text_.unread());
    all.append(text);
    const size_t place = all.skip_space(0);
    return all.fits(place, marker("<|")) == Fit::no && all.fits(place, "to=") == Fit::no;
}

void HarmonyParser::advance() {
    while (body_ == Body::none ? read_header() : read_body()) {
    }
}

bool HarmonyParser::read_header() {
    const std::string_view unread = text_.unread();
    if (unread.empty()) return false;
    // A header begins with a marker or a recipient; other text is answer.
    const size_t place = text_.skip_space(0);
    const Fit by_marker = text_.fits(place, marker("<|"));
    const Fit by_recipient = text_.fits(place, "to=");
    const bool is_header = by_marker == Fit::yes || by_recipient == Fit::yes;
    if (!is_header && (by_marker == Fit::maybe || by_recipient == Fit::maybe)) return false;
    if (is_header) {
        const std::string message = marker(kMessage);
        const size_t found = unread.find(message);
        if (found <= kLongestHeader) {
            const std::string header(unread.substr(0, found));
            text_.read(found + message.size());
            begin_body(header);
            return true;
        }
        const bool is_too_long = unread.size() > kLongestHeader + message.size();
        if (!is_too_long && !text_.is_closed()) return false;
    }
    body_ = Body::answer;
    is_first_text_ = true;
    // Past the marker that stands here, so that it does not begin a header again.
    if (is_header) say(std::min(unread.size(), place + 2));
    return true;
}

void HarmonyParser::begin_body(std::string_view header) {
    const std::string_view recipient = word_after(header, "to=");
    const std::string_view channel = word_after(header, kChannel);
    is_first_text_ = true;
    if (!recipient.empty() && recipient != "user" && recipient != "assistant") {
        body_ = Body::call;
        source_ = header;
        source_ += kMessage;
        recipient_ = recipient;
        if (recipient.starts_with("functions.") || recipient.find('.') != std::string_view::npos)
            builder_.set_name(recipient);
        return;
    }
    body_ = channel == "analysis" ? Body::thought : Body::answer;
}

bool HarmonyParser::read_body() {
    const std::string_view unread = text_.unread();
    const char first = has_control_tokens_ ? kControlSign : '<';
    for (size_t place = unread.find(first); place != std::string_view::npos;
         place = unread.find(first, place + 1)) {
        bool is_undecided = false;
        for (const std::string_view end : kEnds) {
            const std::string text = marker(end);
            const Fit fit = text_.fits(place, text);
            is_undecided = is_undecided || fit == Fit::maybe;
            if (fit != Fit::yes) continue;
            say(place);
            if (body_ == Body::call && end == "<|call|>") source_ += end;
            end_body();
            // A message that was not ended begins with this marker.
            if (end != kStart && end != kChannel) text_.read(text.size());
            return true;
        }
        if (is_undecided) {
            say(place);
            return false;
        }
    }
    say(unread.size());
    return false;
}

void HarmonyParser::say(size_t num_bytes) {
    if (num_bytes == 0) return;
    const std::string text = without_control_signs(text_.unread().substr(0, num_bytes));
    text_.read(num_bytes);
    switch (body_) {
        case Body::thought:
            if (had_thought_ && is_first_text_) sink_.on_thought("\n\n");
            had_thought_ = true;
            sink_.on_thought(text);
            break;
        case Body::call:
            source_ += text;
            if (builder_.has_name()) builder_.add_arguments(text);
            break;
        case Body::answer:
            sink_.on_answer(text);
            break;
        case Body::none:
            break;
    }
    is_first_text_ = false;
}

void HarmonyParser::end_body() {
    if (body_ == Body::call) {
        if (!builder_.has_name()) {
            // A tool without functions, as "python", is given text.
            const std::string body = source_.substr(source_.find(kMessage) + kMessage.size());
            std::string_view code = body;
            if (code.ends_with("<|call|>")) code.remove_suffix(8);
            std::string arguments = "{\"code\":";
            append_json_string(arguments, code);
            builder_.set_name(recipient_);
            builder_.add_arguments(arguments + "}");
        }
        builder_.finish(source_);
    }
    body_ = Body::none;
    ++num_departures_;
}

}  // namespace hokku::reply
