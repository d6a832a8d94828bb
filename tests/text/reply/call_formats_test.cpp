// SPDX-License-Identifier: Apache-2.0
// Tool calls in the ways of the families. The texts are what the families' chat templates and
// documents show; each is parsed whole, byte by byte and in every two pieces.
#include "support/catch.h"
#include "text/reply/reply_events.h"

using namespace hokku;
using namespace hokku::testing;

namespace {

const std::string kBerlin =
    "begin: call00000 get_weather\n"
    "arguments: {\"city\": \"Zürich\", \"days\": 3}\n"
    "call: get_weather {\"city\": \"Zürich\", \"days\": 3}\n";
/// As formats without JSON give it.
const std::string kCompact =
    "begin: call00000 get_weather\n"
    "arguments: {\"city\":\"Zürich\",\"days\":3}\n"
    "call: get_weather {\"city\":\"Zürich\",\"days\":3}\n";

std::string events(std::string_view template_source, std::string_view text,
                   const Controls& controls = {}) {
    ReplyCase reply_case = case_of(template_source, kWeatherTools);
    reply_case.controls = controls;
    return parse_reply(reply_case, text).events;
}

ReplyCase gemma_case() {
    ReplyCase reply_case;
    reply_case.format =
        reply::find_reply_format({.template_source = "<start_of_turn>", .architecture = "gemma3"});
    reply_case.tools_json = kWeatherTools;
    return reply_case;
}

const std::string kLlama = "<|start_header_id|> {\"name\": .., \"parameters\": ..}";

}  // namespace

TEST_CASE("ReplyParser: Hermes and Qwen put a JSON object between tags", "[text][reply][quick]") {
    const std::string call =
        "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\", \"days\": "
        "3}}\n</tool_call>";
    CHECK(events("<tool_call>", call) == kBerlin);
    CHECK(events("<tool_call>", "Let me check.\n" + call) == "answer: Let me check.\n" + kBerlin);
    CHECK(events("<tool_call>", call + "\n" + call) ==
          kBerlin +
              "begin: call00001 get_weather\narguments: {\"city\": \"Zürich\", \"days\": 3}\n"
              "call: get_weather {\"city\": \"Zürich\", \"days\": 3}\n");
    CHECK(events("<tool_call>", call + "\nDone.") == kBerlin + "answer: Done.\n");
    CHECK(events("<tool_call>", "A\n\n" + call + " B ") ==
          "answer: A\n" + kBerlin + "answer: \n\nB \n");
    // Several objects between one pair of tags, the arguments first, none, or in a string.
    CHECK(events("<tool_call>",
                 "<tool_call>{\"arguments\": {\"a\": [1, {}]}, \"name\": \"f\"}\n"
                 "{\"name\": \"g\"}{\"name\":\"h\",\"arguments\":\"{\\\"a\\\":1}\"}</tool_call>") ==
          "begin: call00000 f\narguments: {\"a\": [1, {}]}\ncall: f {\"a\": [1, {}]}\n"
          "begin: call00001 g\narguments: {}\ncall: g {}\n"
          "begin: call00002 h\narguments: {\"a\":1}\ncall: h {\"a\":1}\n");
    // Small models forget the tags.
    const std::string object =
        "{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\", \"days\": 3}}";
    CHECK(events("<tool_call>", object) == kBerlin);
    CHECK(events("<tool_call>", "Sure:\n```json\n" + object + "\n```\n") ==
          "answer: Sure:\n" + kBerlin);
    CHECK(events("<tool_call>", "```json\n{\"name\": \"f\"}\n```") ==
          "answer: ```json\n{\"name\": \"f\"}\n```\n");
    // The end of the reply stands for the closing tag.
    CHECK(events("<tool_call>", "<tool_call>{\"name\": \"g\", \"arguments\": {}}") ==
          "begin: call00000 g\narguments: {}\ncall: g {}\n");
}

