// SPDX-License-Identifier: Apache-2.0
#include "text/reply/reply_events.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "support/catch.h"

namespace hokku::testing {
namespace {

class Recorder final : public reply::ReplySink {
  public:
    void on_thought(std::string_view text) override {
        if (text.empty()) FAIL("an empty piece");
        reply.thought += text;
        add("thought", text);
    }
    void on_answer(std::string_view text) override {
        if (text.empty()) FAIL("an empty piece");
        reply.answer += text;
        add("answer", text);
    }
    void on_answer_was_thought() override {
        CHECK(!reply.answer.empty());
        reply.thought += reply.answer;
        reply.answer.clear();
        end();
        reply.events += "was thought\n";
    }
    void on_call_begin(std::string_view id, std::string_view name) override {
        end();
        pieces_.clear();
        name_ = name;
        id_ = id;
        reply.events += fmt::format("begin: {} {}\n", id, name);
    }
    void on_call_arguments(std::string_view json) override {
        if (json.empty() || name_.empty()) FAIL("arguments without text or name");
        pieces_ += json;
        add("arguments", json);
    }
    void on_call(const ToolCall& call) override {
        end();
        CHECK(!call.id.empty());
        if (!name_.empty()) {
            CHECK(call.id == id_);
            CHECK(call.name == name_);
            CHECK(call.arguments_json == pieces_);
        }
        name_.clear();
        if (call.is_valid()) {
            reply.events += fmt::format("call: {} {}\n", call.name, call.arguments_json);
        } else {
            reply.events += fmt::format("malformed: {} | {}\n", call.problem, call.text);
        }
        reply.calls.push_back(call);
    }
    void end() {
        if (!kind_.empty()) reply.events += '\n';
        kind_.clear();
    }

    Reply reply;

  private:
    void add(const std::string& kind, std::string_view text) {
        if (kind_ != kind) {
            end();
            reply.events += kind + ": ";
            kind_ = kind;
        }
        reply.events += text;
    }
    std::string kind_, name_, id_, pieces_;
};

/// A stream as the engine gives it: characters are whole, control tokens come apart.
void push(reply::ReplyParser& parser, std::string_view piece, const Controls& controls) {
    while (!piece.empty()) {
        size_t at = std::string_view::npos;
        const std::string* control = nullptr;
        for (const std::string& text : controls) {
            const size_t found = piece.find(text);
            if (found >= at) continue;
            at = found;
            control = &text;
        }
        parser.push(piece.substr(0, at));
        if (control == nullptr) return;
        parser.push_control(*control);
        piece.remove_prefix(at + control->size());
    }
}

}  // namespace

const char* const kWeatherTools = R"([
    {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object",
     "properties": {"city": {"type": "string"}, "days": {"type": "integer"},
                    "detailed": {"type": "boolean"}}}}},
    {"type": "function", "function": {"name": "run_query", "parameters": {"type": "object",
     "properties": {"sql": {"type": "string"}, "tags": {"type": "array"}}}}}])";

ReplyCase case_of(std::string_view template_source, std::string_view tools_json) {
    ReplyCase reply_case;
    reply_case.format = reply::find_reply_format({.template_source = template_source});
    reply_case.tools_json = tools_json;
    return reply_case;
}

Reply parse_pieces(const ReplyCase& reply_case, const std::vector<std::string>& pieces) {
    Recorder recorder;
    reply::ReplyOptions options;
    options.prompt_end = reply_case.prompt_end;
    options.is_continued = reply_case.is_continued;
    options.first_call_number = reply_case.first_call_number;
    auto tools = reply::ToolList::parse(reply_case.tools_json);
    REQUIRE(tools.ok());
    options.tools = *std::move(tools);
    const auto parser = make_reply_parser(reply_case.format, std::move(options), recorder);
    for (const std::string& piece : pieces) push(*parser, piece, reply_case.controls);
    parser->finish();
    recorder.end();
    return recorder.reply;
}

Reply parse_reply(const ReplyCase& reply_case, std::string_view text) {
    const Reply whole = parse_pieces(reply_case, {std::string(text)});
    // The smallest pieces: characters, and control tokens.
    std::vector<std::string> characters;
    for (size_t at = 0; at < text.size();) {
        size_t length = decode_utf8(text, at).num_bytes;
        for (const std::string& control : reply_case.controls) {
            if (text.substr(at).starts_with(control)) length = control.size();
        }
        characters.emplace_back(text.substr(at, length));
        at += length;
    }
    if (const Reply cut = parse_pieces(reply_case, characters); !(cut == whole)) {
        CHECK(cut.events == whole.events);
    }
    std::string head;
    for (const std::string& character : characters) {
        head += character;
        const Reply cut = parse_pieces(reply_case, {head, std::string(text.substr(head.size()))});
        if (cut == whole) continue;
        INFO("cut after " << head);
        CHECK(cut.events == whole.events);
    }
    return whole;
}

}  // namespace hokku::testing
