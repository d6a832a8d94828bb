// SPDX-License-Identifier: Apache-2.0
#include "hokku/chat_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/try.h"
#include "text/template/interpreter.h"
#include "text/template/json.h"
#include "text/template/parser.h"
#include "text/template/strftime.h"
#include "text/template/text_ops.h"
#include "text/template/unicode.h"

namespace hokku {

using jinja::Interpreter;
using jinja::Kind;
using jinja::Text;
using jinja::Value;

struct ChatTemplate::Program {
    std::unique_ptr<jinja::Program> code;
    TemplateLimits limits;
};

namespace {

// Roles are written by the program, not by a person, and templates build control tokens from them
// ('<|' + role + '|>'): these count as template text. Any other role is content.
constexpr std::array<std::string_view, 14> kKnownRoles{
    "system", "user",        "assistant", "tool",    "developer", "function", "model",
    "bot",    "environment", "context",   "ipython", "document",  "human",    "observation",
};

// Appended to the message to be continued, to find the place in the output; removed again with
// all that follows. The text is that of transformers' apply_chat_template, so that templates
// which look at the message see the same.
constexpr std::string_view kContinueMark = "CONTINUE_FINAL_MESSAGE_TAG ";

Error bad_input(std::string_view key, std::string what, std::string expected = "") {
    return Error{ErrorCode::bad_argument, std::move(what), std::string(key), std::move(expected)};
}

Result<Value> read_input(Interpreter& interpreter, std::string_view key, std::string_view json) {
    std::string message;
    auto value = jinja::read_json(interpreter, json, message);
    if (value) return std::move(*value);
    // Not the input's fault: stopped, or beyond a limit.
    if (const auto& error = interpreter.error())
        return Error{error->code, message, std::string(key), ""};
    return bad_input(key, message);
}

void trust_known_roles(Interpreter& interpreter, const Value& messages) {
    for (const Value& message : messages.as_list().items) {
        if (!message.is(Kind::dict)) continue;
        const Value* const role = message.as_dict().find("role");
        if (role == nullptr || !role->is_string()) continue;
        const std::string_view name = role->as_string().view();
        if (std::find(kKnownRoles.begin(), kKnownRoles.end(), name) == kKnownRoles.end()) continue;
        message.as_dict().set(interpreter.string("role"), interpreter.string(name));
    }
}

void append_mark(Interpreter& interpreter, jinja::Dict& dict, const Value& text,
                 std::string_view key) {
    Text marked = text.as_string().text;
    marked.add(kContinueMark, true);
    dict.set(interpreter.string(key), interpreter.string(std::move(marked)));
}

// Marks the end of the last message's text; false if it has none.
bool mark_final_message(Interpreter& interpreter, const Value& messages) {
    const auto& items = messages.as_list().items;
    if (items.empty() || !items.back().is(Kind::dict)) return false;
    const Value* const found = items.back().as_dict().find("content");
    if (found == nullptr) return false;
    const Value content = *found;
    if (content.is_string()) {
        append_mark(interpreter, items.back().as_dict(), content, "content");
        return true;
    }
    if (!content.is(Kind::list)) return false;
    const auto& parts = content.as_list().items;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        if (!part->is(Kind::dict)) continue;
        const Value* const text = part->as_dict().find("text");
        if (text == nullptr || !text->is_string()) continue;
        const Value kept = *text;
        append_mark(interpreter, part->as_dict(), kept, "text");
        return true;
    }
    return false;
}

Result<void> cut_at_mark(Text& out) {
    const std::string_view bare = kContinueMark.substr(0, kContinueMark.size() - 1);
    const size_t at = out.bytes.rfind(bare);
    if (at == std::string::npos) {
        return Error{ErrorCode::bad_template,
                     "the template does not show the final message, so it cannot be continued", "",
                     ""};
    }
    const bool keeps_spaces = std::string_view(out.bytes).substr(at).starts_with(kContinueMark);
    out.truncate(at);
    if (!keeps_spaces) out = jinja::strip(out, jinja::Side::right, std::nullopt);
    return {};
}

Result<void> define_token(Interpreter& interpreter, std::string_view name, bool is_given,
                          const std::string& text) {
    if (!is_given) return {};
    if (jinja::find_invalid_utf8(text) != std::string_view::npos) {
        return bad_input(name, "not UTF-8");
    }
    interpreter.define(name, interpreter.string(text));
    return {};
}

// Some real templates look at all messages for each message (8 steps a pair), or copy the text so
// far for each message (a few steps per 64 bytes): long conversations need fuel by that.
uint64_t fuel_for(uint64_t num_messages, uint64_t num_bytes) {
    constexpr uint64_t kMost = 200'000'000;
    if (num_messages > 10'000) return kMost;
    return std::min(kMost, num_messages * (16 * num_messages + num_bytes / 32));
}

Result<void> define_inputs(Interpreter& interpreter, const TemplateInput& input) {
    HOKKU_TRY(const Value messages, read_input(interpreter, "messages", input.messages_json));
    if (!messages.is(Kind::list)) return bad_input("messages", "not an array", "a JSON array");
    HOKKU_TRY(const Value tools, read_input(interpreter, "tools", input.tools_json));
    if (!tools.is(Kind::list) && !tools.is_none()) {
        return bad_input("tools", "not an array", "a JSON array or null");
    }
    HOKKU_TRY(const Value kwargs, read_input(interpreter, "kwargs", input.kwargs_json));
    if (!kwargs.is(Kind::dict)) return bad_input("kwargs", "not an object", "a JSON object");
    trust_known_roles(interpreter, messages);
    interpreter.grant(fuel_for(messages.as_list().items.size(), input.messages_json.size()));
    if (input.continue_final_message && !mark_final_message(interpreter, messages)) {
        return bad_input("messages", "the final message has no text to continue");
    }
    interpreter.define("messages", messages);
    interpreter.define("tools", tools);
    interpreter.define("documents", Value::none());
    interpreter.define("add_generation_prompt", Value::boolean(input.add_generation_prompt));
    HOKKU_CHECK(define_token(interpreter, "bos_token", input.has_bos_token, input.bos_token));
    HOKKU_CHECK(define_token(interpreter, "eos_token", input.has_eos_token, input.eos_token));
    for (const auto& entry : kwargs.as_dict().entries) {
        interpreter.define(entry.key.as_string().view(), entry.value);
    }
    return {};
}

Result<Text> render_text(const jinja::Program& program, TemplateLimits limits,
                         const TemplateInput& input, std::stop_token stop = {}) {
    std::tm now{};
    if (input.now.empty()) {
        now = jinja::local_time();
    } else {
        const auto parsed = jinja::parse_time(input.now);
        if (!parsed) return bad_input("now", "not a time", "\"2025-01-15T10:30:00\"");
        now = *parsed;
    }
    // The budget is for what the template makes of its input.
    limits.max_memory_bytes +=
        16 * (input.messages_json.size() + input.tools_json.size() + input.kwargs_json.size());
    Interpreter interpreter(program, limits, now, std::move(stop));
    HOKKU_CHECK(define_inputs(interpreter, input));
    Text out = interpreter.run();
    if (interpreter.failed()) return *interpreter.error();
    if (input.continue_final_message) HOKKU_CHECK(cut_at_mark(out));
    return out;
}

std::vector<PromptPart> parts_of(const Text& text) {
    std::vector<PromptPart> parts;
    text.origin.for_each_run(0, text.size(), [&](size_t begin, size_t end, bool is_content) {
        parts.push_back({text.bytes.substr(begin, end - begin), is_content});
    });
    return parts;
}

}  // namespace

ChatTemplate::ChatTemplate(std::unique_ptr<Program> program) : program_(std::move(program)) {}
ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, TemplateLimits limits) {
    HOKKU_TRY(auto code, jinja::Parser::parse(source, limits.max_depth));
    auto program = std::make_unique<Program>();
    program->code = std::move(code);
    program->limits = limits;
    return ChatTemplate(std::move(program));
}

Result<std::string> ChatTemplate::render(const TemplateInput& input) const {
    HOKKU_TRY(Text text, render_text(*program_->code, program_->limits, input));
    return std::move(text.bytes);
}

Result<std::vector<PromptPart>> ChatTemplate::render_parts(const TemplateInput& input,
                                                           std::stop_token stop) const {
    HOKKU_TRY(const Text text,
              render_text(*program_->code, program_->limits, input, std::move(stop)));
    return parts_of(text);
}

Result<std::vector<PromptPart>> ChatTemplate::render_parts(const TemplateInput& input,
                                                           const TemplateLimits& limits) const {
    HOKKU_TRY(const Text text, render_text(*program_->code, limits, input));
    return parts_of(text);
}

const std::string& ChatTemplate::source() const {
    return program_->code->source;
}

}  // namespace hokku