TEST_CASE("ReplyParser: Mistral's two ways", "[text][reply][quick]") {
    const Controls controls{"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"};
    CHECK(events("[TOOL_CALLS]",
                 "[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\", "
                 "\"days\": 3}}, {\"name\": \"g\", \"arguments\": {}, \"id\": \"abcdefghi\"}]") ==
          kBerlin + "begin: call00001 g\narguments: {}\ncall: g {}\n");
    CHECK(events("[TOOL_CALLS]",
                 "I look.[TOOL_CALLS]get_weather[ARGS]{\"city\": \"Zürich\", \"days\": 3}") ==
          "answer: I look.\n" + kBerlin);
    CHECK(events("[TOOL_CALLS]",
                 "[TOOL_CALLS]f[CALL_ID]abcdefgh1[ARGS]{\"a\": 1}[TOOL_CALLS]g[ARGS]{}") ==
          "begin: abcdefgh1 f\narguments: {\"a\": 1}\ncall: f {\"a\": 1}\n"
          "begin: call00001 g\narguments: {}\ncall: g {}\n");
    // As control tokens, the way the vocabulary has them.
    ReplyCase bound = case_of("[TOOL_CALLS]", kWeatherTools);
    for (std::string* marker : reply::markers_of(bound.format)) *marker = '\xff' + *marker;
    bound.format.has_control_tokens = true;
    bound.controls = controls;
    CHECK(parse_reply(bound, "I look.[TOOL_CALLS]f[CALL_ID]abcdefgh1[ARGS]{\"a\": 1}").events ==
          "answer: I look.\nbegin: abcdefgh1 f\narguments: {\"a\": 1}\ncall: f {\"a\": 1}\n");
    bound.controls.clear();
    CHECK(parse_reply(bound, "It writes [TOOL_CALLS]f[ARGS]{}.").events ==
          "answer: It writes [TOOL_CALLS]f[ARGS]{}.\n");
}

TEST_CASE("ReplyParser: Llama 3 writes bare JSON, for tools that it was given",
          "[text][reply][quick]") {
    CHECK(events(kLlama,
                 "{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Zürich\", \"days\": "
                 "3}}") == kBerlin);
    CHECK(events(kLlama,
                 "\n{\"type\": \"function\", \"name\": \"get_weather\", \"parameters\": {\"city\": "
                 "\"Zürich\", \"days\": 3}}; {\"name\": \"run_query\", \"parameters\": {}}") ==
          kBerlin + "begin: call00001 run_query\narguments: {}\ncall: run_query {}\n");
    CHECK(events(kLlama,
                 "<|python_tag|>{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Zürich\", "
                 "\"days\": 3}}") == kBerlin);
    CHECK(events(kLlama, "<|python_tag|>brave_search.call(query=\"Zürich weather\")") ==
          "begin: call00000 brave_search\narguments: {\"query\":\"Zürich weather\"}\n"
          "call: brave_search {\"query\":\"Zürich weather\"}\n");
    CHECK(events(kLlama, "<|python_tag|>import math\nprint(math.pi)") ==
          "begin: call00000 code_interpreter\n"
          "arguments: {\"code\":\"import math\\nprint(math.pi)\"}\n"
          "call: code_interpreter {\"code\":\"import math\\nprint(math.pi)\"}\n");
    CHECK(events(kLlama, "[get_weather(city='Zürich', days=3)]") == kCompact);
    CHECK(events(kLlama, "<function=get_weather>{\"city\": \"Zürich\", \"days\": 3}</function>") ==
          kBerlin);
    // JSON that is an answer stays one.
    for (const std::string answer :
         {"{\"name\": \"Anna\", \"parameters\": 1}", "{\"city\": \"Bern\"}", "[1, 2]", "{",
          "{\"type\": \"function\"}", "[get_we", "{\"name\": \"get_weather", "get_weather (x)"}) {
        INFO(answer);
        CHECK(events(kLlama, answer) == "answer: " + answer + "\n");
    }
    CHECK(events(kLlama, "See: {\"name\": \"get_weather\", \"parameters\": {}}") ==
          "answer: See: {\"name\": \"get_weather\", \"parameters\": {}}\n");
}

