// SPDX-License-Identifier: Apache-2.0
// Replies that are wrong on purpose or by mistake: nothing is lost, nothing is carried out that was
// not meant, and the time stays linear.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "support/catch.h"
#include "support/time_limits.h"
#include "text/reply/reply_events.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

const std::string kHermes = "<tool_call> </think>";
const std::string kCoder = "<tool_call> <function=f> <parameter=p>";

std::string events(std::string_view template_source, std::string_view text) {
    return parse_reply(case_of(template_source, kWeatherTools), text).events;
}

/// One source for every syntax and framing.
const std::vector<std::string> kSources{
    kHermes,
    kCoder + " </think>",
    "<tool_call> <arg_key> </think>",
    "[TOOL_CALLS] [/THINK]",
    "<｜tool▁calls▁begin｜> </think>",
    "｜DSML｜ </think>",
    "<|tool_calls_section_begin|>",
    "<start_function_call>",
    "<|tool_call_start|>",
    "<|start_header_id|> \"parameters\"",
    "<|channel|> <|message|>",
    "<function name= <param name=",
    "<|tools_prefix|>",
};

/// What a text of any of the formats is made of.
const std::vector<std::string> kPieces{
    "<tool_call>",
    "</tool_call>",
    "<think>",
    "</think>",
    "\n",
    " ",
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "\\",
    "'",
    "(",
    ")",
    "=",
    "```",
    "```tool_code\n",
    "\n```",
    "{\"name\": \"get_weather\", ",
    "\"arguments\": ",
    "\"parameters\": ",
    "{\"city\": \"B\"}",
    "}",
    "<function=get_weather>",
    "<parameter=city>",
    "</parameter>",
    "</function>",
    "get_weather",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "[THINK]",
    "[/THINK]",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁sep｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
    "<｜DSML｜function_calls>",
    "<｜DSML｜invoke name=\"",
    "\">",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<start_function_call>",
    "call:get_weather{",
    "<escape>",
    "<end_function_call>",
    "<|tool_call_start|>",
    "<|python_tag|>",
    "<|channel|>",
    "<|message|>",
    "<|end|>",
    "<|start|>assistant",
    "analysis",
    "commentary to=functions.f ",
    "final",
    "<|call|>",
    "<function name=\"f\">",
    "<param name=\"a\">",
    "</param>",
    "<![CDATA[",
    "]]>",
    "<|tools_prefix|>",
    "<|tools_suffix|>",
    "x",
    "Zü",
    "true",
    "1.5",
    "null",
};

std::string random_reply(std::mt19937& random) {
    std::string text;
    const size_t count = 1 + random() % 14;
    for (size_t i = 0; i < count; ++i) text += kPieces[random() % kPieces.size()];
    return text;
}

/// Letters and digits of a text, but for closing tags of calls: what must come out again somewhere.
std::string without_marks(std::string text) {
    const std::string close = "</tool_call>";
    for (size_t at = 0; (at = text.find(close, at)) != std::string::npos;)
        text.erase(at, close.size());
    std::string letters;
    std::copy_if(text.begin(), text.end(), std::back_inserter(letters), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    });
    return letters;
}

}  // namespace

