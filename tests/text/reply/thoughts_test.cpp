// SPDX-License-Identifier: Apache-2.0
// Thoughts set apart from the answer, however the template and the model open and close them.
#include "support/catch.h"
#include "text/reply/reply_events.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

std::string events(std::string_view text, std::string prompt_end = "<|im_start|>assistant\n",
                   std::string_view template_source = "<think> </think>") {
    ReplyCase reply_case = case_of(template_source);
    reply_case.prompt_end = std::move(prompt_end);
    return parse_reply(reply_case, text).events;
}

}  // namespace

TEST_CASE("ReplyParser: a thought comes before the answer, without the white space around it",
          "[text][reply][quick]") {
    CHECK(events("<think>\nIt is 51.\n\nSure.\n</think>\n\n51.\n") ==
          "thought: It is 51.\n\nSure.\nanswer: 51.\n\n");
    CHECK(events("<think>\n\n</think>\n\n51") == "answer: 51\n");
    CHECK(events("\n <think>a</think>b") == "thought: a\nanswer: b\n");
    CHECK(events("Hello.\n") == "answer: Hello.\n\n");
    CHECK(events("") == "");
    CHECK(events("  \n") == "answer:   \n\n");
}

TEST_CASE("ReplyParser: the prompt may open or close the thought", "[text][reply][quick]") {
    CHECK(events("Hm.\n</think>\n\n51", "<|im_start|>assistant\n<think>\n") ==
          "thought: Hm.\nanswer: 51\n");
    CHECK(events("<think>\nHm.\n</think>\n\n51", "<think>\n") == "thought: Hm.\nanswer: 51\n");
    CHECK(events("Hm", "<think>") == "thought: Hm\n");
    CHECK(events("\n51 </think>", "<think>\n\n</think>\n") == "answer: 51 </think>\n");
    CHECK(events("<think>x</think>", "<think>\n\n</think>\n") == "answer: <think>x</think>\n");
    // Earlier turns do not count.
    CHECK(events("51", "<think>\n<|im_end|>assistant\n") == "answer: 51\n");
}

TEST_CASE("ReplyParser: a message that is continued goes on where it was", "[text][reply][quick]") {
    ReplyCase reply_case = case_of("<think> </think>");
    reply_case.is_continued = true;
    reply_case.prompt_end = "assistant\n<think>\nFirst,";
    CHECK(parse_reply(reply_case, " so.\n</think>\n\n51").events == "thought: so.\nanswer: 51\n");
    reply_case.prompt_end = "assistant\n<think>\nSo.\n</think>\n\nIt";
    CHECK(parse_reply(reply_case, " is 51.").events == "answer:  is 51.\n");
}

TEST_CASE("ReplyParser: a thought that was closed but never opened", "[text][reply][quick]") {
    CHECK(events("I think.\n</think>\n\nHello.") ==
          "answer: I think.\nwas thought\nanswer: Hello.\n");
    CHECK(events("I think.</think>\nHello.") == "answer: I think.\nwas thought\nanswer: Hello.\n");
    CHECK(events("</think>\nHello.") == "answer: Hello.\n");
    // Only once, and not where the marker is spoken of.
    CHECK(events("a\n</think>\nb\n</think>\nc") ==
          "answer: a\nwas thought\nanswer: b\n</think>\nc\n");
    CHECK(events("The tag </think> ends it.") == "answer: The tag </think> ends it.\n");
    CHECK(events("```\n</think>\n```\n") == "answer: ```\n</think>\n```\n\n");
}

TEST_CASE("ReplyParser: markers of thoughts in an answer are text", "[text][reply][quick]") {
    CHECK(events("Models write <think> and then </think> .") ==
          "answer: Models write <think> and then </think> .\n");
    CHECK(events("<think>a <think> b</think>c</think>\nd") ==
          "thought: a <think> b\nanswer: c</think>\nd\n");
    CHECK(events("<thin") == "answer: <thin\n");
    CHECK(events("<think>a</thin") == "thought: a</thin\n");
}

TEST_CASE("ReplyParser: other families mark thoughts otherwise", "[text][reply][quick]") {
    CHECK(events("<seed:think>a</seed:think>\nb", "", "</seed:think>") ==
          "thought: a\nanswer: b\n");
    CHECK(events("[THINK]a[/THINK]b", "", "[/THINK]") == "thought: a\nanswer: b\n");
    CHECK(events("<|channel>thought\na<channel|>b", "", "<|channel>thought <channel|>") ==
          "thought: a\nanswer: b\n");
    CHECK(events("a\n[BEGIN FINAL RESPONSE]\nb", "Here are my reasoning steps:\n",
                 "[BEGIN FINAL RESPONSE]") == "thought: a\nanswer: b\n");
}

TEST_CASE("ReplyParser: a control token opens a thought anywhere and ends it by a call",
          "[text][reply][quick]") {
    ReplyCase reply_case = case_of("[TOOL_CALLS] [/THINK]", kWeatherTools);
    for (std::string* marker : reply::markers_of(reply_case.format)) *marker = '\xff' + *marker;
    reply_case.format.has_control_tokens = true;
    reply_case.controls = {"[THINK]", "[/THINK]", "[TOOL_CALLS]", "[ARGS]", "</s>"};
    CHECK(parse_reply(reply_case, "[THINK]a[/THINK]b [THINK]c[/THINK] d</s>").events ==
          "thought: a\nanswer: b\nthought: \n\nc\nanswer: d\n");
    CHECK(parse_reply(reply_case, "[THINK]I call\n[TOOL_CALLS]g[ARGS]{}").events ==
          "thought: I call\nbegin: call00000 g\narguments: {}\ncall: g {}\n");
}