TEST_CASE("ReplyParser: Gemma's ways", "[text][reply][quick]") {
    const ReplyCase gemma = gemma_case();
    CHECK(gemma.format.name == "gemma");
    CHECK(parse_reply(gemma, "[get_weather(city=\"Zürich\", days=3)]").events == kCompact);
    CHECK(parse_reply(gemma,
                      "Sure.\n```tool_code\nprint(default_api.get_weather(city='Zürich', "
                      "days=3))\n```\n")
              .events == "answer: Sure.\n" + kCompact);
    CHECK(parse_reply(gemma,
                      "```json\n{\"name\": \"get_weather\", \"parameters\": {\"city\": "
                      "\"Zürich\", \"days\": 3}}\n```")
              .events == kBerlin);
    CHECK(parse_reply(gemma,
                      "{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Zürich\", "
                      "\"days\": 3}}")
              .events == kBerlin);
    CHECK(parse_reply(gemma, "```json\n{\"name\": \"Anna\"}\n```").events ==
          "answer: ```json\n{\"name\": \"Anna\"}\n```\n");
    CHECK(parse_reply(gemma, "```tool_code\nf(1)\n```").events ==
          "malformed: it is not a list of calls with named arguments | ```tool_code\n"
          "f(1)\n```\n");

    CHECK(events("<start_function_call>",
                 "<start_function_call>call:get_weather{city:<escape>Zürich<escape>,days:3}"
                 "<end_function_call>") == kCompact);
    CHECK(events("<|tool_call> <tool_call|>",
                 "<|tool_call>call:f{a:[<|\"|>x, }{<|\"|>,true],b:{c:None,d:-1.5}}<tool_call|>"
                 "<|tool_call>call:g{}<tool_call|>") ==
          "begin: call00000 f\n"
          "arguments: {\"a\":[\"x, }{\",true],\"b\":{\"c\":null,\"d\":-1.5}}\n"
          "call: f {\"a\":[\"x, }{\",true],\"b\":{\"c\":null,\"d\":-1.5}}\n"
          "begin: call00001 g\narguments: {}\ncall: g {}\n");
}

TEST_CASE("ReplyParser: DeepSeek's ways", "[text][reply][quick]") {
    const std::string source = "<｜tool▁calls▁begin｜>";
    const std::string r1 =
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n"
        "{\"city\": \"Zürich\", \"days\": 3}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function"
        "<｜tool▁sep｜>g\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>";
    const std::string v31 =
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": "
        "\"Zürich\", "
        "\"days\": 3}<｜tool▁call▁end｜><｜tool▁call▁begin｜>g<｜tool▁sep｜>{}<｜tool▁call▁end｜>"
        "<｜tool▁calls▁end｜>";
    const std::string both = kBerlin + "begin: call00001 g\narguments: {}\ncall: g {}\n";
    CHECK(events(source, r1) == both);
    CHECK(events(source, v31) == both);
    CHECK(events(source, "I call.\n" + v31) == "answer: I call.\n" + both);
    CHECK(events("｜DSML｜ </think>",
                 "\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n"
                 "<｜DSML｜parameter name=\"city\" string=\"true\">Zürich</｜DSML｜parameter>\n"
                 "<｜DSML｜parameter name=\"days\" string=\"false\">3</｜DSML｜parameter>\n"
                 "</｜DSML｜invoke>\n</｜DSML｜function_calls>") == kCompact);
    CHECK(events(
              "｜DSML｜",
              "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"a\" "
              "string=\"true\">12</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>") ==
          "begin: call00000 f\narguments: {\"a\":\"12\"}\ncall: f {\"a\":\"12\"}\n");
}