TEST_CASE("ReplyParser: a malformed call is told with its text", "[text][reply][quick]") {
    CHECK(events(kHermes, "A<tool_call>{\"name\": \"f\", \"arguments\": {1}}</tool_call> B") ==
          "answer: A\nbegin: call00000 f\narguments: {1}\n"
          "malformed: it is not valid JSON | <tool_call>{\"name\": \"f\", \"arguments\": "
          "{1}}</tool_call>\nanswer: B\n");
    CHECK(events(kHermes, "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"b</tool_call>C") ==
          "begin: call00000 f\narguments: {\"a\": \"b</tool_call>C\n"
          "malformed: the reply ends within it | <tool_call>{\"name\": \"f\", \"arguments\": "
          "{\"a\": \"b</tool_call>\nanswer: C\n");
    CHECK(events(kHermes, "<tool_call>{\"arguments\": {}}</tool_call>") ==
          "malformed: the call names no tool | <tool_call>{\"arguments\": {}}</tool_call>\n");
    CHECK(events(kHermes, "<tool_call>{\"name\": \"f\", \"arguments\": [1]}</tool_call>") ==
          "begin: call00000 f\narguments: [1]\nmalformed: the arguments are not a JSON object | "
          "<tool_call>{\"name\": \"f\", \"arguments\": [1]}</tool_call>\n");
    CHECK(events(kHermes, "<tool_call>{\"name\": \"f\", \"arguments\": {}, \"arguments\": {}}") ==
          "begin: call00000 f\narguments: {}\nmalformed: it is not valid JSON | "
          "<tool_call>{\"name\": \"f\", \"arguments\": {}, \"arguments\": {}}\n");
    CHECK(events(kCoder,
                 "<tool_call><function=f>oops</function></tool_call>"
                 "<tool_call><function=g></function></tool_call>") ==
          "begin: call00000 f\nmalformed: neither an argument nor its end follows | "
          "<tool_call><function=f>oops</function>\n"
          "begin: call00001 g\narguments: {}\ncall: g {}\n");
}

TEST_CASE("ReplyParser: a reply may end within a call", "[text][reply][quick]") {
    for (const std::string text :
         {"<tool_call>{", "<tool_call>{\"na", "<tool_call>{\"name\": \"f\", \"arguments\": {\"a"}) {
        INFO(text);
        const Reply reply = parse_reply(case_of(kHermes, kWeatherTools), text);
        REQUIRE(reply.calls.size() == 1);
        CHECK_FALSE(reply.calls[0].is_valid());
        CHECK(reply.calls[0].text == text);
    }
    CHECK(events(kHermes, "<tool_call>") == "answer: <tool_call>\n");
    CHECK(events(kHermes, "a <tool_ca") == "answer: a <tool_ca\n");
}

TEST_CASE("ReplyParser: markers in strings, in code and in the middle of text are text",
          "[text][reply][quick]") {
    const std::string call = "{\"name\": \"f\", \"arguments\": {\"a\": \"</tool_call>\\\"}\"}}";
    CHECK(events(kHermes, "<tool_call>" + call + "</tool_call>") ==
          "begin: call00000 f\narguments: {\"a\": \"</tool_call>\\\"}\"}\n"
          "call: f {\"a\": \"</tool_call>\\\"}\"}\n");
    const std::string code = "```xml\n<tool_call>{\"name\": \"f\"}</tool_call>\n```\nSo.";
    CHECK(events(kHermes, code) == "answer: " + code + "\n");
    CHECK(events(kHermes, "Use the `<tool_call>` tag.") == "answer: Use the `<tool_call>` tag.\n");
    CHECK(events(kHermes, "<think>I may <tool_call>{\"name\": \"f\"}</tool_call></think>No.") ==
          "thought: I may <tool_call>{\"name\": \"f\"}</tool_call>\nanswer: No.\n");
    CHECK(events(kHermes, "<tool_call><tool_call>{\"name\": \"f\"}</tool_call></tool_call>") ==
          "answer: <tool_call>\nbegin: call00000 f\narguments: {}\ncall: f {}\n"
          "answer: </tool_call>\n");
}

TEST_CASE("ReplyParser: without tools markers of calls are text", "[text][reply][quick]") {
    const std::string call = "A\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n";
    CHECK(parse_reply(case_of("<tool_call>"), call).events == "answer: " + call + "\n");
    CHECK(parse_reply(case_of(kHermes), "<think>a</think>" + call).events ==
          "thought: a\nanswer: " + call + "\n");
}

TEST_CASE("ReplyParser: ids go on from the calls before", "[text][reply][quick]") {
    ReplyCase reply_case = case_of(kHermes, kWeatherTools);
    reply_case.first_call_number = 12;
    const Reply reply = parse_reply(reply_case, "<tool_call>{\"name\": \"f\"}{\"name\": \"g\"}");
    REQUIRE(reply.calls.size() == 2);
    CHECK(reply.calls[0].id == "call00012");
    CHECK(reply.calls[1].id == "call00013");
}

TEST_CASE("ReplyParser: no reply gives different events for different cuts",
          "[text][reply][quick]") {
    std::mt19937 random(7);
    for (size_t i = 0; i < 120 * kSources.size(); ++i) {
        ReplyCase reply_case = case_of(kSources[i % kSources.size()], kWeatherTools);
        if (random() % 4 == 0) reply_case.prompt_end = "<think>\n";
        const std::string text = random_reply(random);
        INFO(kSources[i % kSources.size()] << " | " << text);
        const Reply reply = parse_reply(reply_case, text);  // checks the cuts
        for (const ToolCall& call : reply.calls) {
            if (call.is_valid()) CHECK_FALSE(call.name.empty());
        }
    }
}

TEST_CASE("ReplyParser: what is no call comes out again", "[text][reply][quick]") {
    std::mt19937 random(11);
    for (size_t i = 0; i < 3000; ++i) {
        // Only text markers, and no thoughts, whose markers are left out.
        ReplyCase reply_case = case_of(i % 2 == 0 ? "<tool_call>" : kCoder, kWeatherTools);
        const std::string text = random_reply(random);
        const Reply reply = parse_pieces(reply_case, {text});
        std::string out = reply.answer;
        bool has_valid_call = false;
        for (const ToolCall& call : reply.calls) {
            has_valid_call = has_valid_call || call.is_valid();
            out += call.text;
        }
        if (has_valid_call) continue;
        std::string in = without_marks(text), found = without_marks(out);
        std::sort(in.begin(), in.end());
        std::sort(found.begin(), found.end());
        INFO(text << "\n" << reply.events);
        CHECK(in == found);
    }
}

TEST_CASE("ReplyParser: the time is linear in the text", "[text][reply]") {
    constexpr size_t kManyBytes = 1 << 18;
    const auto repeat = [](std::string_view text) {
        std::string all;
        while (all.size() < kManyBytes) all += text;
        return all;
    };
    std::vector<std::string> texts;
    for (const std::string piece :
         {" ", "<", "\n", "a", "`", "{", "[", "\"", "</parameter> ", "```", "<tool_call>",
          "<tool_call> ", "<tool_call>{", "</think>", "<tool_call>{\"name\": \"f\"}", "<|channel|>",
          "[TOOL_CALLS]a"})
        texts.push_back(repeat(piece));
    for (const std::string start :
         {"<tool_call>", "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"",
          "[get_weather(a=", "<tool_call>\n<function=run_query>\n<parameter=sql>\n",
          "<start_function_call>call:f{", "<tool_call>{\"arguments\": {\"a\": \"",
          "<|tool_call_start|>[f(", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{",
          "{\"name\": \"", "<tool_call>\n<function=run_query>\n<parameter=sql></parameter>"}) {
        for (const std::string piece : {" ", "x", "(", "[", "</parameter> "})
            texts.push_back(start + repeat(piece));
    }
    for (const std::string& source : kSources) {
        const ReplyCase reply_case = case_of(source, kWeatherTools);
        for (const std::string& text : texts) {
            INFO(source << " | " << text.substr(0, 80));
            // Pieces as small as tokens.
            std::vector<std::string> pieces;
            for (size_t at = 0; at < text.size();) {
                size_t end = std::min(text.size(), at + 4);
                while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
                    ++end;
                pieces.push_back(text.substr(at, end - at));
                at = end;
            }
            const auto start = std::chrono::steady_clock::now();
            const Reply reply = parse_pieces(reply_case, pieces);
            const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
            CHECK(time.count() < 1.0 * kTimeFactor);
            CHECK(without_marks(reply.events).size() >= without_marks(text).size());
        }
    }
}