TEST_CASE("ReplyParser: GLM's tags", "[text][reply][quick]") {
    const std::string source = "<tool_call> <arg_key>";
    CHECK(events(source,
                 "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Zürich</arg_value>\n"
                 "<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>") == kCompact);
    CHECK(events(source,
                 "<tool_call>g</tool_call>\n<tool_call>run_query<arg_key>sql</arg_key>"
                 "<arg_value>12</arg_value><arg_key>tags</arg_key><arg_value>[\"a\", 1]"
                 "</arg_value></tool_call>") ==
          "begin: call00000 g\narguments: {}\ncall: g {}\n"
          "begin: call00001 run_query\narguments: {\"sql\":\"12\",\"tags\":[\"a\", 1]}\n"
          "call: run_query {\"sql\":\"12\",\"tags\":[\"a\", 1]}\n");
    CHECK(events(source, "A <tool_call> tag is <tool_call>name\nx.") ==
          "answer: A <tool_call> tag is <tool_call>name\nx.\n");
}

TEST_CASE("ReplyParser: Qwen3-Coder's tags and the like", "[text][reply][quick]") {
    const std::string coder = "<tool_call> <function=f> <parameter=p>";
    CHECK(events(coder,
                 "<tool_call>\n<function=get_weather>\n<parameter=city>\nZürich\n</parameter>\n"
                 "<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>") == kCompact);
    // A value may speak of markers, and have line breaks of its own.
    CHECK(events(coder,
                 "<tool_call>\n<function=run_query>\n<parameter=sql>\n\nuse </parameter> and\n\n"
                 "</parameter>\n<parameter=tags>\n['a', None]\n</parameter>\n</function>\n"
                 "</tool_call>") ==
          "begin: call00000 run_query\n"
          "arguments: {\"sql\":\"\\nuse </parameter> and\\n\",\"tags\":[\"a\",null]}\n"
          "call: run_query {\"sql\":\"\\nuse </parameter> and\\n\",\"tags\":[\"a\",null]}\n");
    // Types come from the tools; without them, JSON is what reads like it.
    CHECK(events(coder,
                 "<tool_call><function=get_weather><parameter=city>12</parameter>"
                 "<parameter=detailed>True</parameter><parameter=other>\"q\"</parameter>"
                 "<parameter=more>true</parameter></function></tool_call>") ==
          "begin: call00000 get_weather\narguments: {\"city\":\"12\",\"detailed\":true,\"other\":"
          "\"\\\"q\\\"\",\"more\":true}\ncall: get_weather {\"city\":\"12\",\"detailed\":true,"
          "\"other\":\"\\\"q\\\"\",\"more\":true}\n");
    CHECK(events(coder, "<tool_call><function=g></function></tool_call> ok") ==
          "begin: call00000 g\narguments: {}\ncall: g {}\nanswer: ok\n");
    CHECK(events("<seed:tool_call> <function=",
                 "<seed:tool_call>\n<function=get_weather>\n<parameter=city>Zürich</parameter>\n"
                 "<parameter=days>3</parameter>\n</function>\n</seed:tool_call>") == kCompact);
    CHECK(events("<minimax:tool_call>",
                 "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">"
                 "Zürich</parameter>\n<parameter name=\"days\">3</parameter>\n</invoke>\n"
                 "</minimax:tool_call>") == kCompact);
    CHECK(events("<function name= <param name=",
                 "<function name=\"run_query\"><param name=\"sql\"><![CDATA[a</param>"
                 "</function>]]></param></function>") ==
          "begin: call00000 run_query\narguments: {\"sql\":\"a</param></function>\"}\n"
          "call: run_query {\"sql\":\"a</param></function>\"}\n");
}

TEST_CASE("ReplyParser: Kimi, Command R, Apertus, LFM2, Nemotron and others",
          "[text][reply][quick]") {
    CHECK(events("<|tool_calls_section_begin|>",
                 "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0"
                 "<|tool_call_argument_begin|>{\"city\": \"Zürich\", \"days\": 3}<|tool_call_end|>"
                 "<|tool_calls_section_end|>") ==
          "begin: functions.get_weather:0 get_weather\n" + kBerlin.substr(kBerlin.find("arg")));
    CHECK(events("<|START_ACTION|> <|END_THINKING|>",
                 "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"get_weather\", "
                 "\"parameters\": {\"city\": \"Zürich\", \"days\": 3}}\n]<|END_ACTION|>") ==
          kBerlin);
    CHECK(events("<|START_ACTION|>", "<|START_RESPONSE|>Hello.<|END_RESPONSE|>") ==
          "answer: Hello.\n");
    CHECK(events("Action: ```json tool_name",
                 "I look.\nAction:\n```json\n[\n    {\n        \"tool_name\": \"get_weather\",\n"
                 "        \"parameters\": {\"city\": \"Zürich\", \"days\": 3}\n    }\n]```\n") ==
          "answer: I look.\n" + kBerlin);
    CHECK(events("<|tools_prefix|>",
                 "<|tools_prefix|>[{\"get_weather\": {\"city\": \"Zürich\", \"days\": 3}}, "
                 "{\"g\": {}}]<|tools_suffix|>") ==
          kBerlin + "begin: call00001 g\narguments: {}\ncall: g {}\n");
    CHECK(events("<|tool_call_start|>",
                 "<|tool_call_start|>[get_weather(city='Zürich', days=3), g()]<|tool_call_end|>I "
                 "look.") ==
          kCompact + "begin: call00001 g\narguments: {}\ncall: g {}\nanswer: I look.\n");
    CHECK(events("<TOOLCALL>",
                 "<TOOLCALL>[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\", "
                 "\"days\": 3}}]</TOOLCALL>") == kBerlin);
    CHECK(events("functools[",
                 " functools[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\", "
                 "\"days\": 3}}]") == kBerlin);
}

TEST_CASE("ReplyParser: Granite 3, Phi 4 mini and Functionary 3.2", "[text][reply][quick]") {
    const std::string object =
        "{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Zürich\", \"days\": 3}}";
    CHECK(events("<|tool_call|>", "<|tool_call|>[" + object + "]") == kBerlin);
    CHECK(events("<|tool_call|>", "<|tool_call|>[" + object + "]<|/tool_call|>") == kBerlin);

    ReplyCase functionary = case_of("<|start_header_id|> '>>>'", kWeatherTools);
    const std::string arguments = "{\"city\": \"Zürich\", \"days\": 3}";
    CHECK(parse_reply(functionary, ">>>all\nI look.>>>get_weather\n" + arguments).events ==
          "answer: I look.\n" + kBerlin);
    CHECK(parse_reply(functionary, "In Python >>>x\nprints it.").events ==
          "answer: In Python >>>x\nprints it.\n");
    functionary.prompt_end = "<|start_header_id|>assistant<|end_header_id|>\n\n>>>";
    CHECK(parse_reply(functionary, "get_weather\n" + arguments).events == kBerlin);
    CHECK(parse_reply(functionary, "all\nHello.").events == "answer: Hello.\n");
    functionary.tools_json = "null";
    CHECK(parse_reply(functionary, "all\nHello.").events == "answer: Hello.\n");
}

TEST_CASE("ReplyParser: gpt-oss's messages and channels", "[text][reply][quick]") {
    const std::string source = "<|channel|> <|message|>";
    const std::string thought = "<|channel|>analysis<|message|>I think.\nSo.<|end|>";
    CHECK(
        events(source, thought + "<|start|>assistant<|channel|>final<|message|>Hello.<|return|>") ==
        "thought: I think.\nSo.\nanswer: Hello.\n");
    CHECK(events(source, thought +
                             "<|start|>assistant<|channel|>commentary to=functions.get_weather "
                             "<|constrain|>json<|message|>{\"city\": \"Zürich\", \"days\": 3}"
                             "<|call|>") == "thought: I think.\nSo.\n" + kBerlin);
    CHECK(events(source,
                 " to=functions.get_weather<|channel|>commentary json<|message|>{\"city\": "
                 "\"Zürich\", \"days\": 3}") == kBerlin);
    CHECK(events(source,
                 "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant"
                 "<|channel|>analysis to=python code<|message|>print(1)<|call|>") ==
          "answer: I look.\nbegin: call00000 python\narguments: {\"code\":\"print(1)\"}\n"
          "call: python {\"code\":\"print(1)\"}\n");
    CHECK(events(source, "<|channel|>commentary to=functions.f<|message|>{\"a\": <|call|>") ==
          "begin: call00000 f\narguments: {\"a\": \nmalformed: the arguments are not valid JSON | "
          "<|channel|>commentary to=functions.f<|message|>{\"a\": <|call|>\n");
    CHECK(events(source, "Just text.") == "answer: Just text.\n");

    // As control tokens; text that reads like one is text. The prompt may begin the message.
    ReplyCase bound = case_of(source, kWeatherTools);
    bound.format.has_control_tokens = true;
    bound.controls = {"<|channel|>", "<|message|>", "<|end|>", "<|start|>"};
    bound.prompt_end = "<|start|>assistant";
    CHECK(parse_reply(bound, thought + "<|start|>assistant<|channel|>final<|message|>It ends with "
                                       "<|return|>.<|end|>")
              .events == "thought: I think.\nSo.\nanswer: It ends with <|return|>.\n");
    bound.prompt_end = "<|end|><|start|>assistant<|channel|>final<|message|>";
    CHECK(parse_reply(bound, "Hello <|channels").events == "answer: Hello <|channels\n");
}

TEST_CASE("ReplyParser: the texts of calls are all that the model wrote of them",
          "[text][reply][quick]") {
    struct Case {
        std::string markers, text;
        std::vector<std::string> calls;
    };
    const std::string object = "{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Bonn\"}}";
    const std::string fence = "```json\n" + object + "\n```";
    const std::string tags = "<tool_call>\n" + object + "\n</tool_call>";
    for (const Case& c :
         {Case{"<tool_call>", tags, {tags}}, Case{"<tool_call>", fence, {fence}},
          Case{"<tool_call>", tags + "\nDone.", {tags}},
          Case{"<tool_call>",
               "<tool_call>" + object + "\n" + object + "</tool_call>",
               {"<tool_call>" + object, object + "</tool_call>"}},
          Case{"[TOOL_CALLS]",
               "[TOOL_CALLS][" + object + ", " + object + "]",
               {"[TOOL_CALLS][" + object + ",", object + "]"}},
          Case{"<tool_call> <function= <parameter= </tool_call>",
               "<tool_call>\n<function=get_weather>\n<parameter=city>\nBonn\n</parameter>\n"
               "</function>\n</tool_call>",
               {"<tool_call>\n<function=get_weather>\n<parameter=city>\nBonn\n</parameter>\n"
                "</function>\n</tool_call>"}}}) {
        CAPTURE(c.text);
        const ReplyCase reply_case = case_of(c.markers, kWeatherTools);
        const Reply reply = parse_reply(reply_case, c.text);
        REQUIRE(reply.calls.size() == c.calls.size());
        for (size_t i = 0; i < c.calls.size(); ++i) {
            CHECK(reply.calls[i].is_valid());
            CHECK(reply.calls[i].text == c.calls[i]);
        }
    }
    const Reply python = parse_reply(
        gemma_case(), "```tool_code\nget_weather(city=\"Bonn\")\nrun_query(sql=\"x\")\n```");
    REQUIRE(python.calls.size() == 2);
    CHECK(python.calls[0].text == "```tool_code\nget_weather(city=\"Bonn\")");
    CHECK(python.calls[1].text == "run_query(sql=\"x\")\n```");
}
